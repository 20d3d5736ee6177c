"""What a file of option quotes becomes: slices with forwards and discounts, and quotes out of the money.

`slisde.data.quotes` makes a `Chain` of a file; `slisde.data.surface` makes a problem of a chain.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

import polars as pl

DAYS_PER_YEAR = 365.0

QUOTE_SCHEMA = pl.Schema(
    {
        "root": pl.String,
        "expiry": pl.Date,
        "option_type": pl.Enum(["call", "put"]),
        "strike": pl.Float64,
        "price": pl.Float64,  # the mid where there are two sides; in the units of the strike, discounted
        "bid": pl.Float64,  # null where the file has one price per option
        "ask": pl.Float64,
        "origin": pl.Enum(["quoted", "parity"]),  # parity: made from the other side
    }
)
"""Columns of `Chain.quotes`."""


class DateSource(StrEnum):
    """Where the quote date comes from."""

    FILE = "file"
    FILE_NAME = "file name"
    ARGUMENT = "argument"
    INFERRED = "inferred"


@dataclass(frozen=True)
class QuoteDate:
    """The day of the quotes.

    Attributes:
        day: the date; every maturity is counted from it.
        source: who said so.
        uncertainty_days: one standard error of an inferred date, zero otherwise.
    """

    day: date
    source: DateSource
    uncertainty_days: float = 0.0


@dataclass(frozen=True)
class Slice:
    """One expiry of one root.

    Attributes:
        root: the product, such as SPX or SPXW.
        expiry: the last day.
        t_years: calendar days to it over 365.
        forward: F of C − P = D (F − K).
        discount: D of the same.
        forward_se: standard error of the forward, NaN where it was given and not estimated.
        discount_se: the same for the discount.
        pairs: strikes with both a call and a put that the estimate used.
        quotes: rows of `Chain.quotes` that belong to the slice.
    """

    root: str
    expiry: date
    t_years: float
    forward: float
    discount: float
    forward_se: float
    discount_se: float
    pairs: int
    quotes: int

    @property
    def zero_rate(self) -> float:
        """Continuously compounded, −log D / T."""
        return -math.log(self.discount) / self.t_years


class Violation(StrEnum):
    """A static arbitrage in mid prices, counted where it exceeds the half-spreads involved."""

    MONOTONE = "monotone"
    CONVEX = "convex"
    CALENDAR = "calendar"


@dataclass(frozen=True)
class Arbitrage:
    """One violation: where it is, and by how much it exceeds the half-spreads, in forward units."""

    kind: Violation
    root: str
    expiry: date
    strike: float
    excess: float


@dataclass(frozen=True)
class Chain:
    """The quotes of one file.

    Attributes:
        name: of the file.
        layout: which layout was recognised.
        quote_date: the day of the quotes.
        spot: the level of the underlying if the file has it, else None.
        slices: by root, then expiry.
        quotes: one row per usable quote, `QUOTE_SCHEMA`, sorted by root, expiry, strike, type.
        rows: quotes in the file.
        dropped: how many of them were not used, by reason; `rows == used + sum(dropped)`.
        arbitrage: violations found in the used quotes.
        warnings: what a person should know, a sentence each.
    """

    name: str
    layout: str
    quote_date: QuoteDate
    spot: float | None
    slices: Sequence[Slice]
    quotes: pl.DataFrame
    rows: int
    dropped: Mapping[str, int]
    arbitrage: Sequence[Arbitrage]
    warnings: Sequence[str]

    @property
    def used(self) -> int:
        """Rows of the file that were used; quotes made by parity are not rows of the file."""
        return int((self.quotes["origin"] == "quoted").sum())
