"""Fits in volatilities: the quotes of a problem whose forwards are known, and how far a model is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from slisde.data.implied_vol import POINTS, implied
from slisde.errors import ArgumentError, ProblemError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward, Put

LEAST_VEGA = 0.01
"""Vega, in units of the forward, below which a price in other units says nothing of the volatility:
a vol point is worth 1e-4 there, as much as such prices err by their level alone."""


class Unit(NamedTuple):
    """What strikes and values of a maturity are divided by to be in units of the forward."""

    forward: float
    price: float
    """Forward times discount, of values that are discounted."""


WHOLE = Unit(1.0, 1.0)
"""That of the `market` convention."""


@dataclass(frozen=True)
class SmileQuotes:
    """Calls and puts of a problem, in the order of its targets; prices are in its own units.

    Attributes:
        index: positions among the problem's targets.
        maturity: T in years.
        log_moneyness: log(K/F).
        is_call: calls; the others are puts.
        price: the target.
        bid: NaN where there is none.
        ask: NaN where there is none.
        volatility: implied by the price, and so on for bid and ask; a bid of zero has zero.
        vega: derivative of the price in the volatility.
        held_out: scored but not fitted.
        forward: F; one in the `market` convention.
        unit: a price of one in units of the forward, undiscounted, is a price of this.
        left_out: positions of the calls and puts whose price says nothing of the volatility.
    """

    index: Int[np.ndarray, " quote"]
    maturity: Float[np.ndarray, " quote"]
    log_moneyness: Float[np.ndarray, " quote"]
    is_call: Bool[np.ndarray, " quote"]
    price: Float[np.ndarray, " quote"]
    bid: Float[np.ndarray, " quote"]
    ask: Float[np.ndarray, " quote"]
    volatility: Float[np.ndarray, " quote"]
    bid_volatility: Float[np.ndarray, " quote"]
    ask_volatility: Float[np.ndarray, " quote"]
    vega: Float[np.ndarray, " quote"]
    held_out: Bool[np.ndarray, " quote"]
    forward: Float[np.ndarray, " quote"]
    unit: Float[np.ndarray, " quote"]
    left_out: Int[np.ndarray, " left_out"]


@dataclass(frozen=True)
class SmileScore:
    """How well some quotes are met.

    Attributes:
        maturity: T of the expiry, None for all of them.
        held_out: whether the quotes are held out.
        quotes: how many there are.
        rmse: root mean squared error of the implied volatility in vol points.
        inside: share of the prices between bid and ask; None where quotes have no two sides.
    """

    maturity: float | None
    held_out: bool
    quotes: int
    rmse: float
    inside: float | None


def smile_quotes(problem: Problem) -> SmileQuotes:
    """Return the calls and puts of a problem with their volatilities.

    In units of the forward that is all of them. In other units those are left out whose price has no
    volatility or a vega below `LEAST_VEGA`.

    Args:
        problem: one that knows the forward of every maturity of its calls and puts.
    """
    strikes = {
        index: float(functional.strike)
        for index, target in enumerate(problem.targets)
        if isinstance(functional := target.functional, Call | Put)
    }
    options = [problem.targets[index] for index in strikes]
    known = units(problem)
    _check_forwards(problem, options, known)
    strike = np.array(list(strikes.values()))
    maturity = np.array([float(target.functional.maturity) for target in options])
    is_call = np.array([isinstance(target.functional, Call) for target in options])
    price = np.array([target.value for target in options])
    bid, ask = (
        np.array([np.nan if side is None else side for side in sides])
        for sides in zip(*((target.bid, target.ask) for target in options), strict=True)
    )
    forward, unit = np.array([known[each] for each in maturity.tolist()]).T
    moneyness = strike / forward
    volatility, vega = implied(price / unit, moneyness, maturity, is_call)
    index = np.array(list(strikes))
    columns = (
        index,
        maturity,
        np.log(moneyness),
        is_call,
        price,
        bid,
        ask,
        volatility,
        implied(bid / unit, moneyness, maturity, is_call).volatility,
        implied(ask / unit, moneyness, maturity, is_call).volatility,
        unit * vega,
        np.array([target.held_out for target in options]),
        forward,
        unit,
    )
    used = (unit == WHOLE.price) & (forward == WHOLE.forward) | (vega >= LEAST_VEGA)
    if not used.any():
        raise ProblemError(f"no call or put of {problem.name} has a volatility to score.")
    return SmileQuotes(*(column[used] for column in columns), left_out=index[~used])


def units(problem: Problem) -> dict[float, Unit]:
    """Return the units of the maturities whose forward a problem gives, or has as a target of one."""
    forwards = {
        float(target.functional.maturity): 1.0
        for target in problem.targets
        if isinstance(target.functional, Forward) and target.value == 1.0
    }
    return {
        maturity: Unit(forward, forward * problem.discounts.get(maturity, 1.0))
        for maturity, forward in {**forwards, **problem.forwards}.items()
    }


def model_volatility(
    prices: Float[np.ndarray, " quote"], quotes: SmileQuotes
) -> Float[np.ndarray, " quote"]:
    """Return the volatilities that a model's prices imply; a price below the intrinsic value has zero.

    Prices are in the units of the quotes. Noise of a simulation can put one below the intrinsic value,
    where a market's would have no volatility.
    """
    strike = np.exp(quotes.log_moneyness)
    intrinsic = np.maximum(np.where(quotes.is_call, 1.0 - strike, strike - 1.0), 0.0)
    raised = np.maximum(prices / quotes.unit, intrinsic)
    return implied(raised, strike, quotes.maturity, quotes.is_call).volatility


def score(prices: Float[np.ndarray, " quote"], quotes: SmileQuotes) -> list[SmileScore]:
    """Return scores of fitted and of held-out quotes: first over all expiries, then one by one.

    Args:
        prices: of the model, in the units and in the order of the quotes.
        quotes: from `smile_quotes`.
    """
    if prices.shape != quotes.price.shape:
        raise ArgumentError(
            "prices",
            prices.shape,
            f"must have the shape {quotes.price.shape}",
            "one for each quote",
        )
    errors = POINTS * (model_volatility(prices, quotes) - quotes.volatility)
    inside = (prices >= quotes.bid) & (prices <= quotes.ask)
    two_sided = ~np.isnan(quotes.bid) & ~np.isnan(quotes.ask)
    scores = []
    for maturity in (None, *np.unique(quotes.maturity).tolist()):
        for held_out in (False, True):
            rows = quotes.held_out == held_out
            if maturity is not None:
                rows &= quotes.maturity == maturity
            if not rows.any():
                continue
            sided = rows & two_sided
            scores.append(
                SmileScore(
                    maturity,
                    held_out,
                    int(rows.sum()),
                    float(np.sqrt(np.mean(errors[rows] ** 2))),
                    float(inside[sided].mean()) if sided.any() else None,
                )
            )
    return scores


def score_of(
    scores: Sequence[SmileScore], maturity: float | None, *, held_out: bool
) -> SmileScore | None:
    """Return the score of an expiry, or of all; None where it has no such quotes."""
    wanted = (maturity, held_out)
    return next((each for each in scores if (each.maturity, each.held_out) == wanted), None)


def _check_forwards(
    problem: Problem, options: Sequence[Target], known: Mapping[float, Unit]
) -> None:
    """Raise unless every call and put has a forward."""
    if not options:
        raise ProblemError(f"{problem.name} has no calls or puts: there is no smile to score.")
    other = {float(target.functional.maturity) for target in options} - set(known)
    if other:
        raise ProblemError(
            f"{problem.name} is not in units of the forward: it has no target E[Y_T] = 1 at "
            f"T = {min(other):g}, and its `forwards` have no value there. Implied volatilities need "
            "one of them."
        )
