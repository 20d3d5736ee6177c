"""A study: cells with a name each, whose records are kept in a file as they come."""

from collections.abc import Callable, Mapping
from pathlib import Path

from slisde.experiments.record import Record, append, read


def run_missing(
    results: Path,
    cells: Mapping[str, Callable[[], Record]],
    report: Callable[[str], None] = lambda _: None,
) -> None:
    """Run the cells that have no record yet; an interrupted study loses the cell it was at.

    Args:
        results: the file of records; each has the name of its `cell`.
        cells: what makes the record of each cell, by its name.
        report: told the name of a cell before it is run.
    """
    done = {record["cell"] for record in read(results)} if results.exists() else set()
    for name, run in cells.items():
        if name not in done:
            report(name)
            append(results, {"cell": name, **run()})
