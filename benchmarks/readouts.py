"""Fit one surface by every readout and price it by every estimator; records in results/readouts.jsonl.

All fits have the preset `quick`. Finished cells are never run again. The quotes are read from the
folder that is given and are not kept: a record has figures only.

    python benchmarks/readouts.py DATA [--seeds 3] [FIT …]
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

from slisde.calibration.estimate import Estimate, estimate  # noqa: E402
from slisde.calibration.estimator import Estimator  # noqa: E402
from slisde.calibration.fit import calibrate  # noqa: E402
from slisde.calibration.smile_fit import SmileFit, smile_fit  # noqa: E402
from slisde.experiments.config import parse  # noqa: E402
from slisde.experiments.job import Job, prepare  # noqa: E402
from slisde.experiments.machine import describe  # noqa: E402
from slisde.experiments.presets import preset  # noqa: E402
from slisde.experiments.record import Record  # noqa: E402
from slisde.experiments.studied_surfaces import source, studied_problem  # noqa: E402
from slisde.experiments.study import run_missing  # noqa: E402
from slisde.functionals.problem import Problem  # noqa: E402
from slisde.model.interface import AbstractPathModel  # noqa: E402

RESULTS = Path(__file__).parents[1] / "results" / "readouts.jsonl"
SURFACE = "spx_2026-01-30"
PRESET = "quick"
PATHS, BATCHES = 2**16, 256
"""Paths behind a score, and the batches they come in."""

FITS: dict[str, dict[str, Any]] = {
    "linear": {"readout": "linear"},
    "normalised": {"readout": "normalised"},
    "martingale": {"readout": "martingale"},
    "mixing": {"readout": "mixing"},
    "mixing on paths": {"readout": "mixing", "conditional": False},
    "mixing without hedges": {"readout": "mixing", "hedged": False},
    "mixing without whitening": {"readout": "mixing", "whitening": None},
}
"""Readouts, and trainings without a part: on paths, the law given the latent path is not made use of."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, help="folder of the snapshots")
    parser.add_argument("fits", nargs="*", default=list(FITS), help="names of fits")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    keep_freed_memory()
    cells = {
        f"{name}:{seed}": partial(run, name, seed, given.data)
        for seed in range(given.seeds)
        for name in given.fits
    }
    run_missing(RESULTS, cells, report=partial(print, file=sys.stderr, flush=True))


def run(name: str, seed: int, data: Path) -> Record:
    problem = studied_problem(SURFACE, data)
    options = dict(FITS[name])
    recipe = preset(PRESET, source(SURFACE, data))
    tables = {table: dict(values) for table, values in recipe.items()}
    tables["model"]["readout"] = options.pop("readout")
    tables["train"] |= {**options, "seed": seed}
    job = prepare(parse(tables), problem)
    began = time.perf_counter()
    fit = calibrate(job.model, problem, job.grid, job.settings, key=job.keys.training)
    seconds = time.perf_counter() - began
    return {
        "fit": name,
        "seed": seed,
        "surface": SURFACE,
        "seconds": seconds,
        "skipped": fit.skipped,
        "settings": tables,
        "paths": PATHS,
        "estimators": _estimators(fit.model, problem, job),
        "machine": describe(),
    }


def _estimators(model: AbstractPathModel, problem: Problem, job: Job) -> Record:
    """Return the scores of each estimator that the readout allows, plain paths first."""
    readout = job.config.model.readout
    applicable = [Estimator.PATHS]
    if readout == "mixing":
        applicable.append(Estimator.CONDITIONAL)
    if model.is_martingale:
        applicable.append(Estimator.HEDGED)
    scores, plain = {}, None
    for estimator in applicable:
        result, seconds = _timed(model, problem, job, estimator)
        smiles = smile_fit(result)
        if smiles is None:
            raise SystemExit(f"{problem.name} has no smiles")
        index = smiles.quotes.index
        if plain is None:
            plain = result.variance[index]
        # A normalised batch has no independent paths: its variance is that of whole batches.
        size = PATHS // BATCHES
        variance = (
            size * result.batch_means.var(axis=0, ddof=1)[index]
            if readout == "normalised"
            else result.variance[index]
        )
        scores[estimator.value] = {"seconds": seconds, **_score(smiles, plain, variance)}
    return scores


def _timed(
    model: AbstractPathModel, problem: Problem, job: Job, estimator: Estimator
) -> tuple[Estimate, float]:
    """Return an estimate and its seconds, without those of compilation."""
    options: dict[str, Any] = {"estimator": estimator, "key": job.keys.metrics}
    estimate(model, problem, job.grid, 3 * PATHS // BATCHES, batches=3, **options)
    began = time.perf_counter()
    result = estimate(model, problem, job.grid, PATHS, batches=BATCHES, **options)
    return result, time.perf_counter() - began


def _score(smiles: SmileFit, plain: np.ndarray, variance: np.ndarray) -> Record:
    """Return errors, arbitrage, and by how much the variances of quotes are below those of paths."""
    known = (plain > 0.0) & (variance > 0.0)
    low, median, high = np.quantile(
        (plain / np.where(known, variance, 1.0))[known], [0.1, 0.5, 0.9]
    )
    record: Record = {
        "variance_ratio": {"low": float(low), "median": float(median), "high": float(high)},
        "arbitrage": {
            "checked": smiles.arbitrage.checked,
            "largest": smiles.arbitrage.largest,
            **{kind.value: count for kind, count in smiles.arbitrage.found.items()},
        },
    }
    for name, held_out in (("fitted", False), ("held_out", True)):
        found = smiles.of(None, held_out=held_out)
        if found is not None:
            noise = smiles.noise_of(None, held_out=held_out)
            record[name] = {"rmse": found.rmse, "noise": noise, "inside": found.inside}
    return record


if __name__ == "__main__":
    main()
