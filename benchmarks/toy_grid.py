"""Score TOY's own diffusion on coarse grids against TOY's targets; appends to results/toy_grid.jsonl.

The targets hold maxima of 2,048 steps. On fewer steps the true system itself misses them, so this is what a
perfect diffusion would score there. Minutes on one core.

    python benchmarks/toy_grid.py
"""

from functools import partial
from pathlib import Path

import jax

from slisde.calibration.estimate import estimate
from slisde.data.toy import HORIZON, TrueSystem, toy_problem
from slisde.experiments.machine import describe
from slisde.experiments.record import Record
from slisde.experiments.sources import toy_truth
from slisde.experiments.study import run_missing
from slisde.flow.grid import TimeGrid

RESULTS = Path(__file__).parents[1] / "results" / "toy_grid.jsonl"
GRIDS = (64, 128, 256, 512, 1024)
PATHS = 2**18
BATCHES = 64


def run(steps: int, monitoring: int | None) -> Record:
    """Return losses of the true system on a grid, with maxima of the targets observed as told."""
    problem = toy_problem(toy_truth(monitoring))
    grid = TimeGrid.uniform(HORIZON, steps)
    found = estimate(TrueSystem(), problem, grid, PATHS, batches=BATCHES, key=jax.random.key(steps))
    loss, error = found.debiased_loss()
    return {
        "grid": steps,
        "monitoring": monitoring,
        "paths": PATHS,
        "debiased_loss": loss,
        "debiased_loss_se": error,
        "mae": {group: found.mean_absolute_error(group) for group in problem.groups},
        "machine": describe(),
    }


def main() -> None:
    cells = {}
    for steps in GRIDS:
        cells[f"N={steps}"] = partial(run, steps, None)
        cells[f"N={steps}, observed there"] = partial(run, steps, steps)
    run_missing(RESULTS, cells)


if __name__ == "__main__":
    main()
