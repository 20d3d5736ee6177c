"""Fit TOY by the paper's protocol and variants of it; appends one record a cell to results/toy.jsonl.

Finished cells are never run again, so the study can be stopped and started at will. A cell of the
full protocol (1,000 steps of 1,024 paths on 512 steps) takes about a quarter of an hour on two cores.

    python benchmarks/toy.py [--steps 1000] [--paths 1024] [--grid 512] [CELL …]

A cell is LAYERS:SEED[:OPTION,…], the options are the keys of `OPTIONS`; without any cell, the paper's
protocol runs at both depths with three seeds. Every cell is scored twice: with its last weights and
with the running average of them (EMA), which training carries along at no cost.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax

from slisde.calibration.fit import Progress, calibrate
from slisde.calibration.settings import TrainSettings
from slisde.calibration.step import with_weights
from slisde.data.toy import INITIAL_VALUE, statistics, toy_problem
from slisde.experiments.machine import describe
from slisde.experiments.metrics import fit_metrics, recovery
from slisde.experiments.record import Record
from slisde.experiments.study import run_missing
from slisde.flow.grid import TimeGrid
from slisde.model.interface import parameter_count
from slisde.model.stack import SLiSDE

RESULTS = Path(__file__).parents[1] / "results" / "toy.jsonl"
CACHE = Path.home() / ".cache" / "slisde" / "data"
CELLS = [f"{layers}:{seed}" for seed in range(3) for layers in (2, 3)]
LATENT = {2: 64, 3: 32}
OPTIONS = {
    "antithetic": {"antithetic": True},
    "unbiased": {"unbiased": True},
    "late": {"late_factor": 4},
    "straight": {"straight_through": True},
    "fast": {"learning_rate": 3e-3},
    "memory": {"memory": 0.97},
}
AVERAGING = 0.99


def run(cell: str, given: argparse.Namespace) -> Record:
    layers, seed, *rest = cell.split(":")
    names = rest[0].split(",") if rest else []
    chosen = {key: value for name in names for key, value in OPTIONS[name].items()}
    settings = TrainSettings(steps=given.steps, paths=given.paths, ema=AVERAGING, **chosen)
    grid = TimeGrid.uniform(1.0, given.grid)
    truth = statistics(cache=CACHE)
    problem = toy_problem(truth)
    weights_key, run_key, metrics_key, recovery_key = jax.random.split(jax.random.key(int(seed)), 4)
    depth = int(layers)
    model = SLiSDE(LATENT[depth], 8, depth, initial_value=INITIAL_VALUE, key=weights_key)
    start = time.time()

    def report(done: Progress) -> None:
        if done.step % 50 == 0:
            left = (time.time() - start) / done.step * (settings.steps - done.step)
            print(
                f"{cell} step {done.step} loss {done.loss:.2e}, {left:.0f} s left", file=sys.stderr
            )

    fit = calibrate(model, problem, grid, settings, report=report, key=run_key)
    seconds = time.time() - start

    def score(weights: Any) -> Record:
        scored = with_weights(model, weights)
        return {
            **fit_metrics(scored, problem, grid, key=metrics_key),
            **recovery(scored, truth, grid, key=recovery_key),
        }

    return {
        "layers": depth,
        "seed": int(seed),
        "options": sorted(names),
        "grid": given.grid,
        "steps": given.steps,
        "paths": given.paths,
        "parameters": parameter_count(model),
        "seconds_per_step": seconds / settings.steps,
        "skipped": fit.skipped,
        "final_losses": fit.losses[-20:],
        "last": score(fit.state.weights),
        "averaged": score(fit.state.average),
        "machine": describe(),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cells", nargs="*", default=CELLS)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--paths", type=int, default=1024)
    parser.add_argument("--grid", type=int, default=512)
    given = parser.parse_args()
    size = f"N={given.grid} B={given.paths} steps={given.steps}"
    run_missing(RESULTS, {f"{cell} {size}": partial(run, cell, given) for cell in given.cells})


if __name__ == "__main__":
    main()
