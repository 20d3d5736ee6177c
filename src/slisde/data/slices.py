"""Forward and discount of every expiry of every root."""

from datetime import date

import numpy as np
import polars as pl
from jaxtyping import Float

from slisde.data.chain import DAYS_PER_YEAR
from slisde.data.cleaning import usable
from slisde.data.layouts.raw import GIVEN_SCHEMA, Given
from slisde.data.parity import Lines, Pairs, fit_lines

KEY = ["root", "expiry"]
FEW_PAIRS, LARGE_ERROR = 5, 1e-3
"""A discount from fewer pairs, or with a larger standard error, is taken from the other expiries."""


def pairs_of(quotes: pl.DataFrame, slices: pl.DataFrame) -> Pairs:
    """Return the strikes with a usable call and put, slices numbered as in the frame."""
    numbered = usable(quotes).join(slices.select(KEY).with_row_index("slice"), on=KEY)
    sides = [
        numbered.filter(pl.col("option_type") == side).select("slice", "strike", "price", "half")
        for side in ("call", "put")
    ]
    both = sides[0].join(sides[1], on=["slice", "strike"], suffix="_put").sort("slice", "strike")
    return Pairs(
        both["slice"].cast(pl.Int64).to_numpy(),
        both["strike"].to_numpy(),
        (both["price"] - both["price_put"]).to_numpy(),
        (both["half"] + both["half_put"]).to_numpy(),
    )


def find_slices(quotes: pl.DataFrame) -> pl.DataFrame:
    """Return forwards and discounts by parity, `GIVEN_SCHEMA`, NaN where there are too few pairs."""
    slices = usable(quotes).select(KEY).unique().sort(KEY)
    return _with_lines(slices, fit_lines(pairs_of(quotes, slices), slices.height))


def settle_slices(
    quotes: pl.DataFrame, found: pl.DataFrame, day: date, given: Given, stated: pl.DataFrame | None
) -> tuple[pl.DataFrame, list[str]]:
    """Return the slices after the quote date with what is known otherwise, and what to know of it.

    A slice that the file states is taken as it is. Discounts are those of given rates; poor ones
    are borrowed from the zero rates of the root's other expiries. Both leave the forward to parity,
    or, where no call and put pair, to spot/discount.

    Args:
        quotes: judged rows.
        found: slices by parity alone.
        day: the quote date.
        given: what the caller knows.
        stated: slices of the file, `GIVEN_SCHEMA`.
    """
    stated = pl.DataFrame(schema=GIVEN_SCHEMA) if stated is None else stated
    found = found.filter(pl.col("expiry") > day)
    slices, notes = found.join(stated, on=KEY, how="anti"), []
    if slices.height:
        slices, notes = _settle(quotes, slices, day, given)
    taken = stated.join(found, on=KEY, how="semi")
    every = pl.concat([each.select(GIVEN_SCHEMA.keys()) for each in (slices, taken)])
    return every.sort(KEY), notes


def _settle(
    quotes: pl.DataFrame, slices: pl.DataFrame, day: date, given: Given
) -> tuple[pl.DataFrame, list[str]]:
    days = (pl.col("expiry") - pl.lit(day)).dt.total_days()
    slices = slices.with_columns(years=days / DAYS_PER_YEAR)
    if given.rates is None:
        rate = _borrowed_rates(slices)
    else:
        rates = given.zero_rates(slices["expiry"].unique().sort().to_list())
        rate = np.array([rates.get(expiry, np.nan) for expiry in slices["expiry"]], dtype=float)
    known = pl.Series(np.exp(-rate * slices["years"].to_numpy()))
    if not known.is_finite().any():
        return slices, []
    lines = fit_lines(pairs_of(quotes, slices), slices.height, known.to_numpy())
    slices = _with_lines(slices, lines)
    paired = slices["forward"].is_not_nan()
    if given.rates is None:
        note = "calls and puts do not tell the discount well, it is that of other expiries"
        return slices, _note(note, slices.filter(known.is_finite() & paired))
    if given.spot is None:
        return slices, []
    lone = known.is_finite() & ~paired
    note = "no calls and puts to pair, the forward is spot/discount, without dividends"
    notes = _note(note, slices.filter(lone))
    slices = slices.with_columns(
        forward=pl.when(lone).then(given.spot / known).otherwise("forward"),
        discount=pl.when(lone).then(known).otherwise("discount"),
    )
    return slices, notes


def _borrowed_rates(slices: pl.DataFrame) -> Float[np.ndarray, " slice"]:
    """Return zero rates for the slices with poor discounts, NaN for the others."""
    poor = (
        pl.col("discount").is_nan()
        | (pl.col("pairs") < FEW_PAIRS)
        | ~(pl.col("discount_se") <= LARGE_ERROR)
    )
    rates = np.full(slices.height, np.nan)
    for root in slices.with_row_index("index").with_columns(poor=poor).partition_by("root"):
        good, weak = root.filter(~pl.col("poor")), root.filter("poor")
        if good.height and weak.height:
            zero = (-good["discount"].log() / good["years"]).to_numpy()
            rates[weak["index"].to_numpy()] = np.interp(
                weak["years"].to_numpy(), good["years"].to_numpy(), zero
            )
    return rates


def _note(what: str, slices: pl.DataFrame) -> list[str]:
    names = ", ".join(f"{root} {expiry}" for root, expiry in slices.select(KEY).iter_rows())
    return [f"{what}: {names}."] if names else []


def _with_lines(slices: pl.DataFrame, lines: Lines) -> pl.DataFrame:
    columns = {name: pl.Series(column) for name, column in lines._asdict().items()}
    return slices.select(KEY).with_columns(**columns).cast(GIVEN_SCHEMA)
