"""The demo: an option surface whose truth is known, Bates' model (paper: app:expset).

The five groups of the paper's surfaces, at a fifth of their size and at five maturities, priced
exactly. Exotics that the fit never sees can be compared with the truth by simulation.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from slisde.data.bates import Bates, EuropeanPrices, european_prices, simulate
from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.functionals.base import AbstractFunctional
from slisde.functionals.check import check_maturity
from slisde.functionals.problem import Evaluator, Problem, Target
from slisde.functionals.terminal import Call, DigitalBelow, Put
from slisde.functionals.text import read_functional

# The variance is the S&P 500 fit of Bakshi, Cao and Chen (1997, Journal of Finance 52, the model
# with jumps), started at a volatility of 18 %. The jumps are those of Duffie, Pan and Singleton
# (2000, Econometrica 68): one in nine years, 12 % down on average, and wide, so that the far puts
# of short maturities are worth something.
TRUTH = Bates(
    initial_variance=0.0324,
    mean_reversion=2.03,
    long_variance=0.04,
    variance_volatility=0.38,
    correlation=-0.57,
    jump_intensity=0.11,
    jump_mean=math.log(1.0 - 0.12) - 0.5 * 0.15**2,
    jump_deviation=0.15,
)
HORIZON = 1.0
MATURITIES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Powers of a half are nodes of every grid that is used."""

_FIVE = ((2,), (1, 3), (2,), (1,), (3,))
_FOUR = ((1,), (2,), (1,), (2,), (1,))


class Group(NamedTuple):
    """One group of targets, the same strikes at every maturity.

    `held_out` has the positions of the held-out strikes at each maturity: a quarter of the group,
    never two neighbours and never the first or the last, so that the score is one of interpolation.
    """

    functional: type[Call] | type[Put] | type[DigitalBelow]
    strikes: tuple[float, ...]
    held_out: tuple[tuple[int, ...], ...]
    weight: float


# Calls and puts share their strikes and what is held out: by parity a fitted put tells the call.
# The far puts stop short of 0.88, which is a put already.
GROUPS = {
    "calls": Group(Call, (0.88, 0.94, 1.0, 1.06, 1.12), _FIVE, 1.0),
    "puts": Group(Put, (0.88, 0.94, 1.0, 1.06, 1.12), _FIVE, 1.0),
    "far_puts": Group(Put, (0.60, 0.67, 0.74, 0.81), _FOUR, 1.0),
    "far_calls": Group(Call, (1.08, 1.17, 1.26, 1.35), _FOUR, 1.0),
    "digitals": Group(DigitalBelow, (0.65, 0.76, 0.87, 0.98), _FOUR, 2.0),
}

HALF_SPREAD, WIDENING = 0.01, 0.10
"""Half the spread as a share of the time value, at the money and more for each unit of |log K|."""
FLOOR, DIGITAL_FLOOR = 2e-5, 1e-3
"""Smallest half-spread; a digital is a difference of puts over a strike step and so is dearer."""

EXOTICS = (
    "up_and_out_call(strike=1.0, barrier=1.2, maturity=1.0)",
    "down_and_in_put(strike=1.0, barrier=0.85, maturity=1.0)",
    "asian_call(strike=1.0, maturity=1.0)",
    "lookback_put(maturity=0.5)",
    "running_maximum(maturity=1.0)",
    "crosses_below(barrier=0.8, maturity=1.0)",
)

CHUNK = 5_000
FINEST = 256
"""Steps per year of the true variance at least; at that step its bias is far below the noise."""


class TrueValues(NamedTuple):
    """Monte-Carlo means under the truth and their standard errors."""

    mean: Float[np.ndarray, " functional"]
    standard_error: Float[np.ndarray, " functional"]


def demo_problem() -> Problem:
    """Return the synthetic surface: 110 targets in five groups, a quarter held out."""
    targets = []
    for name, group in GROUPS.items():
        strikes = np.array(group.strikes)
        for maturity, held_out in zip(MATURITIES, group.held_out, strict=True):
            prices = european_prices(TRUTH, maturity, strikes)
            values, half_spreads = _quotes(group, prices)
            targets += [
                Target(
                    group.functional(maturity, strike),
                    value,
                    name,
                    held_out=index in held_out,
                    bid=max(value - half, 0.0),
                    ask=value + half,
                )
                for index, (strike, value, half) in enumerate(
                    zip(group.strikes, values.tolist(), half_spreads.tolist(), strict=True)
                )
            ]
    weights = {name: group.weight for name, group in GROUPS.items()}
    return Problem(targets, HORIZON, 1.0, weights, name="demo")


def demo_exotics() -> list[AbstractFunctional]:
    """Return path-dependent functionals that the demo does not fit."""
    return [read_functional(text) for text in EXOTICS]


def true_values(
    functionals: Sequence[AbstractFunctional],
    grid_steps: int,
    paths: int = 50_000,
    seed: int = 0,
) -> TrueValues:
    """Return expectations under the truth, watched at the nodes of the fitted model's grid.

    Args:
        functionals: what to price.
        grid_steps: steps of the uniform grid to the horizon; barriers see its nodes only.
        paths: simulated paths, a few thousand at a time.
        seed: seed of the simulation.
    """
    if paths < 2:
        raise ArgumentError("paths", paths, "must be at least 2", "one path has no standard error")
    for functional in functionals:
        check_maturity(functional, HORIZON)
    times = np.asarray(TimeGrid.uniform(HORIZON, grid_steps).times)
    substeps = math.ceil(FINEST * HORIZON / grid_steps)
    evaluate = eqx.filter_jit(Evaluator(functionals))
    total, squares = np.zeros(len(functionals)), np.zeros(len(functionals))
    for index, start in enumerate(range(0, paths, CHUNK)):
        count = min(CHUNK, paths - start)
        generator = np.random.default_rng((seed, index))
        chunk = simulate(TRUTH, times, count, substeps=substeps, generator=generator)
        values = np.asarray(evaluate(jnp.asarray(chunk), jnp.asarray(times)), dtype=np.float64)
        total += values.sum(axis=0)
        squares += (values**2).sum(axis=0)
    mean = total / paths
    variance = np.maximum(squares / paths - mean**2, 0.0)
    return TrueValues(mean, np.sqrt(variance / (paths - 1)))


def _quotes(group: Group, prices: EuropeanPrices) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a group at one maturity and half their spreads."""
    moneyness = np.abs(np.log(group.strikes))
    if group.functional is DigitalBelow:
        values, other, floor = prices.digital_below, prices.digital_above, DIGITAL_FLOOR
    else:
        values, other, floor = prices.put, prices.call, FLOOR
        if group.functional is Call:
            values, other = other, values
    time_value = np.minimum(values, other)
    return values, np.maximum(floor, (HALF_SPREAD + WIDENING * moneyness) * time_value)
