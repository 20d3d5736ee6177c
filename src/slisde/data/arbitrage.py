"""Static arbitrage in mid prices, beyond the half-spreads of the quotes involved.

Each slice is one curve: its quotes out of the money, as calls c(k) in units of the forward with
k = K/F, a put being c − 1 + k. The curve falls, by no more than k rises; it is convex; and it rises
with maturity, where rates and dividends are known.
"""

from itertools import pairwise

import numpy as np
import polars as pl
from jaxtyping import Bool, Float

from slisde.data.chain import Arbitrage, Violation

SMALLEST = 1e-9
"""Excess, in forwards, that is no rounding error."""


def find_arbitrage(quotes: pl.DataFrame) -> list[Arbitrage]:
    """Return every violation, the largest first.

    Args:
        quotes: with root, expiry, option_type, strike, price, half, forward and discount.
    """
    unit = pl.col("discount") * pl.col("forward")
    k = pl.col("strike") / pl.col("forward")
    call = pl.col("option_type") == "call"
    curves = (
        quotes.filter((k >= 1.0) == call)
        .select(
            "root",
            "expiry",
            "strike",
            moneyness=k,
            call=pl.col("price") / unit + pl.when(call).then(0.0).otherwise(1.0 - k),
            half=pl.col("half") / unit,
        )
        .sort("root", "expiry", "strike")
    )
    found = [*_monotone(curves), *_convex(curves), *_calendar(curves)]
    return sorted(found, key=lambda each: -each.excess)


def _monotone(curves: pl.DataFrame) -> list[Arbitrage]:
    k, call, half = _columns(curves)
    rise = np.diff(call)
    excess = np.maximum(rise, -rise - np.diff(k)) - half[1:] - half[:-1]
    return _list(curves[1:], Violation.MONOTONE, np.where(_together(curves, 2), excess, 0.0))


def _convex(curves: pl.DataFrame) -> list[Arbitrage]:
    k, call, half = _columns(curves)
    together = _together(curves, 3)
    share = np.where(together, k[2:] - k[1:-1], 0.5) / np.where(together, k[2:] - k[:-2], 1.0)
    chord = share * call[:-2] + (1.0 - share) * call[2:]
    width = share * half[:-2] + half[1:-1] + (1.0 - share) * half[2:]
    excess = np.where(together, call[1:-1] - chord - width, 0.0)
    return _list(curves[1:-1], Violation.CONVEX, excess)


def _calendar(curves: pl.DataFrame) -> list[Arbitrage]:
    """Compare each slice with the next one, whose chords lie above its curve."""
    slices = curves.partition_by("root", "expiry", maintain_order=True)
    found = []
    for early, late in pairwise(slices):
        if early["root"][0] != late["root"][0]:
            continue
        (k, call, half), (later_k, later_call, later_half) = _columns(early), _columns(late)
        inside = (k >= later_k[0]) & (k <= later_k[-1])
        excess = call - half - np.interp(k, later_k, later_call + later_half)
        found += _list(early, Violation.CALENDAR, np.where(inside, excess, 0.0))
    return found


def _columns(curves: pl.DataFrame) -> tuple[Float[np.ndarray, " row"], ...]:
    return tuple(curves[name].to_numpy() for name in ("moneyness", "call", "half"))


def _together(curves: pl.DataFrame, count: int) -> Bool[np.ndarray, " run"]:
    """Return whether `count` rows, from each on, are of one slice."""
    label = curves.select(pl.struct("root", "expiry").rle_id()).to_series().to_numpy()
    return label[: max(len(label) - count + 1, 0)] == label[count - 1 :]


def _list(
    rows: pl.DataFrame, kind: Violation, excess: Float[np.ndarray, " row"]
) -> list[Arbitrage]:
    hits = np.flatnonzero(excess > SMALLEST)
    places = rows.select("root", "expiry", "strike")[hits].iter_rows()
    return [
        Arbitrage(kind, root, expiry, strike, size)
        for (root, expiry, strike), size in zip(places, excess[hits].tolist(), strict=True)
    ]
