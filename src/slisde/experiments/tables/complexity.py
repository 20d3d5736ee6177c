"""Fitted exponents of a layer's cost, from the records of `benchmarks/complexity.py`."""

from collections.abc import Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.choice import matching
from slisde.experiments.tables.performance import exponent
from slisde.experiments.tables.table import NOT_RUN, Cell, Number, Table

# axis: its label, the size that varies, and the paper's exponents of recurrent and scan arithmetic
AXES = {
    "steps, block-diagonal": ("in T, blocks of 8", "steps", 1.0, 1.0),
    "latent, diagonal": ("in d, diagonal", "latent", 1.0, 1.0),
    "latent, blocks of 8": ("in d, blocks of 8", "latent", 1.0, 1.0),
    "latent, dense": ("in d, dense", "latent", 2.0, 3.0),
    "block, width 64": ("in the block size, d = 64", "block", 1.0, 2.0),
}


def exponents(records: Sequence[Record]) -> Table:
    """Return fitted exponents beside those of tab:matrix-complexities."""
    rows: list[list[Cell]] = []
    for axis, (label, size, recurrent, scan) in AXES.items():
        row: list[Cell] = [label, Number(recurrent, ".0f")]
        row += [_fitted(records, axis, each, size) for each in ("native", "sequential")]
        rows.append([*row, Number(scan, ".0f"), _fitted(records, axis, "associative", size)])
    return Table(
        "Exponents of the cost of a layer",
        [
            "",
            "recurrent, paper",
            "native engine",
            "recurrence in JAX",
            "scan, paper",
            "associative scan",
        ],
        rows,
        [
            "Least-squares slopes of log seconds on log size, a forward pass of one layer with four noise "
            "channels on two cores, 256 paths in the recurrences and 16 in the scan. Calls are of milliseconds, so "
            "that full vectors, caches and freshly touched memory count as much as arithmetic; whole training "
            "steps, whose exponents are in docs/performance.md, are linear in N.",
            "Paper: tab:matrix-complexities; arithmetic of all T steps. Its O(log T) of the scan is the depth with "
            "a processor for every step; the scan's arithmetic is O(T).",
        ],
    )


def _fitted(records: Sequence[Record], axis: str, evaluation: str, size: str) -> Cell:
    points = [
        (record[size], record["seconds"])
        for record in matching(records, axis=axis, evaluation=evaluation)
    ]
    return Number(exponent(points), ".2f") if len(points) > 1 else NOT_RUN
