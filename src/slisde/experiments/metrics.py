"""What is reported of a fitted model (paper: tab:toy3-vanilla, tab:abl-dist)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.stats import ks_2samp, wasserstein_distance

from slisde.calibration.estimate import estimate
from slisde.data.toy import ToyStatistics
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel

PUBLISHED_PATHS = 2048
POPULATION_PATHS = 2**17
RECOVERY_PATHS = 20_000
RECOVERY_CHUNK = 2_000


def fit_metrics(
    model: AbstractPathModel, problem: Problem, grid: TimeGrid, *, key: PRNGKeyArray
) -> dict[str, float]:
    """Return the published metric and the debiased population loss with its error."""
    published_key, population_key = jax.random.split(key)
    published = estimate(model, problem, grid, PUBLISHED_PATHS, key=published_key)
    population = estimate(model, problem, grid, POPULATION_PATHS, batches=64, key=population_key)
    debiased, error = population.debiased_loss()
    metrics = {
        "loss_2048": published.loss(),
        "expected_loss_2048": debiased + population.noise_floor(PUBLISHED_PATHS),
        "noise_floor_2048": population.noise_floor(PUBLISHED_PATHS),
        "debiased_loss": debiased,
        "debiased_loss_se": error,
    }
    for group in problem.groups:
        metrics[f"mae_2048_{group}"] = published.mean_absolute_error(group)
        metrics[f"mae_{group}"] = population.mean_absolute_error(group)
    return metrics


def recovery(
    model: AbstractPathModel, truth: ToyStatistics, grid: TimeGrid, *, key: PRNGKeyArray
) -> dict[str, Any]:
    """Return KS and W₁ distances of the terminal value and of the running maximum to the truth."""

    @jax.jit
    def sample(key):
        paths = model(grid, RECOVERY_CHUNK, key=key)
        return paths[:, -1], jnp.max(paths, axis=1)

    chunks = [sample(jax.random.fold_in(key, i)) for i in range(RECOVERY_PATHS // RECOVERY_CHUNK)]
    terminal, highest = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    distances = {}
    for name, ours, theirs in (
        ("terminal", terminal, truth.values[:, -1]),
        ("maximum", highest, truth.maxima[:, -1]),
    ):
        distances[f"ks_{name}"] = float(np.asarray(ks_2samp(ours, theirs))[0])
        distances[f"w1_{name}"] = float(wasserstein_distance(ours, theirs))
    return distances
