"""The whole performance study, about twenty minutes: writes results/performance.jsonl anew.

Run it on an idle machine, then `make tables`. A study that was interrupted goes on where it stopped.

    python benchmarks/performance.py [--fresh]
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax

from slisde.experiments.allocation import keep_freed_memory
from slisde.experiments.compilation import keep_compiled_programs
from slisde.experiments.record import Record
from slisde.experiments.study import run_missing
from slisde.experiments.timing import bench, in_fresh_process
from slisde.experiments.workload import toy_cell, toy_model, training_step
from slisde.flow.evaluate import Evaluation
from slisde.model.memory import training_bytes

RESULTS = Path(__file__).parents[1] / "results" / "performance.jsonl"
SEQUENTIAL, CHUNKED = Evaluation.SEQUENTIAL, Evaluation.CHUNKED
FAMILY_SHAPES = {(1024, 512): (SEQUENTIAL,), (64, 512): (SEQUENTIAL, CHUNKED), (4096, 512): ()}
SCALING = [("steps", 1024, n) for n in (128, 256, 512, 1024, 2048, 4096, 8192)]
SCALING += [("paths", b, 512) for b in (256, 512, 1024, 2048, 4096)]
ALONE = [(1024, 512), (4096, 8192)]
STARTS = 9


def families(paths: int, steps: int) -> Record:
    evaluations = FAMILY_SHAPES[(paths, steps)]
    in_fresh_process(paths, steps)  # warms the compilation cache for the measured start
    return bench(paths, steps, 3, lambda _: None, evaluations=evaluations)


def scaling(axis: str, paths: int, steps: int) -> Record:
    run, _ = training_step(toy_cell(), steps, paths)
    jax.block_until_ready(run(0))
    seconds = []
    for seed in range(1, 4):
        start = time.perf_counter()
        jax.block_until_ready(run(seed))
        seconds.append(time.perf_counter() - start)
    return {"axis": axis, "paths": paths, "steps": steps, "seconds": statistics.median(seconds)}


def alone(paths: int, steps: int) -> Record:
    predicted = training_bytes(toy_model(), steps, paths) / 1e9
    measured = in_fresh_process(paths, steps)
    return {"paths": paths, "steps": steps, "predicted_memory_gb": predicted, **measured}


def starts(paths: int, steps: int) -> Record:
    in_fresh_process(paths, steps)  # warms the compilation cache for the measured starts
    runs = [in_fresh_process(paths, steps) for _ in range(STARTS)]
    seconds = [run["first_step_after_s"] for run in runs]
    step = statistics.median(run["alone_step_s"] for run in runs)
    return {"paths": paths, "steps": steps, "seconds": seconds, "alone_step_s": step}


def cell(study: Callable[..., Record], arguments: tuple) -> str:
    return " ".join(str(part) for part in (study.__name__, *arguments))


def measure(study: Callable[..., Record], arguments: tuple) -> Record:
    return {"kind": study.__name__, **study(*arguments)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    if parser.parse_args().fresh:
        RESULTS.unlink(missing_ok=True)
    keep_compiled_programs()
    keep_freed_memory()
    measured: list[tuple[Callable[..., Record], tuple]] = [(families, s) for s in FAMILY_SHAPES]
    measured += [(scaling, point) for point in SCALING] + [(alone, shape) for shape in ALONE]
    measured += [(starts, ALONE[0])]
    cells = {cell(*each): partial(measure, *each) for each in measured}
    run_missing(RESULTS, cells, report=partial(print, file=sys.stderr, flush=True))


if __name__ == "__main__":
    main()
