"""Deribit's option tables: `BTC-27JUN25-100000-C`, prices in coin.

A price in coin times the underlying's forward is a price without discounting, as the exchange's
parity c − p = 1 − K/F says; so the discounts come out as one. Options that settle in a currency
(`BTC_USDC-…`) are priced in it already.
"""

import polars as pl

from slisde.data.layouts.raw import Given, RawQuotes, raw_frame
from slisde.data.layouts.table import Table, as_days, as_option_types, plausible

COLUMNS = frozenset({"instrument_name", "bid_price", "ask_price", "underlying_price"})
INSTRUMENT = (
    r"^(?<root>[A-Z_]+)-(?<day>\d{1,2}[A-Z]{3}\d{2})-(?<strike>\d+(d\d+)?)-(?<letter>[CP])$"
)
SPOTS = ("index_price", "estimated_delivery_price")


def matches(columns: frozenset[str]) -> bool:
    """Return whether a file with these columns has this layout."""
    return columns >= COLUMNS


def read(table: Table, _given: Given) -> RawQuotes:
    """Return the quotes in currency; marks of the exchange are not quotes."""
    fields = table.text("instrument_name").str.extract_groups(INSTRUMENT).struct.unnest()
    level = table.number("underlying_price")
    unit = level.set(fields["root"].str.contains("_", literal=True).fill_null(False), 1.0)
    quotes = raw_frame(
        len(table),
        root=fields["root"],
        expiry=as_days(fields["day"]),
        option_type=as_option_types(fields["letter"]),
        strike=fields["strike"].str.replace("d", ".", literal=True).cast(pl.Float64, strict=False),
        bid=table.number("bid_price") * unit,
        ask=table.number("ask_price") * unit,
    )
    spots = next(
        (table.number(column).drop_nulls() for column in SPOTS if column in table), level[:0]
    )
    day = None
    if "creation_timestamp" in table:
        stamps = table.number("creation_timestamp").cast(pl.Int64, strict=False)
        days = plausible(stamps.cast(pl.Datetime("ms"), strict=False).dt.date())
        day = max(days.drop_nulls().unique().to_list(), default=None)
    return RawQuotes(quotes, day, spots[0] if spots.len() else None)
