"""What a sweep shows while it runs: cells done, best so far, time left, and each running cell."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slisde.experiments.sweep.events import Event
    from slisde.experiments.sweep.grid import Cell, Sweep
    from slisde.experiments.sweep.run import State

Update = Callable[["State", "Event | None"], None]


@contextmanager
def sweep_view(sweep: "Sweep", *, forced: bool) -> Iterator[Update]:
    """Give what shows a sweep's state; cells that cannot be fitted are named in any case."""
    for cell in sweep.impossible:
        print(f"slisde: left out: {cell.name}: {cell.reason}", file=sys.stderr)
    if sys.stderr.isatty():
        with _bars(sweep) as update:
            yield update
    else:
        yield _lines(forced)


@contextmanager
def _bars(sweep: "Sweep") -> Iterator[Update]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        whole = bars.add_task("cells", total=len(sweep.cells), note="")
        running: dict[str, Any] = {}
        clock = _Clock()

        def update(state: "State", event: "Event | None") -> None:
            bars.update(whole, completed=len(state.records), note=_note(state, clock))
            if event is None:
                return
            _follow(bars, running, event)

        yield update


def _follow(bars: Any, running: dict[str, Any], event: "Event") -> None:
    """Let each running cell have a bar of its own."""
    from slisde.experiments.sweep.events import Finished, Lost, Stepped

    cell = event.cell
    if cell.digest not in running:
        steps = cell.config.train.steps
        running[cell.digest] = bars.add_task(cell.name, total=steps, note="starting")
    bar = running[cell.digest]
    if isinstance(event, Stepped):
        bars.update(bar, completed=event.step, note=f"loss {event.loss:.2e}")
    elif isinstance(event, Finished | Lost):
        bars.remove_task(running.pop(cell.digest))
        if isinstance(event, Lost):
            bars.console.print(_lost(event.cell, event.reason, event.final), markup=False)


def _lines(forced: bool) -> Update:
    """Return what prints a line per cell; a lost worker is worth a line in any case."""
    clock = _Clock()

    def update(state: "State", event: "Event | None") -> None:
        from slisde.experiments.sweep.events import Finished, Lost

        line = None
        if isinstance(event, Lost):
            line = _lost(event.cell, event.reason, event.final)
        elif forced and event is None:
            line = f"{len(state.records)} of {len(state.sweep.cells)} cells are done already"
        elif forced and isinstance(event, Finished):
            done = f"{len(state.records)} of {len(state.sweep.cells)}"
            line = f"{done}: {event.cell.name}{_outcome(event.result)}; {_note(state, clock)}"
        if line is not None:
            print(line, file=sys.stderr, flush=True)

    return update


class _Clock:
    """Guesses the time left from the cells that were finished since the start."""

    def __init__(self):
        self.begun = time.monotonic()

    def left(self, state: "State") -> str:
        fresh = len(state.records) - state.resumed
        if not fresh:
            return "…"
        missing = len(state.sweep.cells) - len(state.records) - len(state.failed)
        seconds = (time.monotonic() - self.begun) / fresh * missing
        return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _note(state: "State", clock: _Clock) -> str:
    from slisde.experiments.sweep.run import score

    best = state.best
    shown = "" if best is None else f"best {score(best):.2e} ({best['row']}), "
    return f"{shown}{clock.left(state)} left"


def _outcome(result: dict[str, Any]) -> str:
    if "error" in result:
        return f", {result['error']}"
    return f", loss {result['metrics']['population']['debiased_loss']:.2e}"


def _lost(cell: "Cell", reason: str, final: bool) -> str:
    return f"slisde: {cell.name}: {reason}; {'given up' if final else 'run anew'}"
