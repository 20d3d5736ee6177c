"""What the paper's whole search would take, from the measured steps of `benchmarks/performance.py`."""

from collections.abc import Callable, Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.performance import families_at
from slisde.experiments.tables.table import Number, Table

SEARCH = {"slisde": ("SLiSDE", 576), "neural_sde": ("Neural SDE", 96), "slice": ("SLiCE", 72)}
"""Configurations of app:grids by family."""
SEEDS, STEPS = 7, 1000
SHAPE = (1024, 512)
DAY = 86_400.0
WORKERS = 64


def search(records: Sequence[Record]) -> Table:
    """Return machine-days of the search on one problem, every cell counted as the timed one."""
    timed = families_at(records, *SHAPE)
    rows = []
    total = 0.0
    for key, (name, configurations) in SEARCH.items():
        cells = configurations * SEEDS
        seconds = float("nan") if timed is None else timed[f"{key}_step_s"]
        days = cells * STEPS * seconds / DAY
        total += days
        rows.append(_row(name, configurations, cells, seconds, days))
    configurations = sum(count for _, count in SEARCH.values())
    rows.append(
        [
            "together",
            Number(float(configurations), ",.0f"),
            Number(float(configurations * SEEDS), ",.0f"),
            "",
            Number(total, ".0f"),
            Number(total / WORKERS, ".1f"),
        ]
    )
    heads = ["configurations", "cells", "s a step", "days on one machine", f"on {WORKERS}"]
    return Table("The paper's search", ["", *heads], rows)


def _row(name: str, configurations: int, cells: int, seconds: float, days: float) -> list:
    return [
        name,
        Number(float(configurations), ",.0f"),
        Number(float(cells), ",.0f"),
        Number(seconds, ".2f"),
        Number(days, ".0f"),
        Number(days / WORKERS, ".1f"),
    ]


PARTS: dict[str, Callable[[Sequence[Record]], Table]] = {"search-cost": search}
