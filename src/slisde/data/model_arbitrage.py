"""Static arbitrage in a model's prices at the quoted strikes, beyond Monte-Carlo noise.

Each expiry is one curve of calls c(k) in units of the forward, a put being c − 1 + k. The curve falls,
by no more than k rises; it is convex; and it rises with maturity. Each of these says that some
combination of prices is not positive. Prices of the same paths err together, so that the error of a
combination is taken from its values in independent batches.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from slisde.data.chain import Violation
from slisde.data.smile import SmileQuotes

NOISE = 4.0
"""Standard errors up to which a violation counts as noise."""

ROUNDING = 1e-7
"""Excess, in forwards, that single precision may leave."""


@dataclass(frozen=True)
class ModelArbitrage:
    """Violations in the prices of a model.

    Attributes:
        checked: combinations of prices that were looked at.
        found: those beyond noise, for each kind.
        largest: the largest of their excesses over zero, in units of the forward; zero without any.
    """

    checked: int
    found: Mapping[Violation, int]
    largest: float

    @property
    def count(self) -> int:
        """Violations of all kinds."""
        return sum(self.found.values())


class _Curve(NamedTuple):
    strike: Float[np.ndarray, " strike"]
    call: Float[np.ndarray, "batch strike"]


def model_arbitrage(
    batch_prices: Float[np.ndarray, "batch quote"], quotes: SmileQuotes
) -> ModelArbitrage:
    """Return the violations that noise does not explain.

    Args:
        batch_prices: of the model in independent batches of equal size, in the units and in the order
            of the quotes.
        quotes: from `slisde.data.smile.smile_quotes`.
    """
    curves = list(_curves(batch_prices, quotes))
    parts = {
        Violation.MONOTONE: [_rises(curve) for curve in curves],
        Violation.CONVEX: [_bulges(curve) for curve in curves],
        Violation.CALENDAR: [_falls(early, late) for early, late in pairwise(curves)],
    }
    empty = np.zeros((len(batch_prices), 0))
    found, checked, largest = {}, 0, 0.0
    for kind, excesses in parts.items():
        excess = np.concatenate([empty, *excesses], axis=1)
        mean = excess.mean(axis=0)
        error = excess.std(axis=0, ddof=1) / np.sqrt(len(excess))
        beyond = mean > NOISE * error + ROUNDING
        found[kind] = int(beyond.sum())
        checked += mean.size
        largest = float(np.max(mean[beyond], initial=largest))
    return ModelArbitrage(checked, found, largest)


def _curves(
    batch_prices: Float[np.ndarray, "batch quote"], quotes: SmileQuotes
) -> Iterator[_Curve]:
    """Give the curve of each maturity; of a call and a put at one strike, that out of the money."""
    strike = np.exp(quotes.log_moneyness)
    calls = batch_prices / quotes.unit + np.where(quotes.is_call, 0.0, 1.0 - strike)
    in_the_money = quotes.is_call != (strike >= 1.0)
    order = np.lexsort((in_the_money, strike, quotes.maturity))
    for maturity in np.unique(quotes.maturity):
        rows = order[quotes.maturity[order] == maturity]
        unique, first = np.unique(strike[rows], return_index=True)
        yield _Curve(unique, calls[:, rows[first]])


def _rises(curve: _Curve) -> Float[np.ndarray, "batch condition"]:
    """Return by how much the curve rises, or falls faster than the strike rises."""
    rise = np.diff(curve.call, axis=1)
    return np.concatenate([rise, -rise - np.diff(curve.strike)], axis=1)


def _bulges(curve: _Curve) -> Float[np.ndarray, "batch condition"]:
    """Return by how much each inner price is above the chord of its neighbours."""
    k, call = curve
    share = (k[2:] - k[1:-1]) / (k[2:] - k[:-2])
    return call[:, 1:-1] - share * call[:, :-2] - (1.0 - share) * call[:, 2:]


def _falls(early: _Curve, late: _Curve) -> Float[np.ndarray, "batch condition"]:
    """Return by how much each earlier price is above the later curve's chord, which is too high."""
    inside = (early.strike >= late.strike[0]) & (early.strike <= late.strike[-1])
    k = early.strike[inside]
    right = np.clip(np.searchsorted(late.strike, k), 1, max(late.strike.size - 1, 1))
    if late.strike.size == 1:
        return early.call[:, inside] - late.call
    low, high = late.strike[right - 1], late.strike[right]
    share = (k - low) / (high - low)
    chord = (1.0 - share) * late.call[:, right - 1] + share * late.call[:, right]
    return early.call[:, inside] - chord
