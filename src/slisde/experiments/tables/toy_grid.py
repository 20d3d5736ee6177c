"""TOY's own diffusion on coarse grids, from the records of `benchmarks/toy_grid.py`."""

from collections.abc import Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.table import Cell, Number, Table

KINDS = {
    False: "maxima of 2,048 steps, as published",
    True: "maxima of the same time steps",
}
"""Whether the targets' maxima are observed as often as those of the simulated paths."""


def true_system(records: Sequence[Record]) -> Table:
    """Return what a perfect diffusion scores on each grid, by how often maxima are observed."""
    rows: list[list[Cell]] = []
    for steps in sorted({record["grid"] for record in records}):
        row: list[Cell] = [f"{steps:,} time steps"]
        for same in KINDS:
            found = [
                record
                for record in records
                if record["grid"] == steps and (record["monitoring"] is not None) == same
            ]
            row += _cells(found[0]) if found else ["", "", ""]
        rows.append(row)
    heads = [
        f"{kind}: {head}"
        for kind in KINDS.values()
        for head in ("population loss (10⁻⁴)", "maximum MAE (10⁻²)", "barrier MAE (10⁻²)")
    ]
    return Table(
        "TOY's own diffusion, scored as a model",
        ["", *heads],
        rows,
        [
            "The true system by Euler–Maruyama on fewer time steps than the 2,048 behind the targets, "
            f"{records[0]['paths']:,} paths. Between its steps it misses its highest points, so a model on a coarse grid "
            "has to be rougher than the truth to do better than the left columns. A study of our own."
            if records
            else "No cell has been run yet.",
        ],
    )


def _cells(record: Record) -> list[Cell]:
    mae = record["mae"]
    return [
        Number(record["debiased_loss"] / 1e-4, ".3f"),
        Number(mae["running_maximum"] / 1e-2, ".2f"),
        Number(mae["barrier"] / 1e-2, ".2f"),
    ]
