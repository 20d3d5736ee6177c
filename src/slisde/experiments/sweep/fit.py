"""One cell of a sweep: the fit and what is recorded of it."""

import itertools
import statistics
import time
from typing import Any

import jax

from slisde.calibration.estimate import Estimate, estimate
from slisde.calibration.estimator import Estimator
from slisde.calibration.fit import Progress, calibrate
from slisde.calibration.settings import TrainSettings
from slisde.experiments.config import Config
from slisde.experiments.evaluation import summary
from slisde.experiments.job import Job, prepare
from slisde.experiments.machine import peak_memory
from slisde.experiments.metrics import PUBLISHED_PATHS, recovery
from slisde.experiments.sources import toy_truth
from slisde.experiments.sweep.task import Report
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel, parameter_count

FEWEST_PATHS, MOST_PATHS = 2**17, 2**20
"""Behind the scores of a population, however short or long the training."""
OVER_SEEN = 4
"""Paths of a score for every path of the training: the noise of the score is half of what no training can know."""
BATCH = 2048


def fit_and_score(config: Config, problem: Problem, report: Report) -> dict[str, Any]:
    """Return the record of a fit: size, seconds, and its scores on fresh paths."""
    job = prepare(config, problem)
    marks = [time.perf_counter()]

    def seen(progress: Progress) -> None:
        marks.append(time.perf_counter())
        report(progress.step, progress.loss)

    fit = calibrate(
        job.model,
        problem,
        job.grid,
        job.settings,
        penalties=job.penalties,
        report=seen,
        key=job.keys.training,
    )
    steps = [after - before for before, after in itertools.pairwise(marks)]
    return {
        "parameters": parameter_count(job.model),
        "steps": len(steps),
        "skipped": fit.skipped,
        "seconds": marks[-1] - marks[0],
        "seconds_per_step": statistics.median(steps),
        "peak_memory_gb": peak_memory() / 1e9,
        "metrics": _metrics(job, fit.model),
    }


def population_paths(settings: TrainSettings) -> int:
    """Return how many paths score a fit, a power of two: several times what it saw, as long as that is affordable."""
    seen = sum(map(settings.paths_at, range(settings.steps)))
    return min(max(FEWEST_PATHS, OVER_SEEN * 2 ** seen.bit_length()), MOST_PATHS)


def _metrics(job: Job, model: AbstractPathModel) -> dict[str, Any]:
    """Return the published metrics, those of the population, and distances to the law of TOY."""
    published_key, population_key = jax.random.split(job.keys.metrics)
    paths = population_paths(job.settings)
    # Not conditional expectations: the paper's numbers are averages over paths.
    published = estimate(
        model, job.problem, job.grid, PUBLISHED_PATHS, estimator=Estimator.PATHS, key=published_key
    )
    population = estimate(
        model,
        job.problem,
        job.grid,
        paths,
        batches=paths // BATCH,
        estimator=Estimator.PATHS,
        key=population_key,
    )
    metrics: dict[str, Any] = {
        "published": _published(published, population),
        "population": summary(population),
    }
    if job.config.problem.source == "toy":
        truth = toy_truth(job.config.problem.monitoring)
        metrics["recovery"] = recovery(model, truth, job.grid, key=job.keys.recovery)
    return metrics


def _published(sample: Estimate, population: Estimate) -> dict[str, Any]:
    """Return losses of a sample of the published size, what they are on average, and by group."""
    values: dict[str, Any] = {}
    for prefix, held_out in (("", False), ("held_out_", True)):
        if held_out and not sample.problem.has_held_out:
            continue
        debiased, _ = population.debiased_loss(held_out=held_out)
        noise = population.noise_floor(PUBLISHED_PATHS, held_out=held_out)
        values[f"{prefix}loss"] = sample.loss(held_out=held_out)
        values[f"{prefix}expected_loss"] = debiased + noise
        values[f"{prefix}groups"] = {
            group: {
                "mae": sample.mean_absolute_error(group, held_out=held_out),
                "mse": sample.mean_squared_error(group, held_out=held_out),
            }
            for group in _groups(sample.problem, held_out)
        }
    return values


def _groups(problem: Problem, held_out: bool) -> list[str]:
    members = {target.group for target in problem.targets if target.held_out == held_out}
    return [group for group in problem.groups if group in members]
