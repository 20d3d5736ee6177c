"""Options out of the money that nobody quotes, made from those in the money by parity."""

import polars as pl

from slisde.data.arbitrage import find_arbitrage
from slisde.data.chain import Violation
from slisde.data.cleaning import Reason, usable

ERRORS = 2.0
"""Standard errors of the forward that a made price has to exceed."""
STRIKE = ["root", "expiry", "strike"]


def complete(quotes: pl.DataFrame) -> pl.DataFrame:
    """Return the usable quotes and those that were missing, by their `origin`.

    A quote is made, with the spread of the one it is made from, where it is above zero by more
    than its half-spread and the forward's error, fits convexly between its neighbours, and the file
    does not say itself that nobody bids.

    Args:
        quotes: judged by parity, so with `forward`, `discount` and `intrinsic`.
    """
    quoted = usable(quotes).with_columns(origin=pl.lit("quoted"))
    shift = pl.col("intrinsic")
    error = ERRORS * pl.col("discount") * pl.col("forward_se").fill_nan(0.0).fill_null(0.0)
    call = pl.col("option_type") == "call"
    refused = quotes.filter(pl.col("reason").is_null() | (pl.col("reason") == Reason.NO_BID))
    made = (
        quoted.filter((shift > 0) & (pl.col("price") - pl.col("half") - shift > error))
        .with_columns(
            pl.col("price", "bid", "ask") - shift,
            option_type=pl.when(call).then(pl.lit("put")).otherwise(pl.lit("call")),
            intrinsic=pl.lit(0.0),
            origin=pl.lit("parity"),
        )
        .join(refused, on=[*STRIKE, "option_type"], how="anti")
    )
    while made.height:
        every = pl.concat([quoted, made])
        fitting = made.join(_above_their_chords(every), on=STRIKE, how="anti")
        if fitting.height == made.height:
            return every
        made = fitting
    return quoted


def _above_their_chords(quotes: pl.DataFrame) -> pl.DataFrame:
    found = [
        (each.root, each.expiry, each.strike)
        for each in find_arbitrage(quotes)
        if each.kind is Violation.CONVEX
    ]
    schema = {"root": pl.String, "expiry": pl.Date, "strike": pl.Float64}
    return pl.DataFrame(found, schema=schema, orient="row")
