"""What a sweep comes to: its cells before it runs, and the rows of its records, the best first."""

import math
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from slisde.experiments.cost import model_cost
from slisde.experiments.record import Record
from slisde.experiments.sweep.grid import Sweep
from slisde.experiments.sweep.run import State, score


@dataclass(frozen=True)
class Row:
    """A configuration over its seeds.

    Attributes:
        name: its row and what is varied in it.
        seeds: how many of its cells have a record.
        failed: how many of those failed to train, or have no finite loss.
        loss: mean population loss of the others, infinite where there are none.
        error: its standard error, where there are several.
        seconds_per_step: mean of theirs, None where there are none.
    """

    name: str
    seeds: int
    failed: int
    loss: float
    error: float | None
    seconds_per_step: float | None


def rows_of(state: State) -> list[Row]:
    """Return every configuration that has records, the smallest loss first."""
    groups: dict[str, list[Record]] = {}
    for cell in state.sweep.cells:
        if cell.digest in state.records:
            groups.setdefault(cell.configuration, []).append(state.records[cell.digest])
    return sorted((_row(*group) for group in groups.items()), key=lambda row: row.loss)


def _row(name: str, records: list[Record]) -> Row:
    fitted = [each for each in records if "metrics" in each and math.isfinite(score(each))]
    losses = [score(record) for record in fitted]
    return Row(
        name,
        len(records),
        len(records) - len(fitted),
        fmean(losses) if losses else math.inf,
        stdev(losses) / len(losses) ** 0.5 if len(losses) > 1 else None,
        fmean(record["seconds_per_step"] for record in fitted) if fitted else None,
    )


def plan_of(sweep: Sweep) -> dict[str, Any]:
    """Return the cells with their size and arithmetic, and what cannot be fitted."""
    cells = []
    for cell in sweep.cells:
        cost = model_cost(cell.config)
        kept = {key: cost[key] for key in ("parameters", "shape", "gflop_per_step")}
        cells.append({"cell": cell.name, "steps": cell.config.train.steps, **kept})
    return {"cells": cells, "impossible": [vars(each) for each in sweep.impossible]}


def summary_of(state: State) -> dict[str, Any]:
    """Return how far a sweep is, its best record and its rows."""
    best = state.best
    chosen = None
    if best is not None:
        chosen = {key: best[key] for key in ("row", "varied", "seed")}
        chosen["debiased_loss"] = score(best)
    return {
        "cells": len(state.sweep.cells),
        "done": len(state.records),
        "found": state.resumed,
        "impossible": [vars(each) for each in state.sweep.impossible],
        "failed": state.failed,
        "best": chosen,
        "rows": [vars(row) for row in rows_of(state)],
    }
