"""Times of training steps and forward passes of all families, interleaved in one run."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp

from slisde.errors import EngineError
from slisde.experiments.alone import timed
from slisde.experiments.config import Config, parse
from slisde.experiments.cost import step_flops
from slisde.experiments.machine import describe
from slisde.experiments.workload import (
    neural_sde_cell,
    slice_cell,
    toy_cell,
    toy_model,
    training_step,
)
from slisde.flow.engine import VARIABLE
from slisde.flow.evaluate import Evaluation, resolve
from slisde.flow.transition import Euler
from slisde.model.memory import check_memory

PEAK_SIZE = 2048
PEAK_PRODUCTS = 8
SECONDS_PER_ENTRY = 15.0
"""An entry that has taken this long is not run again; slow evaluations keep the median of fewer runs."""

Report = Callable[[str], None]


def bench(
    paths: int,
    steps: int,
    repeat: int,
    report: Report,
    *,
    evaluations: tuple[Evaluation, ...] = (Evaluation.SEQUENTIAL, Evaluation.CHUNKED),
    memory: bool = True,
) -> dict[str, Any]:
    """Return medians over `repeat` interleaved runs, the matrix-product peak, and the share of it."""
    check_memory(toy_model(), steps, paths)
    auto = resolve(Euler())
    models = {"slisde": toy_cell(), "neural_sde": neural_sde_cell(), "slice": slice_cell()}
    models |= {f"slisde_{each}": toy_cell(each) for each in evaluations if each is not auto}
    entries: dict[str, Callable[[int], Any]] = {"peak": _matrix_product()}
    for name, model in models.items():
        entries[f"{name}_step"], entries[f"{name}_forward"] = training_step(model, steps, paths)
    seconds = _interleaved(entries, repeat, report)
    peak = PEAK_PRODUCTS * 2.0 * PEAK_SIZE**3 / seconds.pop("peak") / 1e9
    flops = step_flops(toy_config(paths, steps)) / 1e9
    result: dict[str, Any] = {f"{name}_s": value for name, value in seconds.items()}
    step = seconds["slisde_step"]
    result |= {
        "speedup_vs_neural_sde": seconds["neural_sde_step"] / step,
        "speedup_vs_slice": seconds["slice_step"] / step,
        "peak_gflops": peak,
        "slisde_gflops": flops / step,
        "peak_fraction": flops / step / peak,
        "paths": paths,
        "steps": steps,
        "repeat": repeat,
        "evaluation": auto,
        "machine": describe(),
    }
    if memory:
        report("memory")
        result |= in_fresh_process(paths, steps)
    return result


def toy_config(paths: int, steps: int) -> Config:
    """Return the configuration of the timed cell: the defaults, at this shape."""
    return parse({"train": {"paths": paths}, "grid": {"steps": steps}})


def in_fresh_process(
    paths: int, steps: int, *, repeat: int = 1, engine: str | None = None
) -> dict[str, float]:
    """Return what a process that only trains needs: memory, start to first step, and step time."""
    command = [
        sys.executable,
        "-m",
        "slisde.experiments.alone",
        str(paths),
        str(steps),
        str(repeat),
    ]
    forced = {} if engine is None else {VARIABLE: engine}
    start = time.time()
    child = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, env={**os.environ, **forced}
    )
    if child.returncode:
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        raise EngineError(f"the training process ended with code {child.returncode}: {last}")
    answer = json.loads(child.stdout)
    first = answer.pop("first_step_at") - start
    return {**answer, "first_step_after_s": first}


def _interleaved(
    entries: dict[str, Callable[[int], Any]], repeat: int, report: Report
) -> dict[str, float]:
    spent: dict[str, list[float]] = {name: [] for name in entries}
    for name, run in entries.items():
        report(f"compiling {name}")
        jax.block_until_ready(run(0))
    for index in range(repeat):
        for name, run in entries.items():
            if sum(spent[name]) > SECONDS_PER_ENTRY:
                continue
            report(f"{name}, run {index + 1} of {repeat}")
            # Once untimed: memory that other entries gave back has to be touched again, which a
            # training loop does not have to do.
            jax.block_until_ready(run(index))
            spent[name].append(timed(run, index + 1))
    return {name: median(values) for name, values in spent.items()}


def _matrix_product() -> Callable[[int], Any]:
    square = jax.random.normal(jax.random.key(0), (PEAK_SIZE, PEAK_SIZE), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    return lambda _: [product(square) for _ in range(PEAK_PRODUCTS)]
