"""Which layout a file has, by its columns."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from slisde.data.layouts import canonical, cboe, deribit, eurex, lseg, vols, yahoo
from slisde.data.layouts.raw import Given, RawQuotes
from slisde.data.layouts.table import Table, read_table
from slisde.errors import ProblemError


class Layout(NamedTuple):
    """How a layout is known and read."""

    matches: Callable[[frozenset[str]], bool]
    read: Callable[[Table, Given], RawQuotes]


# The plainest comes last: its columns may stand in the others too.
LAYOUTS = {
    name: Layout(module.matches, module.read)
    for name, module in {
        "yfinance": yahoo,
        "cboe": cboe,
        "lseg": lseg,
        "eurex": eurex,
        "deribit": deribit,
        "vols": vols,
        "canonical": canonical,
    }.items()
}


def layout_of(columns: frozenset[str]) -> str | None:
    """Return the name of the layout that has these columns."""
    return next((name for name, layout in LAYOUTS.items() if layout.matches(columns)), None)


def read_raw(path: Path, given: Given) -> tuple[str, RawQuotes]:
    """Return the name of a file's layout, and its quotes."""
    table = read_table(path, layout_of)
    try:
        raw = LAYOUTS[table.layout].read(table, given)
    except pl.exceptions.PolarsError as error:
        # A Parquet column may be of any type, and a list is no number.
        reason = " ".join(str(error).split("\n", 1)[0].split())
        raise ProblemError(f"{path}: a column has no such values: {reason}.") from None
    if table.comma_decimal:
        raw = replace(raw, warnings=(*raw.warnings, "the numbers were read with decimal commas."))
    return table.layout, raw
