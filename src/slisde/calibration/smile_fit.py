"""A fit in implied volatilities: what is known of a model and a problem in units of the forward."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from slisde.calibration.estimate import Estimate
from slisde.data.implied_vol import POINTS
from slisde.data.model_arbitrage import ModelArbitrage, model_arbitrage
from slisde.data.smile import (
    SmileQuotes,
    SmileScore,
    model_volatility,
    score,
    score_of,
    smile_quotes,
)
from slisde.errors import ProblemError
from slisde.functionals.problem import Problem

BAND = 2.0
"""Standard errors of the price to each side of a volatility's band."""

PerQuote = Float[np.ndarray, " quote"]


@dataclass(frozen=True)
class VolatilityBand:
    """Volatilities of prices, and of prices two standard errors below and above."""

    middle: PerQuote
    low: PerQuote
    high: PerQuote


@dataclass(frozen=True)
class ExpiryLaw:
    """The model at one expiry, in units of the forward.

    Attributes:
        maturity: T in years.
        strike: places of the smile.
        volatility: the smile.
        place: places of the density.
        density: heights of the density.
        density_error: their standard errors.
    """

    maturity: float
    strike: Float[np.ndarray, " strike"]
    volatility: VolatilityBand
    place: Float[np.ndarray, " place"]
    density: Float[np.ndarray, " place"]
    density_error: Float[np.ndarray, " place"]


@dataclass(frozen=True)
class SmileFit:
    """Quotes of a problem beside a model's prices of them.

    Attributes:
        quotes: the calls and puts.
        volatility: of the model.
        scores: over all expiries and for each, fitted and held-out quotes apart.
        noise: error in vol points that Monte-Carlo noise alone gives each quote.
        arbitrage: of the model's prices.
    """

    quotes: SmileQuotes
    volatility: VolatilityBand
    scores: Sequence[SmileScore]
    noise: PerQuote
    arbitrage: ModelArbitrage

    @property
    def error(self) -> PerQuote:
        """Model less quote in vol points."""
        return POINTS * (self.volatility.middle - self.quotes.volatility)

    @property
    def maturities(self) -> list[float]:
        """The expiries, in order."""
        return np.unique(self.quotes.maturity).tolist()

    def of(self, maturity: float | None, *, held_out: bool) -> SmileScore | None:
        """Return the score of an expiry, or of all; None where it has no such quotes."""
        return score_of(self.scores, maturity, held_out=held_out)

    def noise_of(self, maturity: float | None, *, held_out: bool) -> float:
        """Return the root mean square of `noise` over the quotes of a score."""
        rows = self.quotes.held_out == held_out
        if maturity is not None:
            rows &= self.quotes.maturity == maturity
        return float(np.sqrt(np.mean(self.noise[rows] ** 2)))


def market_quotes(problem: Problem) -> SmileQuotes | None:
    """Return the quotes of a problem in units of the forward, None of any other."""
    try:
        return smile_quotes(problem)
    except ProblemError:
        return None


def smile_fit(estimate: Estimate) -> SmileFit | None:
    """Return the fit of a problem in units of the forward, None of any other."""
    quotes = market_quotes(estimate.problem)
    if quotes is None:
        return None
    price, error = estimate.mean[quotes.index], estimate.standard_error[quotes.index]
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = POINTS * error / quotes.vega
    return SmileFit(
        quotes,
        volatility_band(price, error, lambda prices: model_volatility(prices, quotes)),
        score(price, quotes),
        noise,
        model_arbitrage(estimate.batch_means[:, quotes.index], quotes),
    )


def volatility_band(
    price: PerQuote, error: PerQuote, volatility: Callable[[PerQuote], PerQuote]
) -> VolatilityBand:
    """Return the volatilities of prices with standard errors, by a function from price to volatility."""
    reach = BAND * error
    return VolatilityBand(volatility(price), volatility(price - reach), volatility(price + reach))
