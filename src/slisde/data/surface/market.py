"""The `market` convention: quotes out of the money in units of the forward, weighted by vega.

Y_T = S_T / F_T is a martingale that starts at one, so the forwards are targets too: E[Y_T] = 1.
"""

from collections.abc import Sequence
from datetime import date
from enum import StrEnum

import numpy as np
from jaxtyping import Float

from slisde.data.chain import Chain
from slisde.data.holdout import every_fourth
from slisde.data.implied_vol import POINTS, implied
from slisde.data.surface.convention import Convention
from slisde.data.surface.selection import (
    OutOfTheMoney,
    choose_root,
    choose_slices,
    out_of_the_money,
)
from slisde.errors import ArgumentError, ProblemError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward, Put

MONEYNESS = (0.60, 1.35)
VEGA_FLOOR = 3e-3
"""Smallest vega, in units of the forward for a volatility of one: a vol point is worth 3e-5 there."""
SPREAD_FLOOR = 1e-5
"""Smallest half-spread, in units of the forward."""

FORWARDS = 0.1
"""Weight of all forwards beside that of all options."""


class Weighting(StrEnum):
    """What a unit of error is: a volatility, or half a spread."""

    VEGA = "vega"
    SPREAD = "spread"


def market_problem(
    chain: Chain,
    *,
    root: str | None = None,
    expiries: Sequence[date] | None = None,
    moneyness: tuple[float, float] = MONEYNESS,
    weighting: Weighting = Weighting.VEGA,
    floor: float | None = None,
    hold_out: bool = True,
) -> Problem:
    """Return the problem of fitting a chain's smiles.

    A target has the weight (100/max(vega, floor))², so that its weighted squared error is that of the
    implied volatility in vol points, or 1/max(half-spread, floor)². The forward of an expiry weighs
    as much as its quote nearest to the money. Groups are `puts` and `calls`, weighted by their
    numbers of quotes, and `forwards`, weighted a tenth of both.

    Args:
        chain: the quotes.
        root: the product; the one with the shortest name if absent.
        expiries: the expiries; up to six between a month and a year if absent.
        moneyness: lowest and highest K/S_0, or K/F where the chain has no spot.
        weighting: vega or spread.
        floor: 3e-3 for a vega and 1e-5 for a half-spread if absent, in units of the forward.
        hold_out: whether every fourth strike is held out; every quote is fitted otherwise.
    """
    low, high = moneyness
    if not 0.0 < low < high:
        raise ArgumentError(
            "moneyness", moneyness, "must be two positive numbers, the lower first", "it is a range"
        )
    slices = [
        _quotes(chain, out_of_the_money(chain, part), moneyness)
        for part in choose_slices(chain, choose_root(chain, root), expiries)
    ]
    held_out = [every_fourth(part.strike.size, turn) & hold_out for turn, part in enumerate(slices)]
    weights = _weights(chain, slices, weighting, floor)
    targets: list[Target] = []
    for part, held, raw in zip(slices, held_out, weights, strict=True):
        targets += _targets(part, held, raw)
    groups = [target.group for target in targets]
    options = len(groups) - groups.count("forwards")
    shares = {name: groups.count(name) / options for name in ("puts", "calls") if name in groups}
    return Problem(
        targets,
        max(part.maturity for part in slices),
        1.0,
        {**shares, "forwards": FORWARDS},
        name=Convention.MARKET.name_of(chain),
        forwards={part.maturity: 1.0 for part in slices},
    )


def _quotes(chain: Chain, quotes: OutOfTheMoney, moneyness: tuple[float, float]) -> OutOfTheMoney:
    """Return the quotes of a range of strikes, in units of the forward."""
    level = chain.spot or quotes.forward
    chosen = quotes.between(moneyness[0] * level, moneyness[1] * level)
    if chosen.strike.size == 0:
        raise ProblemError(
            f"{chain.name} has no quote out of the money of {quotes.expiry} in the range "
            f"{moneyness[0]:g} to {moneyness[1]:g}: leave the expiry out or widen the range."
        )
    return chosen.in_units_of(chosen.forward)


def _weights(
    chain: Chain, slices: Sequence[OutOfTheMoney], weighting: Weighting, floor: float | None
) -> list[Float[np.ndarray, " strike"]]:
    if floor is None:
        floor = VEGA_FLOOR if weighting is Weighting.VEGA else SPREAD_FLOOR
    if not floor > 0.0:
        raise ArgumentError("floor", floor, "must be positive", "weights have to stay finite")
    if weighting is Weighting.VEGA:
        units = implied(
            np.concatenate([part.price for part in slices]),
            np.concatenate([part.strike for part in slices]),
            np.concatenate([np.full(part.strike.size, part.maturity) for part in slices]),
            np.concatenate([part.is_call for part in slices]),
        ).vega
    else:
        units = np.concatenate([0.5 * (part.ask - part.bid) for part in slices])
        if np.any(np.isnan(units)):
            raise ProblemError(
                f"{chain.name} has quotes without bid and ask: use the weighting `vega`."
            )
    unit = POINTS if weighting is Weighting.VEGA else 1.0
    weights = (unit / np.maximum(units, floor)) ** 2
    return np.split(weights, np.cumsum([part.strike.size for part in slices])[:-1])


def _targets(part: OutOfTheMoney, held_out: np.ndarray, weights: np.ndarray) -> list[Target]:
    columns = (part.strike, part.is_call, part.price, part.bid, part.ask, held_out, weights)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    targets = [
        Target(
            (Call if is_call else Put)(part.maturity, strike),
            price,
            "calls" if is_call else "puts",
            weight,
            held,
            bid=None if np.isnan(bid) else bid,
            ask=None if np.isnan(ask) else ask,
        )
        for strike, is_call, price, bid, ask, held, weight in rows
    ]
    central = weights[np.argmin(np.abs(np.log(part.strike)))]
    return [*targets, Target(Forward(part.maturity), 1.0, "forwards", float(central))]
