"""The process of one cell: `python -m slisde.experiments.sweep.child CORES`.

The cell comes by standard input; a line of JSON goes out now and then, and the result at last. When
nobody reads them any more, because the driver was killed, writing fails and the process ends.
"""

import json
import os
import sys
import time
from typing import Any

from slisde.experiments.sweep.task import run_payload

SECONDS_BETWEEN_LINES = 1.0


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

    say({"result": run_payload(json.load(sys.stdin), report)})


if __name__ == "__main__":
    main()
