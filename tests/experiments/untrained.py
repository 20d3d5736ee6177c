"""A run whose model was never trained: with a martingale readout, nearly lognormal of volatility 0.2."""

from pathlib import Path

from slisde.calibration.run import RunDirectory
from slisde.experiments.config import parse
from slisde.experiments.job import FittedRun, prepare
from slisde.functionals.problem import Problem

SMALL = {"latent": 8, "noise": 2, "block_size": 4}


def untrained(problem: Problem, steps: int = 16, **model) -> FittedRun:
    """Return a run of a small model on a problem."""
    config = parse(
        {
            "model": {**SMALL, **model},
            "grid": {"steps": steps, "spacing": "maturities"},
            "problem": {"source": "made.csv"},
        }
    )
    job = prepare(config, problem)
    return FittedRun(RunDirectory(Path("run")), config, problem, job.grid, job.model, job.keys)
