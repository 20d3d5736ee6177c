"""A fit of a chain that never happened: two expiries in units of the forward, and a model beside them."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from slisde.calibration.estimate import BATCHES, Estimate
from slisde.calibration.smile_fit import ExpiryLaw, VolatilityBand, market_quotes
from slisde.functionals.barrier import CrossesBelow
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward, Put
from slisde.report.content import ReportContent, Rival
from tests.report.surface import PATHS, mean_and_variance, simulated
from tests.report.surface import content as surface_content

MATURITIES = (0.25, 1.0)
STRIKES = np.linspace(0.7, 1.3, 25)


def quoted(strike: float) -> float:
    """Return the volatility of the market."""
    return 0.2 - 0.15 * float(np.log(strike))


def chain(*, held_out: bool = True, two_sided: bool = True, extra: bool = False) -> Problem:
    """Return the quotes out of the money, forwards, and a barrier where `extra` is wanted."""
    targets = [Target(Forward(maturity), 1.0, "forwards") for maturity in MATURITIES]
    for maturity in MATURITIES:
        for place, strike in enumerate(STRIKES.tolist()):
            kind = Call if strike >= 1.0 else Put
            value = float(mean_and_variance(kind, maturity, strike, quoted(strike))[0])
            spread = 0.02 * value + 2e-5
            targets.append(
                Target(
                    kind(maturity, strike),
                    value,
                    "calls" if kind is Call else "puts",
                    held_out=held_out and place % 4 == 2,
                    bid=max(value - spread, 0.0) if two_sided else None,
                    ask=value + spread if two_sided else None,
                )
            )
    if extra:
        targets.append(Target(CrossesBelow(1.0, 0.8), 0.2, "barriers"))
    return Problem(targets, MATURITIES[-1], 1.0, name="chain market")


def model(problem: Problem, shift: float = 0.002) -> Estimate:
    """Return the prices of a model whose volatilities are shifted, without noise in the means."""
    moments = []
    for target in problem.targets:
        strike = getattr(target.functional, "strike", None)
        if strike is None:
            moments.append((target.value, 0.04))
            continue
        kind, maturity = type(target.functional), float(target.functional.maturity)
        moments.append(mean_and_variance(kind, maturity, strike, quoted(strike) + shift))
    mean, variance = np.array(moments).T
    return Estimate(problem, PATHS, mean, variance, np.tile(mean, (BATCHES, 1)))


def rivals(problem: Problem) -> list[Rival]:
    """Return two models whose volatilities are one and half a point too high."""
    quotes = market_quotes(problem)
    assert quotes is not None
    return [
        Rival(name, model(problem, shift).mean[quotes.index])
        for name, shift in (("Heston", 0.01), ("Bates", 0.005))
    ]


def law(maturity: float) -> ExpiryLaw:
    """Return the smile of the model, and a lognormal density."""
    place = np.linspace(0.4, 2.0, 161)
    deviation = 0.2 * maturity**0.5
    height = norm.pdf(np.log(place) / deviation + deviation / 2.0) / (deviation * place)
    middle = np.array([quoted(strike) for strike in STRIKES]) + 0.002
    band = VolatilityBand(middle, middle - 0.001, middle + 0.001)
    return ExpiryLaw(maturity, STRIKES, band, place, height, 0.01 * height)


def content(**changes: Any) -> ReportContent:
    """Return a content of the market, or one that differs from it."""
    times, paths = simulated(64)
    whole = surface_content(
        title="slisde fitted to chain market",
        estimate=model(chain()),
        times=times,
        sample_paths=paths,
        comparisons=(),
        laws=[law(maturity) for maturity in MATURITIES],
        convention="market",
    )
    return replace(whole, **changes)
