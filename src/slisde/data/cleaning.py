"""Which rows of a file are quotes, and why the others are not."""

from enum import StrEnum

import numpy as np
import polars as pl

FINEST_DECIMAL = 6
ROUNDING = 1e-9
"""Half-spread of a price with more decimals, relative to the largest price."""


class Reason(StrEnum):
    """Why a row was dropped; a layout may have reasons of its own."""

    UNREADABLE = "unreadable contract"
    NO_STRIKE = "no strike"
    STRIKE = "strike not positive"
    NEGATIVE = "negative price"
    NO_PRICE = "no price"
    NO_BID = "no bid"
    NO_ASK = "no ask"
    CROSSED = "crossed"
    DUPLICATE = "duplicate"
    EXPIRED = "expired"
    NO_FORWARD = "no forward"
    STALE = "stale"
    TOO_DEAR = "above its bound"


def judge_rows(quotes: pl.DataFrame) -> pl.DataFrame:
    """Add the mid, the half-spread and the reason, null for a row that can be used.

    A row is judged by its bid and ask where it has either, else by its price; the half-spread of
    a lone price is half of its last decimal. Of duplicates the first stays.
    """
    bid, ask, price = pl.col("bid"), pl.col("ask"), pl.col("price")
    two_sided = bid.is_not_null() | ask.is_not_null()
    absent = pl.when(two_sided).then(bid.fill_null(0) + ask.fill_null(0) <= 0)
    negative = (
        (bid.fill_null(0) < 0) | (ask.fill_null(0) < 0) | (price.fill_null(0) < 0) & ~two_sided
    )
    faults = {
        Reason.UNREADABLE: pl.any_horizontal(pl.col("root", "expiry", "option_type").is_null()),
        Reason.NO_STRIKE: pl.col("strike").is_null(),
        Reason.STRIKE: pl.col("strike") <= 0,
        Reason.NEGATIVE: negative,
        Reason.NO_PRICE: absent.otherwise(price.fill_null(0) <= 0),
        Reason.NO_BID: two_sided & (bid.fill_null(0) <= 0),
        Reason.NO_ASK: two_sided & (ask.fill_null(0) <= 0),
        Reason.CROSSED: bid > ask,
    }
    first = [pl.when(fault).then(pl.lit(str(reason))) for reason, fault in faults.items()]
    judged = quotes.with_columns(
        reason=pl.coalesce("defect", *first),
        price=pl.when(two_sided).then((bid + ask) / 2).otherwise(price),
        half=pl.when(two_sided).then((ask - bid) / 2),
    ).drop("defect")
    lone = judged.filter(pl.col("reason").is_null() & pl.col("half").is_null())["price"]
    judged = judged.with_columns(pl.col("half").fill_null(_half_decimal(lone.to_numpy())))
    again = ~pl.struct("root", "expiry", "option_type", "strike", "reason").is_first_distinct()
    return drop(judged, again, Reason.DUPLICATE)


def drop(quotes: pl.DataFrame, fault: pl.Expr, reason: Reason) -> pl.DataFrame:
    """Give the reason to the rows that have the fault and were usable."""
    hit = pl.col("reason").is_null() & fault.fill_null(False)
    return quotes.with_columns(
        reason=pl.when(hit).then(pl.lit(str(reason))).otherwise(pl.col("reason"))
    )


def usable(quotes: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without a reason against them."""
    return quotes.filter(pl.col("reason").is_null())


def differing_duplicates(quotes: pl.DataFrame) -> int:
    """Return how many duplicates have another price than the row that stays."""
    key = ["root", "expiry", "option_type", "strike"]
    again = quotes.filter(pl.col("reason") == Reason.DUPLICATE)
    both = again.join(usable(quotes), on=key, suffix="_kept")
    return both.filter(pl.col("price") != pl.col("price_kept")).height


def _half_decimal(prices: np.ndarray) -> float:
    """Return half a unit of the last decimal of the prices, or what a long division leaves of it."""
    for decimals in range(FINEST_DECIMAL + 1):
        scaled = prices * 10.0**decimals
        if np.all(abs(scaled - np.round(scaled)) < 1e-6 * np.maximum(1.0, 1e-6 * abs(scaled))):
            return 0.5 * 10.0**-decimals
    return ROUNDING * float(prices.max())
