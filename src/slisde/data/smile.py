"""Fits in volatilities: the quotes of a market problem, and how far a model is from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from slisde.data.implied_vol import POINTS, implied
from slisde.errors import ArgumentError, ProblemError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward, Put


@dataclass(frozen=True)
class SmileQuotes:
    """Calls and puts of a problem in units of the forward, in the order of its targets.

    Attributes:
        index: positions among the problem's targets.
        maturity: T in years.
        log_moneyness: log(K/F).
        is_call: calls; the others are puts.
        price: the target, undiscounted.
        bid: NaN where there is none.
        ask: NaN where there is none.
        volatility: implied by the price, and so on for bid and ask; a bid of zero has zero.
        vega: derivative of the price in the volatility.
        held_out: scored but not fitted.
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
    """Return the calls and puts of a problem in units of the forward.

    Args:
        problem: one of the `market` convention: at every maturity it has the target E[Y_T] = 1.
    """
    strikes = {
        index: float(functional.strike)
        for index, target in enumerate(problem.targets)
        if isinstance(functional := target.functional, Call | Put)
    }
    options = [problem.targets[index] for index in strikes]
    _check_forwards(problem, options)
    strike = np.array(list(strikes.values()))
    maturity = np.array([float(target.functional.maturity) for target in options])
    is_call = np.array([isinstance(target.functional, Call) for target in options])
    price = np.array([target.value for target in options])
    bid, ask = (
        np.array([np.nan if side is None else side for side in sides])
        for sides in zip(*((target.bid, target.ask) for target in options), strict=True)
    )
    volatility, vega = implied(price, strike, maturity, is_call)
    return SmileQuotes(
        np.array(list(strikes)),
        maturity,
        np.log(strike),
        is_call,
        price,
        bid,
        ask,
        volatility,
        implied(bid, strike, maturity, is_call).volatility,
        implied(ask, strike, maturity, is_call).volatility,
        vega,
        np.array([target.held_out for target in options]),
    )


def model_volatility(
    prices: Float[np.ndarray, " quote"], quotes: SmileQuotes
) -> Float[np.ndarray, " quote"]:
    """Return the volatilities that a model's prices imply; a price below the intrinsic value has zero.

    Noise of a simulation can put a price there, where a market's would have no volatility.
    """
    strike = np.exp(quotes.log_moneyness)
    intrinsic = np.maximum(np.where(quotes.is_call, 1.0 - strike, strike - 1.0), 0.0)
    raised = np.maximum(prices, intrinsic)
    return implied(raised, strike, quotes.maturity, quotes.is_call).volatility


def score(prices: Float[np.ndarray, " quote"], quotes: SmileQuotes) -> list[SmileScore]:
    """Return scores of fitted and of held-out quotes: first over all expiries, then one by one.

    Args:
        prices: of the model, undiscounted and in units of the forward, in the order of the quotes.
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


def _check_forwards(problem: Problem, options: Sequence[Target]) -> None:
    """Raise unless the problem is in units of the forward."""
    if not options:
        raise ProblemError(f"{problem.name} has no calls or puts: there is no smile to score.")
    unit = {
        float(target.functional.maturity)
        for target in problem.targets
        if isinstance(target.functional, Forward) and target.value == 1.0
    }
    other = {float(target.functional.maturity) for target in options} - unit
    if other:
        raise ProblemError(
            f"{problem.name} is not in units of the forward: it has no target E[Y_T] = 1 at "
            f"T = {min(other):g}. Implied volatilities need the `market` convention."
        )
