"""Our own layout: one row per option, with the columns under their own names."""

from datetime import date

import polars as pl

from slisde.data.layouts.raw import GIVEN_SCHEMA, ONLY_ROOT, Given, RawQuotes, raw_frame
from slisde.data.layouts.table import Table
from slisde.errors import ProblemError

ALIASES = {
    "quote_date": ("quote_date", "date"),
    "root": ("root", "underlying"),
    "expiry": ("expiry", "expiration", "expiration_date"),
    "option_type": ("option_type", "type", "call_put", "cp_flag", "right"),
    "strike": ("strike", "strike_price"),
    "bid": ("bid",),
    "ask": ("ask",),
    "price": ("price", "mid"),
    "spot": ("spot",),
}
"""Names that columns may have; the first is what `slisde quotes --to` writes."""
OTHER_DAY = "other quote date"
MADE_BY_PARITY = "made by parity"
SHOWN_DAYS = 3


def matches(columns: frozenset[str]) -> bool:
    """Return whether a file with these columns has this layout."""
    found = {name for name, aliases in ALIASES.items() if not columns.isdisjoint(aliases)}
    return found >= {"expiry", "option_type", "strike"} and (
        "price" in found or found >= {"bid", "ask"}
    )


def read(table: Table, given: Given) -> RawQuotes:
    """Return the quotes of one day; forwards and discounts may stand beside them."""
    names = {
        name: next(alias for alias in aliases if alias in table)
        for name, aliases in ALIASES.items()
        if any(alias in table for alias in aliases)
    }
    days = table.day(names["quote_date"]) if "quote_date" in names else None
    day = None if days is None else _one_day(table, days, given)
    numbers = {
        name: table.number(names[name])
        for name in ("strike", "bid", "ask", "price")
        if name in names
    }
    quotes = raw_frame(
        len(table),
        root=table.text(names["root"]).fill_null(ONLY_ROOT) if "root" in names else ONLY_ROOT,
        expiry=table.day(names["expiry"]),
        option_type=table.option_type(names["option_type"]),
        defect=_defects(table, days, day),
        **numbers,
    )
    spot = table.number(names["spot"]).drop_nulls() if "spot" in names else pl.Series([])
    return RawQuotes(quotes, day, spot[0] if spot.len() else None, _given_slices(table, quotes))


def _one_day(table: Table, days: pl.Series, given: Given) -> date | None:
    """Return the day of the quotes; of several days one has to be chosen."""
    found = days.drop_nulls().unique().sort().to_list()
    if given.quote_date is not None and found:
        if given.quote_date not in found:
            raise ProblemError(
                f"{table.name} has no quotes of {given.quote_date}, but of {_days(found)}."
            )
        return given.quote_date
    if len(found) > 1:
        raise ProblemError(
            f"{table.name} has quotes of {_days(found)}: choose one day with the quote date."
        )
    return found[0] if found else None


def _days(days: list[date]) -> str:
    shown = ", ".join(str(day) for day in days[:SHOWN_DAYS])
    return shown if len(days) <= SHOWN_DAYS else f"{shown} and {len(days) - SHOWN_DAYS} more days"


def _defects(table: Table, days: pl.Series | None, day: date | None) -> pl.Series:
    """Return why rows are set aside: another day, or made by parity, which is done anew."""
    other = pl.lit(False) if days is None else pl.lit(days).ne_missing(day)
    made = pl.lit(table.text("origin")) == "parity" if "origin" in table else pl.lit(False)
    reason = pl.when(other).then(pl.lit(OTHER_DAY)).when(made).then(pl.lit(MADE_BY_PARITY))
    return table.frame.select(pl.col(table.frame.columns[0]), reason=reason)["reason"]


def _given_slices(table: Table, quotes: pl.DataFrame) -> pl.DataFrame | None:
    if "forward" not in table or "discount" not in table:
        return None
    columns = {
        name: table.number(name) if name in table else pl.lit(None)
        for name in ("forward", "discount", "forward_se", "discount_se", "pairs")
    }
    frame = quotes.select("root", "expiry", "defect").with_columns(**columns)
    usable = (
        (pl.col("defect").fill_null("") != OTHER_DAY)
        & (pl.col("forward") > 0)
        & (pl.col("discount") > 0)
    )
    slices = frame.filter(usable).unique(["root", "expiry"], keep="first", maintain_order=True)
    return slices.select(GIVEN_SCHEMA.keys()).cast(GIVEN_SCHEMA)
