"""The process of one cell: `python -m slisde.experiments.sweep.child CORES`.

The cell comes as a line of standard input; a line of JSON goes out now and then, and the result at last.
Standard input stays open as long as the driver lives: when it ends, because the driver was killed, so does the process.
"""

import json
import os
import sys
import threading
import time
from typing import Any, TextIO

from slisde.experiments.sweep.task import run_payload

SECONDS_BETWEEN_LINES = 1.0
ABANDONED = 3
"""Exit code of a process whose driver is gone."""


def main() -> None:
    """Run the cell on the given cores."""
    if hasattr(os, "sched_setaffinity"):  # elsewhere the system shares the cores out
        os.sched_setaffinity(0, [int(core) for core in sys.argv[1].split(",")])
    out, shown = sys.stdout, 0.0
    sys.stdout = sys.stderr  # whatever else prints must not get between the lines

    def say(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    def report(step: int, loss: float) -> None:
        nonlocal shown
        if time.monotonic() - shown >= SECONDS_BETWEEN_LINES:
            shown = time.monotonic()
            say({"step": step, "loss": loss})

    payload = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with, args=(sys.stdin,), daemon=True).start()
    say({"result": run_payload(payload, report)})


def _end_with(stream: TextIO) -> None:
    """End the process, whatever it does, when the other end of the stream is closed."""
    stream.read()
    os._exit(ABANDONED)


if __name__ == "__main__":
    main()
