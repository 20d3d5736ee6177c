"""Chains as `yfinance` gives them: one row per contract, whose symbol has root, expiry and type."""

import polars as pl

from slisde.data.layouts.raw import Given, RawQuotes, raw_frame
from slisde.data.layouts.symbols import occ_symbols
from slisde.data.layouts.table import Table, plausible

COLUMNS = frozenset({"contractsymbol", "strike", "bid", "ask"})
TIME = r"^(?<day>\d{4}-\d{2}-\d{2})[ T](?<time>\d{2}:\d{2}:\d{2})(\+00:00|Z)?$"


def matches(columns: frozenset[str]) -> bool:
    """Return whether a file with these columns has this layout."""
    return columns >= COLUMNS


def read(table: Table, _given: Given) -> RawQuotes:
    """Return the quotes; their day is that of the last trade, in New York."""
    quotes = raw_frame(
        len(table),
        **occ_symbols(table.text("contractsymbol")),
        strike=table.number("strike"),
        bid=table.number("bid"),
        ask=table.number("ask"),
    )
    if "lasttradedate" not in table:
        return RawQuotes(quotes)
    days = plausible(_times(table).dt.convert_time_zone("America/New_York").dt.date())
    last = max(days.drop_nulls().unique().to_list(), default=None)
    note = f"the file has no quote date; {last} is the day of the last trade in it, in New York."
    return RawQuotes(quotes, last, warnings=(note,) if last else ())


def _times(table: Table) -> pl.Series:
    """Return when each option was last traded; a time without a zone is one in UTC."""
    times = table.frame["lasttradedate"]
    if isinstance(times.dtype, pl.Datetime):
        return times if times.dtype.time_zone else times.dt.replace_time_zone("UTC")
    parts = table.text("lasttradedate").str.extract_groups(TIME).struct.unnest()
    return (parts["day"] + " " + parts["time"]).str.to_datetime(
        "%Y-%m-%d %H:%M:%S", time_zone="UTC", strict=False
    )
