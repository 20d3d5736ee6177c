"""Quotes in the money that contradict the forward and the quotes out of the money."""

import polars as pl

from slisde.data.cleaning import Reason, drop, usable
from slisde.data.parity import NORMAL_MEDIAN

ALLOWED = 2.0
"""Half-spreads, of each of two quotes, by which they may disagree."""


def judge_by_parity(quotes: pl.DataFrame, slices: pl.DataFrame) -> pl.DataFrame:
    """Drop what has no forward or contradicts it.

    A quote in the money, less its intrinsic value, is one of the option out of the money at the
    same strike. It is stale if that differs by more than the spreads from the quote which is there
    or, if none is there, lies outside of the two next to it. A lone price has as half-spread the
    scatter of its slice around parity, if that is more than half a decimal; the scatter is that of
    what stays, so that clean quotes judged again are all kept.

    Args:
        quotes: judged rows.
        slices: forwards and discounts; they are added to the quotes, with `intrinsic`, which is
            D (F − K)₊ of a call and D (K − F)₊ of a put.
    """
    known = slices.filter(pl.col("forward").is_not_nan()).select(
        "root", "expiry", "forward", "discount", "forward_se"
    )
    quotes = quotes.join(known, on=["root", "expiry"], how="left", maintain_order="left")
    call = pl.col("option_type") == "call"
    carry = pl.col("discount") * (pl.col("forward") - pl.col("strike"))
    bound = pl.col("discount") * pl.when(call).then("forward").otherwise("strike")
    quotes = quotes.with_columns(
        intrinsic=pl.max_horizontal(pl.when(call).then(carry).otherwise(-carry), 0.0)
    )
    quotes = drop(quotes, pl.col("forward").is_null(), Reason.NO_FORWARD)
    quotes = drop(quotes, pl.col("price") - pl.col("half") > bound, Reason.TOO_DEAR)
    if usable(quotes)["bid"].null_count() == 0:
        return _drop_stale(quotes)
    while True:
        judged = _drop_stale(_widen(quotes))
        if judged["reason"].null_count() == quotes["reason"].null_count():
            return judged
        quotes = quotes.with_columns(judged["reason"])


def _drop_stale(quotes: pl.DataFrame) -> pl.DataFrame:
    strike = ["root", "expiry", "strike"]
    quotes = quotes.join(_brackets(quotes), on=strike, how="left", maintain_order="left")
    value, slack = pl.col("price") - pl.col("intrinsic"), ALLOWED * pl.col("half")
    outside = (value + slack < pl.col("low")) | (value - slack > pl.col("high"))
    return drop(quotes, (pl.col("intrinsic") > 0) & outside, Reason.STALE).drop("low", "high")


def _widen(quotes: pl.DataFrame) -> pl.DataFrame:
    """Return the quotes with the scatter around parity as half-spread of lone prices."""
    lone = usable(quotes).filter(pl.col("bid").is_null())
    calls, puts = (lone.filter(pl.col("option_type") == side) for side in ("call", "put"))
    carry = pl.col("discount") * (pl.col("forward") - pl.col("strike"))
    miss = (pl.col("price") - pl.col("price_put") - carry).abs()
    scatter = (
        calls.join(puts, on=["root", "expiry", "strike"], suffix="_put")
        .group_by("root", "expiry")
        .agg(scatter=miss.median() / NORMAL_MEDIAN)
    )
    quotes = quotes.join(scatter, on=["root", "expiry"], how="left", maintain_order="left")
    wider = pl.max_horizontal("half", "scatter")
    return quotes.with_columns(
        half=pl.when(pl.col("bid").is_null()).then(wider).otherwise("half")
    ).drop("scatter")


def _brackets(quotes: pl.DataFrame) -> pl.DataFrame:
    """Return between which prices the option out of the money has to be at each strike."""
    out = pl.col("intrinsic") <= 0
    slack = ALLOWED * pl.col("half")
    strikes = (
        usable(quotes)
        .group_by("root", "expiry", "strike")
        .agg(
            low=(pl.col("price") - slack).filter(out).first(),
            high=(pl.col("price") + slack).filter(out).first(),
            is_put=(pl.col("strike") < pl.col("forward")).first(),
        )
        .sort("root", "expiry", "strike")
    )
    side = ["root", "expiry", "is_put"]
    # Prices fall away from the forward: puts to lower strikes, calls to higher ones.
    left, right = (
        {name: pl.col(name).fill_null(strategy=strategy).over(side) for name in ("low", "high")}
        for strategy in ("forward", "backward")
    )
    return strikes.select(
        "root",
        "expiry",
        "strike",
        low=pl.when("is_put").then(left["low"]).otherwise(right["low"]).fill_null(0.0),
        high=pl.when("is_put").then(right["high"]).otherwise(left["high"]),
    )
