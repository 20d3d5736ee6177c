"""The driver of a sweep: runs what has no record yet, and writes each record once and whole."""

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slisde.experiments.record import Record, append, mend, read
from slisde.experiments.sweep.events import Engine, Event, Finished, Lost
from slisde.experiments.sweep.grid import Cell, Sweep
from slisde.files import alone, writing


@dataclass
class State:
    """Where a sweep is.

    Attributes:
        sweep: what is to be done.
        records: what is done of it, by digest.
        failed: cells that were given up, and why.
        resumed: how many records were there at the start.
    """

    sweep: Sweep
    records: dict[str, Record]
    failed: dict[str, str] = field(default_factory=dict)
    resumed: int = 0

    @property
    def best(self) -> Record | None:
        """The record with the smallest population loss, on held-out targets where there are any."""
        scored = [record for record in self.records.values() if "metrics" in record]
        return min(scored, key=score, default=None)


def score(record: Record) -> float:
    """Return what cells are compared by, infinite where a fit has no finite loss."""
    population = record["metrics"]["population"]
    loss = population.get("held_out_debiased_loss", population["debiased_loss"])
    return loss if math.isfinite(loss) else math.inf


def run_sweep(sweep: Sweep, engine: Engine, out: Path) -> Generator[tuple[State, Event | None]]:
    """Run the missing cells; yields the state at the start and after every event.

    Args:
        sweep: the grid.
        engine: what runs the cells.
        out: file of the records; only one driver writes to it at a time.
    """
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    busy = f"another sweep is writing {out}: wait for it, or choose another --out."
    with alone(out.with_name(f".{out.name}.lock"), busy):
        known = {cell.digest for cell in sweep.cells}
        mend(out)
        found = read(out) if out.exists() else []
        records = {r["cell"]: r for r in found if r.get("cell") in known}
        state = State(sweep, records, resumed=len(records))
        yield state, None
        missing = [cell for cell in sweep.cells if cell.digest not in records]
        if not missing:
            return
        for event in engine.run(missing):
            if isinstance(event, Finished):
                record = _record(event.cell, event.result)
                append(out, record)
                state.records[event.cell.digest] = record
            elif isinstance(event, Lost) and event.final:
                state.failed[event.cell.name] = event.reason
            yield state, event


def _record(cell: Cell, result: dict[str, Any]) -> Record:
    tables = cell.config.model_dump()
    tables["problem"]["source"] = Path(tables["problem"]["source"]).name
    return {
        "cell": cell.digest,
        "row": cell.row,
        "varied": dict(cell.varied),
        "seed": cell.config.train.seed,
        "config": tables,
        **result,
    }
