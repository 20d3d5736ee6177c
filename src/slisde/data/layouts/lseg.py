"""Exports of LSEG (Refinitiv) terminals: a RIC per row, settlement or closing prices."""

from slisde.data.layouts.raw import Given, RawQuotes, raw_frame
from slisde.data.layouts.table import Table

COLUMNS = frozenset({"instrument", "putcallind", "expir_date", "strike_prc"})
BIDS, ASKS = ("cf_bid", "bid"), ("cf_ask", "ask")
PRICES = ("cf_close", "settle", "cf_last")
EXCHANGE_NAMES = {"GDAX": "ODAX"}
"""What the exchange calls the product of a RIC's root."""


def matches(columns: frozenset[str]) -> bool:
    """Return whether a file with these columns has this layout."""
    return columns >= COLUMNS and not columns.isdisjoint(PRICES + BIDS)


def read(table: Table, _given: Given) -> RawQuotes:
    """Return the quotes; the file does not say of which day."""
    root = table.text("instrument").str.extract(r"^/?([A-Z.]+)\d").replace(EXCHANGE_NAMES)
    numbers = {
        name: next((table.number(column) for column in columns if column in table), None)
        for name, columns in {"bid": BIDS, "ask": ASKS, "price": PRICES}.items()
    }
    quotes = raw_frame(
        len(table),
        root=root,
        expiry=table.day("expir_date"),
        option_type=table.option_type("putcallind"),
        strike=table.number("strike_prc"),
        **numbers,
    )
    return RawQuotes(quotes)
