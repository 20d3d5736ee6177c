"""The progress of a fit: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slisde.calibration.fit import Progress

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def training_bar(steps: int, *, forced: bool) -> Iterator[Callable[["Progress"], None]]:
    """Give what shows step, loss, held-out loss and the seconds left, on stderr only."""
    if sys.stderr.isatty():
        with _bar(steps) as update:
            yield update
    elif forced:
        yield _lines(steps)
    else:
        yield lambda _: None


@contextmanager
def _bar(steps: int) -> Iterator[Callable[["Progress"], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]}  validation {task.fields[validation]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=steps, loss="…", validation="…")

        def update(progress: "Progress") -> None:
            bar.update(task, completed=progress.step, loss=f"{progress.loss:.2e}")
            if progress.validation is not None:
                bar.update(task, validation=f"{progress.validation.loss:.1e}")

        yield update


def _lines(steps: int) -> Callable[["Progress"], None]:
    begun = shown = time.monotonic()
    first: int | None = None
    validation = ""

    def update(progress: "Progress") -> None:
        nonlocal shown, first, validation
        first = progress.step - 1 if first is None else first
        if progress.validation is not None:
            validation = f", validation {progress.validation.loss:.1e}"
        now = time.monotonic()
        if now - shown < SECONDS_BETWEEN_LINES and progress.step < steps:
            return
        shown = now
        left = (now - begun) / (progress.step - first) * (steps - progress.step)
        print(
            f"step {progress.step} of {steps}, loss {progress.loss:.2e}{validation}, "
            f"{left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )

    return update
