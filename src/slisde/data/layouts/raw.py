"""What every layout is turned into before anything is judged: one row per quote of the file."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import polars as pl

from slisde.errors import ArgumentError

RAW_SCHEMA = pl.Schema(
    {
        "root": pl.String,
        "expiry": pl.Date,
        "option_type": pl.String,  # call, put, or null where unreadable
        "strike": pl.Float64,
        "bid": pl.Float64,
        "ask": pl.Float64,
        "price": pl.Float64,  # used where there is neither bid nor ask
        "defect": pl.String,  # why the layout itself says that the row is of no use
    }
)
"""Columns of `RawQuotes.quotes`."""

GIVEN_SCHEMA = pl.Schema(
    {
        "root": pl.String,
        "expiry": pl.Date,
        "forward": pl.Float64,
        "discount": pl.Float64,
        "forward_se": pl.Float64,
        "discount_se": pl.Float64,
        "pairs": pl.Int64,
    }
)
"""Columns of `RawQuotes.slices`."""

ONLY_ROOT = "all"
"""The root where a file names none."""

Rates = float | Sequence[float] | Mapping[date, float]
"""Continuously compounded zero rates: one for all, one per expiry in order, or by expiry."""


@dataclass(frozen=True)
class Given:
    """What the caller knows and a file may not say."""

    quote_date: date | None = None
    spot: float | None = None
    rates: Rates | None = None

    def __post_init__(self):
        if self.spot is not None and not 0.0 < self.spot < math.inf:
            reason = "it is the level of the underlying"
            raise ArgumentError("spot", self.spot, "must be positive and finite", reason)
        for rate in _values(self.rates):
            if not -1.0 < rate < 1.0:
                raise ArgumentError("rates", rate, "must be in (-1, 1)", "0.02 are two per cent")

    def zero_rates(self, expiries: Sequence[date]) -> dict[date, float]:
        """Return the rates of these expiries, sorted; empty if none were given."""
        if self.rates is None:
            return {}
        if isinstance(self.rates, int | float):
            return dict.fromkeys(expiries, float(self.rates))
        if isinstance(self.rates, Mapping):
            return {expiry: self.rates[expiry] for expiry in expiries if expiry in self.rates}
        if len(self.rates) != len(expiries):
            reason = f"the file has {len(expiries)} expiries after the quote date"
            raise ArgumentError("rates", list(self.rates), "must be one per expiry", reason)
        return dict(zip(expiries, self.rates, strict=True))


@dataclass(frozen=True)
class RawQuotes:
    """The rows of a file.

    Attributes:
        quotes: `RAW_SCHEMA`, in the order of the file.
        quote_date: what the file says, if it does.
        spot: the underlying's level, if the file has it.
        slices: forwards and discounts that are known already, `GIVEN_SCHEMA`.
        warnings: what a person should know, a sentence each.
    """

    quotes: pl.DataFrame
    quote_date: date | None = None
    spot: float | None = None
    slices: pl.DataFrame | None = None
    warnings: tuple[str, ...] = ()


def _values(rates: Rates | None) -> Iterable[float]:
    if rates is None:
        return ()
    if isinstance(rates, int | float):
        return (rates,)
    return rates.values() if isinstance(rates, Mapping) else rates


def raw_frame(rows: int, **columns: pl.Series | pl.Expr | str | None) -> pl.DataFrame:
    """Return a frame of `RAW_SCHEMA`; what is not given is null."""
    frame = pl.DataFrame({"row": pl.int_range(rows, eager=True)})
    values: dict[str, pl.Expr | pl.Series] = {
        name: pl.lit(None, dtype=dtype) for name, dtype in RAW_SCHEMA.items()
    }
    for name, column in columns.items():
        if column is not None:
            values[name] = pl.lit(column) if isinstance(column, str) else column
    return frame.select(**values).cast(RAW_SCHEMA)
