"""Cells in child processes of this machine, each with its share of the cores."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from slisde.experiments.sweep.events import ATTEMPTS, Event, Finished, Lost, Started, Stepped
from slisde.experiments.sweep.grid import Cell
from slisde.experiments.sweep.task import payload_of

MODULE = "slisde.experiments.sweep.child"


class LocalEngine:
    """Child processes, as many at a time as there are workers.

    A fit uses its cores in turns with waiting, so several workers with a share of the cores each get
    more done than one with all of them, as long as the memory suffices.

    Args:
        workers: how many.
        module: what a child runs.
    """

    def __init__(self, workers: int = 1, *, module: str = MODULE):
        self.workers, self.module = workers, module
        self._children: set[subprocess.Popen] = set()
        self._stopping = threading.Event()

    def run(self, cells: list[Cell]) -> Iterator[Event]:
        """Yield what happens; children end with this iterator."""
        events: queue.Queue[Event] = queue.Queue()
        slots: queue.Queue[Sequence[int]] = queue.Queue()
        for cores in shares(usable_cores(), self.workers):
            slots.put(cores)
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                for cell in cells:
                    pool.submit(self._attend, cell, slots, events)
                left = len(cells)
                while left:
                    event = events.get()
                    left -= isinstance(event, Finished) or (isinstance(event, Lost) and event.final)
                    yield event
            finally:
                self._stop(pool)

    def _attend(self, cell: Cell, slots: queue.Queue, events: queue.Queue[Event]) -> None:
        """Run a cell in children until one of them brings a result."""
        cores = slots.get()
        try:
            for attempt in range(1, ATTEMPTS + 1):
                if self._stopping.is_set():
                    return
                events.put(Started(cell))
                result, reason = self._child(cell, cores, events)
                if result is not None:
                    events.put(Finished(cell, result))
                    return
                events.put(Lost(cell, reason, attempt == ATTEMPTS))
        except Exception as error:  # the driver waits for an event of every cell
            events.put(Lost(cell, f"{type(error).__name__}: {error}", final=True))
        finally:
            slots.put(cores)

    def _child(
        self, cell: Cell, cores: Sequence[int], events: queue.Queue[Event]
    ) -> tuple[dict[str, Any] | None, str]:
        """Return the result of one child, or why there is none."""
        child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", self.module, ",".join(map(str, cores))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._children.add(child)
        result = None
        try:
            said: list[str] = []
            listener = threading.Thread(target=lambda: said.extend(child.stderr or ()), daemon=True)
            listener.start()
            if child.stdin is not None:
                payload = payload_of(cell.config.model_dump(), cell.problem)
                child.stdin.write(json.dumps(payload) + "\n")
                child.stdin.flush()  # and left open: a child ends when it is closed
            for line in child.stdout or ():
                message = json.loads(line)
                if "result" in message:
                    result = message["result"]
                else:
                    events.put(Stepped(cell, message["step"], message["loss"]))
            code = child.wait()
            listener.join()
        except (
            BrokenPipeError,
            json.JSONDecodeError,
        ):  # it died while it was spoken to, or speaking
            code = child.wait()
            said = []
        finally:
            if child.stdin is not None:
                with suppress(BrokenPipeError):
                    child.stdin.close()
            self._children.discard(child)
        return result, _ending(code, said)

    def _stop(self, pool: ThreadPoolExecutor) -> None:
        self._stopping.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for child in list(self._children):
            child.kill()


def usable_cores() -> list[int]:
    """Return the cores that this process may use; not every system tells them apart."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def shares(cores: Sequence[int], workers: int) -> list[Sequence[int]]:
    """Return the cores of each worker: equal shares, or one core for several workers.

    >>> shares([0, 1, 2, 3], 2), shares([0, 1], 3)
    ([[0, 1], [2, 3]], [[0], [1], [0]])
    """
    size = max(1, len(cores) // workers)
    starts = [(index * size) % len(cores) for index in range(workers)]
    return [list(cores[start : start + size]) for start in starts]


def _ending(code: int, said: Sequence[str]) -> str:
    if code < 0:
        return f"its process was killed by signal {-code}"
    return f"its process ended with code {code}: {said[-1].strip() if said else 'no message'}"
