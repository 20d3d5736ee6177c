"""Cells on a Dask cluster, of this machine or at an address."""

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from slisde.errors import EngineError
from slisde.experiments.sweep.events import ATTEMPTS, Event, Finished, Lost, Started, Stepped
from slisde.experiments.sweep.grid import Cell
from slisde.experiments.sweep.task import payload_of, run_payload

TOPIC = "slisde-sweep"
SECONDS_TO_CONNECT = 5.0
SECONDS_BETWEEN_MESSAGES = 1.0

Task = Callable[[str, dict[str, Any]], dict[str, Any]]


class DaskEngine:
    """Tasks of a Dask cluster; a task whose worker dies is given to another one by the scheduler.

    Args:
        workers: processes of a cluster of this machine, which listens on loopback only.
        scheduler: address of a running cluster instead, as in `tcp://10.0.0.1:8786`.
        task: what a worker runs.
    """

    def __init__(self, workers: int = 1, scheduler: str | None = None, *, task: Task | None = None):
        self.workers, self.scheduler = workers, scheduler
        self.task = run_task if task is None else task

    def run(self, cells: list[Cell]) -> Iterator[Event]:
        """Yield what happens; a cluster that was started here ends with this iterator."""
        by_digest = {cell.digest: cell for cell in cells}
        events: queue.Queue[Event] = queue.Queue()

        def heard(message: tuple[float, dict[str, Any]]) -> None:
            said = message[1]
            cell = by_digest.get(said["cell"])
            if cell is None:
                return  # of another sweep on the same cluster
            step = said["step"]
            events.put(Stepped(cell, step, said["loss"]) if step else Started(cell))

        with ExitStack() as stack:
            client = self._client(stack)
            client.subscribe_topic(TOPIC, heard)
            futures = []
            for cell in cells:
                payload = payload_of(cell.config.model_dump(), cell.problem)
                future = client.submit(
                    self.task,
                    cell.digest,
                    payload,
                    key=f"slisde-{cell.digest}",
                    retries=ATTEMPTS - 1,
                )
                future.add_done_callback(lambda done, cell=cell: events.put(_outcome(cell, done)))
                futures.append(future)
            stack.callback(lambda: client.cancel(futures))
            left = set(by_digest)
            while left:
                event = events.get()
                if event.cell.digest not in left:
                    continue  # a late message, or a second copy of a result
                if isinstance(event, Finished | Lost):
                    left.remove(event.cell.digest)
                yield event

    def _client(self, stack: ExitStack) -> Any:
        distributed = _distributed()
        if self.scheduler is None:
            cluster = distributed.LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            )
            stack.enter_context(cluster)
            return stack.enter_context(distributed.Client(cluster))
        try:
            client = distributed.Client(self.scheduler, timeout=SECONDS_TO_CONNECT)
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(
                f"no Dask scheduler answers at {self.scheduler} within {SECONDS_TO_CONNECT:g} s "
                f"({type(error).__name__}): start one by `dask scheduler`, or check the address."
            ) from None
        return stack.enter_context(client)


def run_task(digest: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Run a cell in a worker, which tells the driver now and then how far it is."""
    worker = _distributed().get_worker()
    shown = 0.0

    def report(step: int, loss: float) -> None:
        nonlocal shown
        if step == 0 or time.monotonic() - shown >= SECONDS_BETWEEN_MESSAGES:
            shown = time.monotonic()
            worker.log_event(TOPIC, {"cell": digest, "step": step, "loss": loss})

    report(0, 0.0)
    return run_payload(payload, report)


def _outcome(cell: Cell, future: Any) -> Event:
    """Return the result of a task, waiting for it once more where it was lost with its worker."""
    try:
        return Finished(cell, future.result())
    except Exception as error:  # whatever the task or the cluster raised: the other cells go on
        reason = f"{type(error).__name__}: {error}"
    return Lost(cell, " ".join(reason.split()), final=True)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise EngineError(
            "Dask is not installed: `pip install slisde[dask]`, or use --engine local."
        ) from None
    return distributed
