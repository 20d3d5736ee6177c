"""Heston's and Bates' models calibrated by QuantLib: what a quant would pick instead.

The forward is the unit and rates are zero, so a strike is K/F and a price is undiscounted.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Bool, Float, Int

from slisde.baselines.parametric_market import Market
from slisde.errors import ArgumentError, ProblemError

DAYS_PER_YEAR = 365

VARIANCE = (
    "long_variance",
    "mean_reversion",
    "variance_volatility",
    "correlation",
    "initial_variance",
)
JUMPS = ("jump_mean", "jump_deviation", "jump_intensity")
"""Parameters in QuantLib's order, by the names of `slisde.data.bates.Bates`."""

# An index surface has several optima: rare crashes, or so many small jumps that they are a second
# volatility. Which one is better depends on the day, so each has a start near it.
VARIANCE_STARTS = ((1.0, 2.0, 0.5, -0.6, 1.0), (1.0, 5.0, 1.5, -0.7, 0.5))
"""The first and the last in units of the variance at the money, longest and shortest."""
JUMP_STARTS = ((-1.0, 0.5, 0.01), (-0.3, 0.2, 0.1), (-0.03, 0.05, 3.0), (-0.01, 0.03, 15.0))

SEARCH_QUOTES = 100
"""About as many quotes see all starts; the best end is then improved on every quote."""
SEARCH_NODES, FINISH_NODES = 144, 192


class Parametric(StrEnum):
    """Heston's stochastic variance, or Bates' with lognormal jumps besides."""

    HESTON = "heston"
    BATES = "bates"

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters in QuantLib's order."""
        return VARIANCE if self is Parametric.HESTON else VARIANCE + JUMPS


@dataclass(frozen=True)
class ParametricFit:
    """A calibrated model.

    Attributes:
        kind: which model.
        parameters: per year, the arguments of `slisde.data.bates.Bates`.
        objective: the weighted mean of the squared errors in implied volatility.
        seconds: what the calibration took.
    """

    kind: Parametric
    parameters: Mapping[str, float]
    objective: float
    seconds: float

    def prices(
        self,
        maturity: Float[np.ndarray, " quote"],
        strike: Float[np.ndarray, " quote"],
        is_call: Bool[np.ndarray, " quote"],
    ) -> Float[np.ndarray, " quote"]:
        """Return E[(Y − K)₊] of calls and E[(K − Y)₊] of puts, where E[Y] = 1.

        Args:
            maturity: years, whole days over 365.
            strike: K, in units of the forward.
            is_call: call or put.
        """
        days = _days(maturity)
        _check("strike", strike, strike > 0.0, "must be positive", "a price is never below zero")
        parameters = [self.parameters[name] for name in self.kind.names]
        # Out of the money nothing cancels; parity gives the other side.
        time_value = Market().time_values(parameters, days.tolist(), strike.tolist())
        return time_value + np.maximum(np.where(is_call, 1.0 - strike, strike - 1.0), 0.0)


def calibrate(
    kind: Parametric,
    maturity: Float[np.ndarray, " quote"],
    strike: Float[np.ndarray, " quote"],
    implied_vol: Float[np.ndarray, " quote"],
    weight: Float[np.ndarray, " quote"] | None = None,
) -> ParametricFit:
    """Minimise the weighted squared errors in implied volatility, from several starts.

    Feller's condition is not enforced: index surfaces want more volatility of the variance.

    Args:
        kind: Heston's or Bates' model.
        maturity: years, whole days over 365.
        strike: K, in units of the forward.
        implied_vol: Black's volatility of the market's price.
        weight: of the squared errors, equal if None.
    """
    began = time.perf_counter()
    weight = np.ones_like(strike) if weight is None else weight
    days, used = _checked(kind, maturity, strike, implied_vol, weight)
    used = used[np.lexsort((strike[used], days[used]))]
    quotes = [each[used] for each in (days, strike, implied_vol, weight)]
    market = Market()
    thinned = market.book(*(each[:: -(-used.size // SEARCH_QUOTES)] for each in quotes))
    ends = [thinned.descend(start, SEARCH_NODES) for start in _starts(kind, *quotes[:3])]
    book = market.book(*quotes)
    parameters = book.descend(min(ends, key=thinned.objective), FINISH_NODES)
    return ParametricFit(
        kind,
        dict(zip(kind.names, parameters, strict=True)),
        book.objective(parameters),
        time.perf_counter() - began,
    )


def check_calibration(
    kind: Parametric,
    maturity: Float[np.ndarray, " quote"],
    strike: Float[np.ndarray, " quote"],
    implied_vol: Float[np.ndarray, " quote"],
) -> None:
    """Raise where `calibrate` would, before anything is spent on the quotes."""
    Market()
    _checked(kind, maturity, strike, implied_vol, np.ones_like(strike))


def _checked(
    kind: Parametric, maturity, strike, implied_vol, weight
) -> tuple[Int[np.ndarray, " quote"], Int[np.ndarray, " used"]]:
    """Return days and the positions of the quotes that have a weight."""
    days = _days(maturity)
    _check("strike", strike, strike > 0.0, "must be positive", "a price is never below zero")
    _check("implied_vol", implied_vol, implied_vol > 0.0, "must be positive", "it is a volatility")
    _check("weight", weight, weight >= 0.0, "must be at least 0", "errors are to be small")
    used = np.flatnonzero(weight)
    if used.size < len(kind.names):
        raise ProblemError(
            f"{kind.value} has {len(kind.names)} parameters: {used.size} quotes of positive "
            "weight do not determine them."
        )
    return days, used


def _starts(kind: Parametric, days, strike, implied_vol) -> list[list[float]]:
    near_money = [
        np.argmin(np.where(days == end, np.abs(strike - 1.0), np.inf))
        for end in (days.max(), days.min())
    ]
    long, short = (implied_vol[near_money] ** 2).tolist()
    variances = [
        [theta * long, kappa, sigma, rho, v0 * short]
        for theta, kappa, sigma, rho, v0 in VARIANCE_STARTS
    ]
    if kind is Parametric.HESTON:
        return variances
    return [[*variance, *jumps] for variance in variances for jumps in JUMP_STARTS]


def _days(maturity: Float[np.ndarray, " quote"]) -> Int[np.ndarray, " quote"]:
    days = np.rint(maturity * DAYS_PER_YEAR)
    whole = (np.abs(maturity * DAYS_PER_YEAR - days) < 1e-6) & (days >= 1.0)
    _check("maturity", maturity, whole, "must be whole days over 365", "QuantLib counts in days")
    return days.astype(int)


def _check(name: str, values: np.ndarray, holds: np.ndarray, domain: str, reason: str) -> None:
    wrong = values[~(holds & np.isfinite(values))]
    if wrong.size:
        raise ArgumentError(name, float(wrong[0]), domain, reason)
