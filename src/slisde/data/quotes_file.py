"""Cleaned quotes in a file, in the layout that `read_chain` reads back to the same chain."""

import io
from pathlib import Path

import polars as pl

from slisde.data.chain import Chain
from slisde.data.layouts.raw import GIVEN_SCHEMA
from slisde.errors import ArgumentError
from slisde.files import write_whole

ENDINGS = (".csv", ".parquet")


def check_destination(file: Path) -> None:
    """Raise, before anything is read, unless the file's ending says how to write it."""
    if file.suffix not in ENDINGS:
        reason = "it is the format"
        raise ArgumentError("to", str(file), f"must end in {' or '.join(ENDINGS)}", reason)
    if not file.absolute().parent.is_dir():
        raise ArgumentError("to", str(file), "must lie in an existing folder", "none is made")


def write_quotes(file: Path, chain: Chain) -> None:
    """Write the quotes with the quote date, and their slice's forward and discount, in each row."""
    check_destination(file)
    table = chain_table(chain)
    buffer = io.BytesIO()
    if file.suffix == ".parquet":
        table.write_parquet(buffer)
    else:
        table.write_csv(buffer)
    write_whole(file, buffer.getvalue())


def chain_table(chain: Chain) -> pl.DataFrame:
    """Return the chain in the canonical layout."""
    slices = pl.DataFrame(
        {name: [getattr(part, name) for part in chain.slices] for name in GIVEN_SCHEMA},
        schema=GIVEN_SCHEMA,
    ).with_columns(pl.col("forward_se", "discount_se").fill_nan(None))
    return chain.quotes.select(
        pl.lit(chain.quote_date.day).alias("quote_date"),
        pl.lit(chain.spot, dtype=pl.Float64).alias("spot"),
        pl.all(),
    ).join(slices, on=["root", "expiry"], how="left", maintain_order="left")
