"""Expectations of any functionals under a fitted run's model, with volatilities and deltas."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np

from slisde.calibration.estimate import Prices, price
from slisde.calibration.estimator import Estimator
from slisde.calibration.smile_fit import market_quotes
from slisde.data.implied_vol import implied
from slisde.data.smile import WHOLE, Unit, units
from slisde.experiments.evaluation import whole_batches
from slisde.experiments.job import FittedRun
from slisde.flow.mixture import Mixture
from slisde.functionals.base import AbstractFunctional, Custom
from slisde.functionals.delta import Delta, TerminalDelta
from slisde.functionals.terminal import AbstractTerminal, Call, Put

STREAM = 2**32 - 3
"""Folded into the run's key for prices, which are then independent of its metrics."""


@dataclass(frozen=True)
class Measured:
    """A number with its standard error."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class PricedPayoff:
    """What is known of one payoff.

    Attributes:
        price: the expectation.
        delta: its derivative in Y_0, all of the path moving in proportion; None where it has none.
        no_delta: why there is no delta.
        volatility: that Black's formula has for the price; None but for calls and puts of maturities
            whose forward is known, and where the price has no volatility.
    """

    price: Measured
    delta: Measured | None
    no_delta: str | None
    volatility: Measured | None


def price_run(
    fitted: FittedRun,
    functionals: Sequence[AbstractFunctional],
    paths: int,
    *,
    estimator: Estimator = Estimator.CONDITIONAL,
    seed: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Prices:
    """Return prices over at least `paths` paths, in batches that fit into memory."""
    whole, batches = whole_batches(paths)
    key = jax.random.fold_in(fitted.keys.metrics, STREAM) if seed is None else jax.random.key(seed)
    return price(
        fitted.model,
        functionals,
        fitted.grid,
        whole,
        batches=batches,
        estimator=estimator,
        report=report,
        key=key,
    )


def price_payoffs(
    fitted: FittedRun,
    functionals: Sequence[AbstractFunctional],
    paths: int,
    *,
    estimator: Estimator = Estimator.CONDITIONAL,
    seed: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> tuple[list[PricedPayoff], int]:
    """Return price, delta and volatility of payoffs, and the number of paths behind them."""
    reasons = [_no_delta(fitted, functional, estimator) for functional in functionals]
    smooth = [
        _delta(functional)
        for functional, reason in zip(functionals, reasons, strict=True)
        if reason is None
    ]
    result = price_run(
        fitted, [*functionals, *smooth], paths, estimator=estimator, seed=seed, report=report
    )
    measured = [
        Measured(float(mean), float(error))
        for mean, error in zip(result.mean, result.standard_error, strict=True)
    ]
    start = _start(fitted) or 1.0
    slopes = iter(measured[len(functionals) :])
    known = {} if market_quotes(fitted.problem) is None else units(fitted.problem)
    payoffs = []
    for functional, reason, cost in zip(functionals, reasons, measured, strict=False):
        delta = None
        if reason is None:
            slope = next(slopes)
            delta = Measured(slope.value / start, slope.standard_error / start)
        unit = _unit(known, float(functional.maturity))
        volatility = None if unit is None else _volatility(functional, cost, unit)
        payoffs.append(PricedPayoff(cost, delta, reason, volatility))
    return payoffs, result.paths


def _delta(functional: AbstractFunctional) -> AbstractFunctional:
    """Return the derivative path by path, as a payoff at the maturity where it is one."""
    if isinstance(functional, AbstractTerminal):
        return TerminalDelta(functional.maturity, functional)
    return Delta(functional.maturity, functional)


def _no_delta(
    fitted: FittedRun, functional: AbstractFunctional, estimator: Estimator
) -> str | None:
    """Return why a derivative path by path would not be that of the expectation, None if it is."""
    if _start(fitted) is None:
        return "the model's paths start anywhere"
    if isinstance(functional, Custom):
        return "nothing is known of a custom payoff's jumps"
    if not hasattr(functional, "smoothing"):
        return None
    if not isinstance(functional, AbstractTerminal):
        return "the payoff jumps where a path crosses the barrier"
    if estimator is Estimator.PATHS or not _knows_law(fitted):
        return "the payoff jumps: only the conditional law of a mixing readout smooths it"
    return None


def _start(fitted: FittedRun) -> float | None:
    """Return Y_0 where it is prescribed."""
    for start in (fitted.config.model.initial_value, fitted.problem.initial_value):
        if start is not None:
            return start
    return 1.0 if fitted.model.is_martingale else None


def _knows_law(fitted: FittedRun) -> bool:
    """Return whether the model's paths come with their law given the latent ones."""
    sample = eqx.filter_eval_shape(
        lambda model: model.draw(fitted.grid, 2, key=fitted.keys.metrics), fitted.model
    )
    return isinstance(sample, Mixture)


def _unit(known: Mapping[float, Unit], maturity: float) -> Unit | None:
    """Return the unit of a maturity; where all forwards are one, so is that of any other."""
    return WHOLE if set(known.values()) == {WHOLE} else known.get(maturity)


def _volatility(functional: AbstractFunctional, cost: Measured, unit: Unit) -> Measured | None:
    if not isinstance(functional, Call | Put):
        return None
    price, strike, maturity = (
        np.array([float(number)])
        for number in (
            cost.value / unit.price,
            functional.strike / unit.forward,
            functional.maturity,
        )
    )
    call = np.array([isinstance(functional, Call)])
    volatility, vega = implied(price, strike, maturity, call)
    if not (np.isfinite(volatility[0]) and vega[0] > 0.0):
        return None
    return Measured(float(volatility[0]), cost.standard_error / (unit.price * float(vega[0])))
