"""Eurex contract lists: `ODAX SI 20261218 CS EU C 23500 0` and a settlement price."""

import polars as pl

from slisde.data.layouts.raw import Given, RawQuotes, raw_frame
from slisde.data.layouts.table import Table, as_days, as_option_types

COLUMNS = frozenset({"product", "contract"})
PRICES = ("previousdaysettlementprice", "settlementprice")
CONTRACT = (
    r"^(?<root>\S+) \S+ (?<day>\d{8}) \S+ (?<exercise>EU|AM) (?<letter>[CP]) (?<strike>[\d.]+) \d+$"
)


def matches(columns: frozenset[str]) -> bool:
    """Return whether a file with these columns has this layout."""
    return columns >= COLUMNS and not columns.isdisjoint(PRICES)


def read(table: Table, _given: Given) -> RawQuotes:
    """Return the quotes; parity holds for European exercise only."""
    fields = table.text("contract").str.extract_groups(CONTRACT).struct.unnest()
    price = next(column for column in PRICES if column in table)
    american = fields["exercise"] == "AM"
    quotes = raw_frame(
        len(table),
        root=fields["root"],
        expiry=as_days(fields["day"]),
        option_type=as_option_types(fields["letter"]),
        strike=fields["strike"].cast(pl.Float64, strict=False),
        price=table.number(price),
        defect=american.replace_strict(
            {True: "american exercise"}, default=None, return_dtype=pl.String
        ),
    )
    return RawQuotes(quotes)
