"""Calibrate DAX with and without tilted far tails; one record a cell in results/tilt.jsonl.

The arms of tab:dax3-girsanov and tab:abl-kl on the quoted strikes (convention `paper`), at a reduced size that
is the same for all of them. Finished cells are never run again.

    python benchmarks/tilt.py DATA [--seeds 3] [--steps 500] [--paths 512] [--grid 128] [ARM …]
    python benchmarks/tilt.py DATA --cost     time tilted and untilted steps of as many paths in turns
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from slisde.experiments.allocation import keep_freed_memory
from slisde.experiments.compilation import keep_compiled_programs

keep_compiled_programs()

from slisde.calibration.estimate import estimate  # noqa: E402
from slisde.calibration.estimator import Estimator  # noqa: E402
from slisde.calibration.fit import Progress, calibrate  # noqa: E402
from slisde.calibration.step import make_step, start  # noqa: E402
from slisde.experiments.config import parse  # noqa: E402
from slisde.experiments.job import Job, prepare  # noqa: E402
from slisde.experiments.machine import describe  # noqa: E402
from slisde.experiments.record import Record  # noqa: E402
from slisde.experiments.studied_surfaces import studied_problem  # noqa: E402
from slisde.experiments.study import run_missing  # noqa: E402

RESULTS = Path(__file__).parents[1] / "results" / "tilt.jsonl"
SURFACE = "dax_2026-02 paper"
PATHS = 32_768
"""Plain paths behind a score, as in the paper."""
INACTIVE = 0.2
"""Share of the steps before tilts take part, as in the paper."""
TIMED = 15
"""Steps of each kind whose median is taken."""
AVERAGED = 50
"""Last steps over which effective shares are averaged."""

ARMS: dict[str, dict[str, Any]] = {
    "vanilla": {},
    "untilted": {"model": {"rho": 0.0}},
    "untilted-double": {"model": {"rho": 0.0}, "double": True},
    "combined": {"model": {"rho": 0.0}, "tilt": {}},
    "tilted-only": {"model": {"rho": 0.0}, "tilt": {"far_tail": "tilted"}},
    "wall-2": {"model": {"rho": 0.0}, "tilt": {"wall": 2.0}},
    "snis-variance": {"model": {"rho": 0.0}, "tilt": {"aim": "snis-variance"}},
}
"""Vanilla shares one driver between the layers; tilted arms add half a batch for each tail."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, help="folder of the snapshots")
    parser.add_argument("arms", nargs="*", default=list(ARMS), help="names of arms")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--paths", type=int, default=512)
    parser.add_argument("--grid", type=int, default=128)
    parser.add_argument("--cost", action="store_true", help="time steps, and train nothing")
    given = parser.parse_args()
    keep_freed_memory()
    size = f"N={given.grid} B={given.paths}"
    if given.cost:
        cells = {f"cost {size}": partial(cost, given)}
    else:
        cells = {
            f"{arm}:{seed} {size} steps={given.steps}": partial(run, arm, seed, given)
            for seed in range(given.seeds)
            for arm in given.arms
        }
    run_missing(RESULTS, cells, report=partial(print, file=sys.stderr, flush=True))


def prepared(arm: str, seed: int, given: argparse.Namespace, begin: int) -> Job:
    """Return a run of an arm whose tilts take part from step `begin` on."""
    options = ARMS[arm]
    tables = {
        "model": {"layers": 3, "latent": 32, **options.get("model", {})},
        "train": {
            "steps": given.steps,
            "paths": given.paths * (2 if options.get("double") else 1),
            "seed": seed,
            "validate_every": 0,
        },
        "grid": {"steps": given.grid},
        "tilt": {
            "enabled": "tilt" in options,
            "begin": begin,
            "paths": given.paths // 2,
            **options.get("tilt", {}),
        },
    }
    return prepare(parse(tables), studied_problem(SURFACE, given.data))


def cost(given: argparse.Namespace) -> Record:
    """Return seconds of steps of as many paths with and without tilts, taken in turns."""
    takes, states = {}, {}
    for arm in ("untilted-double", "combined"):
        job = prepared(arm, 0, given, begin=0)
        states[arm] = start(job.model, job.problem, job.settings)
        takes[arm] = make_step(
            job.model, job.problem, job.grid, job.settings, key=job.keys.training
        )
    seconds: dict[str, list[float]] = {arm: [] for arm in takes}
    for turn in range(1 + TIMED):
        for arm, take in takes.items():
            began = time.perf_counter()
            states[arm], seen = take(states[arm])
            seen.loss.block_until_ready()
            if turn:  # the first one compiles
                seconds[arm].append(time.perf_counter() - began)
    medians = {arm: float(np.median(times)) for arm, times in seconds.items()}
    return {
        "arm": "cost",
        "grid": given.grid,
        "paths": 2 * given.paths,
        "seconds": medians,
        "machine": describe(),
    }


def run(arm: str, seed: int, given: argparse.Namespace) -> Record:
    job = prepared(arm, seed, given, begin=int(INACTIVE * given.steps))
    problem = job.problem
    began, effective = time.perf_counter(), []

    def report(progress: Progress) -> None:
        if progress.effective:
            effective.append(progress.effective)
        if progress.step % 100 == 0:
            spent = time.perf_counter() - began
            print(f"  step {progress.step}, {spent:.0f} s", file=sys.stderr, flush=True)

    fit = calibrate(
        job.model, problem, job.grid, job.settings, report=report, key=job.keys.training
    )
    seconds = (time.perf_counter() - began) / given.steps
    result = estimate(
        fit.model, problem, job.grid, PATHS, estimator=Estimator.PATHS, key=job.keys.metrics
    )
    return {
        "arm": arm,
        "seed": seed,
        "steps": given.steps,
        "paths": given.paths,
        "grid": given.grid,
        "seconds_per_step": seconds,
        "skipped": fit.skipped,
        "effective": np.mean(effective[-AVERAGED:], axis=0).tolist() if effective else [],
        **_losses(result.mean, problem),
        "machine": describe(),
    }


def _losses(means: np.ndarray, problem) -> Record:
    """Return the held-out loss, and the held-out mean squared error of the far groups."""
    weights = problem.weights(held_out=True)
    squared = (means - problem.values) ** 2
    record = {"held_out_loss": float(weights @ squared)}
    for group in ("far_puts", "far_calls"):
        rows = [t.group == group and t.held_out for t in problem.targets]
        record[group] = float(np.mean(squared[rows]))
    return record


if __name__ == "__main__":
    main()
