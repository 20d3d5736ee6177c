"""The part of a chain that a surface is made of: one root, some expiries, options out of the money."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import polars as pl
from jaxtyping import Bool, Float

from slisde.data.chain import DAYS_PER_YEAR, Chain, Slice
from slisde.errors import ProblemError

SHORTEST_DAYS, LONGEST_DAYS = 25.0, 390.0
"""Expiries that are chosen by themselves lie between about a month and about a year."""
LEAST_QUOTES = 20
"""Quotes of an expiry that is chosen by itself."""
MOST_EXPIRIES = 6


@dataclass(frozen=True)
class OutOfTheMoney:
    """One price per strike of an expiry: puts below the forward, calls from it on.

    Prices are undiscounted; they, the strikes and the forward are in one unit.
    """

    expiry: date
    maturity: float
    forward: float
    strike: Float[np.ndarray, " strike"]
    price: Float[np.ndarray, " strike"]
    bid: Float[np.ndarray, " strike"]
    ask: Float[np.ndarray, " strike"]

    @property
    def is_call(self) -> Bool[np.ndarray, " strike"]:
        """Which of the options are calls."""
        return self.strike >= self.forward

    @property
    def call_shift(self) -> Float[np.ndarray, " strike"]:
        """What turns a price into that of the call of its strike, by parity."""
        return np.where(self.is_call, 0.0, self.forward - self.strike)

    @property
    def put_shift(self) -> Float[np.ndarray, " strike"]:
        """What turns a price into that of the put of its strike, by parity."""
        return np.where(self.is_call, self.strike - self.forward, 0.0)

    def between(self, low: float, high: float) -> "OutOfTheMoney":
        """Return the strikes of a closed interval."""
        chosen = (self.strike >= low) & (self.strike <= high)
        columns = (self.strike, self.price, self.bid, self.ask)
        return OutOfTheMoney(
            self.expiry, self.maturity, self.forward, *(column[chosen] for column in columns)
        )

    def in_units_of(self, unit: float) -> "OutOfTheMoney":
        """Return everything divided by a forward or a spot."""
        columns = (self.strike, self.price, self.bid, self.ask)
        return OutOfTheMoney(
            self.expiry,
            self.maturity,
            self.forward / unit,
            *(column / unit for column in columns),
        )


def out_of_the_money(chain: Chain, part: Slice) -> OutOfTheMoney:
    """Return the options of a slice that are out of the money and have a positive price.

    Prices made by parity are among them where the file has one price per option: a list of
    settlements obeys parity. Between a bid and an ask in the money there is room for a point of
    volatility, so there only quoted prices are used.
    """
    call = pl.col("option_type") == "call"
    observed = (pl.col("origin") == "quoted") | pl.col("bid").is_null()
    rows = chain.quotes.filter(
        (pl.col("root") == part.root)
        & (pl.col("expiry") == part.expiry)
        & (call == (pl.col("strike") >= part.forward))
        & (pl.col("price") > 0.0)
        & observed
    ).sort("strike")
    strike, *prices = (
        rows[name].fill_null(np.nan).to_numpy() for name in ("strike", "price", "bid", "ask")
    )
    undiscounted = (price / part.discount for price in prices)
    return OutOfTheMoney(part.expiry, part.t_years, part.forward, strike, *undiscounted)


def choose_root(chain: Chain, root: str | None) -> str:
    """Return the root asked for, or the one with the shortest name: SPX and not SPXW."""
    known = sorted({part.root for part in chain.slices}, key=lambda name: (len(name), name))
    if not known:
        raise ProblemError(f"{chain.name} has no expiry with a forward: there is nothing to fit.")
    if root is None:
        return known[0]
    if root not in known:
        raise ProblemError(f"{chain.name} has no root `{root}`. It has {', '.join(known)}.")
    return root


def choose_slices(
    chain: Chain, root: str, expiries: Sequence[date] | None, most: int = MOST_EXPIRIES
) -> list[Slice]:
    """Return the expiries asked for, or some between about a month and about a year.

    Where there are more than `most`, the nearest to points that are evenly spaced on the scale of √T.
    """
    slices = sorted((s for s in chain.slices if s.root == root), key=lambda s: s.expiry)
    if expiries is not None:
        return _named(chain, slices, expiries)
    candidates = [
        part
        for part in slices
        if SHORTEST_DAYS <= part.t_years * DAYS_PER_YEAR <= LONGEST_DAYS
        and part.quotes >= LEAST_QUOTES
    ]
    if not candidates:
        raise ProblemError(
            f"{chain.name} has no expiry of {root} with {LEAST_QUOTES} quotes between "
            f"{SHORTEST_DAYS:g} and {LONGEST_DAYS:g} days: name the expiries."
        )
    if len(candidates) <= most:
        return candidates
    roots = np.sqrt([part.t_years for part in candidates])
    wanted = np.linspace(roots[0], roots[-1], most)
    nearest = np.abs(wanted[:, None] - roots).argmin(axis=1)
    return [candidates[index] for index in np.unique(nearest)]


def _named(chain: Chain, slices: Sequence[Slice], expiries: Sequence[date]) -> list[Slice]:
    by_date = {part.expiry: part for part in slices}
    if not expiries:
        raise ProblemError(f"no expiry of {chain.name} was asked for: name one at least.")
    for expiry in expiries:
        if expiry not in by_date:
            known = ", ".join(str(each) for each in by_date)
            raise ProblemError(f"{chain.name} has no expiry {expiry}. It has {known}.")
    return [by_date[expiry] for expiry in sorted(set(expiries))]
