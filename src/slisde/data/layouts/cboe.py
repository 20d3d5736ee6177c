"""Cboe's delayed-quote exports: name, date and columns above, calls left and puts right."""

import re
from datetime import date

import polars as pl

from slisde.data.layouts.raw import Given, RawQuotes, raw_frame
from slisde.data.layouts.symbols import occ_symbols
from slisde.data.layouts.table import Table, as_days

COLUMNS = frozenset({"expiration_date", "calls", "puts", "strike", "bid", "ask", "bid_2", "ask_2"})


def matches(columns: frozenset[str]) -> bool:
    """Return whether a file with these columns has this layout."""
    return columns >= COLUMNS


def read(table: Table, _given: Given) -> RawQuotes:
    """Return two quotes per line."""
    sides = [
        raw_frame(
            len(table),
            **(occ_symbols(table.text(side)) | {"expiry": table.day("expiration_date")}),
            strike=table.number("strike"),
            bid=table.number(bid),
            ask=table.number(ask),
        )
        for side, bid, ask in (("calls", "bid", "ask"), ("puts", "bid_2", "ask_2"))
    ]
    above = "\n".join(table.preamble)
    return RawQuotes(pl.concat(sides), _day(above), _last(above))


def _day(above: str) -> date | None:
    found = re.search(r"Date:\s*([A-Z][a-z]+ \d{1,2}, \d{4})", above)
    return as_days(pl.Series([found[1]]))[0] if found else None


def _last(above: str) -> float | None:
    found = re.search(r"Last:\s*(\d+(?:\.\d+)?)", above)
    return float(found[1]) if found else None
