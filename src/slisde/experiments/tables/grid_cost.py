"""What the paper's whole search would take, from the measured steps of `benchmarks/performance.py`."""

import math
from collections.abc import Callable, Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.performance import families_at
from slisde.experiments.tables.table import Cell, Number, Table

SEARCH = {"slisde": ("SLiSDE", 576), "neural_sde": ("Neural SDE", 96), "slice": ("SLiCE", 72)}
"""Configurations of app:grids by family."""
SEEDS, STEPS = 7, 1000
SHAPE = (1024, 512)
DAY = 86_400.0
WORKERS = 64


def search(records: Sequence[Record]) -> Table:
    """Return machine-days of the search on one problem, every cell counted as the timed one."""
    timed = families_at(records, *SHAPE)
    rows, days = [], []
    for key, (name, configurations) in SEARCH.items():
        seconds = None if timed is None else timed[f"{key}_step_s"]
        days.append(configurations * SEEDS * STEPS * (seconds or math.nan) / DAY)
        rows.append(_row(name, configurations, seconds, days[-1]))
    rows.append(_row("together", sum(count for _, count in SEARCH.values()), None, sum(days)))
    heads = ["configurations", "cells", "s a step", "days on one machine", f"on {WORKERS}"]
    return Table("The paper's search", ["", *heads], rows)


def _row(name: str, configurations: int, seconds: float | None, days: float) -> list[Cell]:
    return [
        name,
        Number(float(configurations), ",.0f"),
        Number(float(configurations * SEEDS), ",.0f"),
        "" if seconds is None else Number(seconds, ".2f"),
        Number(days, ".0f"),
        Number(days / WORKERS, ".1f"),
    ]


PARTS: dict[str, Callable[[Sequence[Record]], Table]] = {"search-cost": search}
