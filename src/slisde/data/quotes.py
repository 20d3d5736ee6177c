"""Files of option quotes, whatever their layout, as chains.

Each row of the file is used or dropped with a reason. Forwards and discounts come from put–call
parity, options out of the money that are missing are made by it, and static arbitrage is reported.
"""

import math
from datetime import date
from pathlib import Path

import polars as pl

from slisde.data.arbitrage import find_arbitrage
from slisde.data.chain import DAYS_PER_YEAR, QUOTE_SCHEMA, Chain, QuoteDate, Slice
from slisde.data.cleaning import Reason, differing_duplicates, drop, judge_rows, usable
from slisde.data.completion import complete
from slisde.data.layouts.raw import Given, Rates
from slisde.data.layouts.recognise import read_raw
from slisde.data.quote_date import decide, infer
from slisde.data.slices import KEY, find_slices, settle_slices
from slisde.data.staleness import judge_by_parity
from slisde.errors import ProblemError


def read_chain(
    path: Path | str,
    *,
    quote_date: date | None = None,
    spot: float | None = None,
    rates: Rates | None = None,
) -> Chain:
    """Return the chain of a CSV or Parquet file.

    Args:
        path: the file; `docs/quotes.md` describes the layouts.
        quote_date: the day of the quotes, where the file does not say it or is wrong.
        spot: the underlying's level.
        rates: continuously compounded zero rates, for all expiries, one per expiry in order, or by
            expiry. They replace the discounts that parity gives. Where calls and puts do not
            pair, the forward is then spot/discount.
    """
    path = Path(path)
    given = Given(quote_date, spot, rates)
    layout, raw = read_raw(path, given)
    quotes = judge_rows(raw.quotes)
    found = find_slices(quotes)
    day, date_notes = decide(path, quote_date, raw.quote_date, infer(found))
    quotes = drop(quotes, pl.col("expiry") <= day.day, Reason.EXPIRED)
    slices, slice_notes = settle_slices(quotes, found, day.day, given, raw.slices)
    quotes = judge_by_parity(quotes, slices)
    if usable(quotes).is_empty():
        raise ProblemError(f"{path}: no quote can be used ({_list(_dropped(quotes))}).")
    every = complete(quotes).sort("root", "expiry", "strike", "option_type")
    return Chain(
        name=path.name,
        layout=layout,
        quote_date=day,
        spot=raw.spot if spot is None else float(spot),
        slices=_slices(slices, every, day),
        quotes=every.select(QUOTE_SCHEMA.keys()).cast(QUOTE_SCHEMA),
        rows=quotes.height,
        dropped=_dropped(quotes),
        arbitrage=find_arbitrage(every),
        warnings=[*raw.warnings, *date_notes, *slice_notes, *_duplicate_notes(quotes)],
    )


def _dropped(quotes: pl.DataFrame) -> dict[str, int]:
    """Return how many rows have each reason, the commonest first."""
    counts = quotes["reason"].drop_nulls().value_counts()
    return dict(counts.sort(-pl.col("count").cast(pl.Int64), "reason").iter_rows())


def _list(dropped: dict[str, int]) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in dropped.items()) or "it has no rows"


def _slices(slices: pl.DataFrame, quotes: pl.DataFrame, day: QuoteDate) -> list[Slice]:
    counts = quotes.group_by(KEY).agg(quotes=pl.len())
    return [
        Slice(
            root=row["root"],
            expiry=row["expiry"],
            t_years=(row["expiry"] - day.day).days / DAYS_PER_YEAR,
            forward=row["forward"],
            discount=row["discount"],
            forward_se=_or_nan(row["forward_se"]),
            discount_se=_or_nan(row["discount_se"]),
            pairs=row["pairs"] or 0,
            quotes=row["quotes"],
        )
        for row in slices.join(counts, on=KEY).sort(KEY).iter_rows(named=True)
    ]


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _duplicate_notes(quotes: pl.DataFrame) -> list[str]:
    count = differing_duplicates(quotes)
    note = f"{count} duplicates have another price than the row that was kept, the first."
    return [note] if count else []
