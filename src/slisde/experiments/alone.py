"""A process that only trains: what it needs from its start to the first step, and in memory.

Run as `python -m slisde.experiments.alone PATHS STEPS REPEAT`; it imports what a training loop needs and no
more, because the time to the first step counts the imports.
"""

import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from slisde.experiments.allocation import collect_rarely, keep_freed_memory

collect_rarely()

import equinox as eqx  # noqa: E402
import jax  # noqa: E402

from slisde.experiments.machine import peak_memory  # noqa: E402
from slisde.experiments.workload import toy_cell, training_step  # noqa: E402


def timed(run: Callable[[int], Any], seed: int) -> float:
    """Return the seconds until the result of `run(seed)` is there."""
    start = time.perf_counter()
    jax.block_until_ready(run(seed))
    return time.perf_counter() - start


def _train(paths: int, steps: int, repeat: int) -> None:
    keep_freed_memory()
    run, _ = training_step(eqx.filter_jit(toy_cell)(), steps, paths)
    jax.block_until_ready(run(0))
    first = time.time()
    seconds = median(timed(run, seed) for seed in range(1, repeat + 1))
    answer = {
        "peak_memory_gb": peak_memory() / 1e9,
        "first_step_at": first,
        "alone_step_s": seconds,
    }
    print(json.dumps(answer))  # noqa: T201


if __name__ == "__main__":
    _train(*(int(argument) for argument in sys.argv[1:4]))
