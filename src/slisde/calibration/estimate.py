"""Expectations of a model with their errors, and the loss without Monte-Carlo bias."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from slisde.calibration.estimator import Estimator, check_estimator
from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import drawn
from slisde.functionals.base import AbstractFunctional
from slisde.functionals.check import check_maturity
from slisde.functionals.hedge import VarianceCurve
from slisde.functionals.problem import Evaluator, Problem
from slisde.model.interface import AbstractPathModel

BATCHES = 32
"""Independent batches behind a debiased loss and its standard error."""
FEWEST_BATCHES = 3
"""A debiased loss is made of pairs of batches, its error of what is left without one of them."""

PILOT = 1024
"""Paths that tell a hedge how much variance is left."""

PerTarget = Float[np.ndarray, " target"]


@dataclass(frozen=True)
class Estimate:
    """Averages of all functionals of a problem over fresh paths of a model.

    Attributes:
        problem: what was estimated.
        paths: number of paths n.
        mean: the averages.
        variance: the sample variances of single paths.
        batch_means: averages of equal independent batches, `[batch, target]`.
    """

    problem: Problem
    paths: int
    mean: PerTarget
    variance: PerTarget
    batch_means: Float[np.ndarray, "batch target"]

    @property
    def standard_error(self) -> PerTarget:
        """Standard errors of the averages."""
        return np.sqrt(self.variance / self.paths)

    @property
    def z_score(self) -> PerTarget:
        """Errors in standard errors, those of the prescribed values included where known."""
        known = [target.standard_error or 0.0 for target in self.problem.targets]
        total = np.sqrt(self.variance / self.paths + np.square(known))
        return (self.mean - self.problem.values) / np.where(total > 0, total, np.nan)

    def loss(self, *, held_out: bool = False) -> float:
        """Return eq:calib-loss of this sample."""
        error = self.mean - self.problem.values
        return float(self.problem.weights(held_out=held_out) @ error**2)

    def loss_error(self, *, held_out: bool = False) -> float:
        """Return the standard error of `loss`, by the jackknife over batches."""
        weights = self.problem.weights(held_out=held_out)
        errors = self.batch_means - self.problem.values
        count = len(errors)
        left_out = ((errors.sum(axis=0) - errors) / (count - 1)) ** 2 @ weights
        return _jackknife(left_out)

    def noise_floor(self, paths: int | None = None, *, held_out: bool = False) -> float:
        """Return the loss that Monte-Carlo noise alone adds at `paths` paths."""
        weights = self.problem.weights(held_out=held_out)
        return float(weights @ self.variance) / (self.paths if paths is None else paths)

    def debiased_loss(self, *, held_out: bool = False) -> tuple[float, float]:
        """Return an unbiased estimate of the population loss, and its standard error.

        Products of errors of *different* batches have no Monte-Carlo bias; their average over all
        pairs is the estimate, and the jackknife over batches gives its error.
        """
        weights = self.problem.weights(held_out=held_out)
        errors = self.batch_means - self.problem.values
        count = len(errors)

        def over_pairs(total, squares, n):
            return (total**2 - squares) / (n * (n - 1)) @ weights

        total, squares = errors.sum(axis=0), (errors**2).sum(axis=0)
        value = over_pairs(total, squares, count)
        left_out = over_pairs(total - errors, squares - errors**2, count - 1)
        return float(value), _jackknife(left_out)

    def mean_absolute_error(self, group: str, *, held_out: bool = False) -> float:
        """Return the mean |error| of a group's fitted or held-out targets."""
        return float(np.mean(np.abs(self._errors(group, held_out))))

    def mean_squared_error(self, group: str, *, held_out: bool = False) -> float:
        """Return the mean squared error of a group's fitted or held-out targets."""
        return float(np.mean(self._errors(group, held_out) ** 2))

    def _errors(self, group: str, held_out: bool) -> PerTarget:
        chosen = [t.group == group and t.held_out == held_out for t in self.problem.targets]
        return (self.mean - self.problem.values)[chosen]


def _jackknife(left_out: Float[np.ndarray, " batch"]) -> float:
    """Return the standard error of a statistic from its values without each batch in turn."""
    count = len(left_out)
    return float(np.sqrt((count - 1) / count * np.sum((left_out - left_out.mean()) ** 2)))


def estimate(
    model: AbstractPathModel,
    problem: Problem,
    grid: TimeGrid,
    paths: int,
    *,
    batches: int = BATCHES,
    estimator: Estimator = Estimator.CONDITIONAL,
    report: Callable[[int, int], None] | None = None,
    key: PRNGKeyArray,
) -> Estimate:
    """Return the hard functionals' averages over `paths` fresh paths, in `batches` equal batches."""
    evaluator = problem.evaluator()
    sampled = _in_batches(model, evaluator, grid, paths, batches, estimator, report, key)
    return Estimate(problem, paths, *sampled)


class Prices(NamedTuple):
    """Averages of functionals without prescribed values, and their standard errors."""

    mean: PerTarget
    standard_error: PerTarget
    paths: int


def price(
    model: AbstractPathModel,
    functionals: Sequence[AbstractFunctional],
    grid: TimeGrid,
    paths: int,
    *,
    batches: int = BATCHES,
    estimator: Estimator = Estimator.CONDITIONAL,
    report: Callable[[int, int], None] | None = None,
    key: PRNGKeyArray,
) -> Prices:
    """Return expectations of any functionals under a model, over `paths` fresh paths."""
    for functional in functionals:
        check_maturity(functional, float(grid.times[-1]))
    mean, variance, _ = _in_batches(
        model, Evaluator(functionals), grid, paths, batches, estimator, report, key
    )
    return Prices(mean, np.sqrt(variance / paths), paths)


def _in_batches(
    model: AbstractPathModel,
    evaluator: Evaluator,
    grid: TimeGrid,
    paths: int,
    batches: int,
    estimator: Estimator,
    report: Callable[[int, int], None] | None,
    key: PRNGKeyArray,
) -> tuple[PerTarget, PerTarget, Float[np.ndarray, "batch target"]]:
    """Return means, variances of single paths, and the means of all batches."""
    if batches < FEWEST_BATCHES:
        raise ArgumentError(
            "batches",
            batches,
            f"must be at least {FEWEST_BATCHES}",
            "without one of them there must be a pair left",
        )
    if paths % batches:
        raise ArgumentError(
            "paths", paths, f"must be a multiple of {batches}", "the error comes from equal batches"
        )
    check_estimator(model, estimator)
    means, variances = [], []
    hedge = None
    if estimator is Estimator.HEDGED:
        hedge = pilot(model, grid, key=jax.random.fold_in(key, batches))
    for index in range(batches):
        draw = jax.random.fold_in(key, index)
        mean, variance = _on_batch(model, evaluator, grid, paths // batches, estimator, hedge, draw)
        means.append(np.asarray(mean, np.float64))
        variances.append(np.asarray(variance, np.float64))
        if report is not None:
            report(index + 1, batches)
    batch_means = np.stack(means)
    variance = np.mean(variances, axis=0) + batch_means.var(axis=0)
    return batch_means.mean(axis=0), variance, batch_means


@eqx.filter_jit
def pilot(model: AbstractPathModel, grid: TimeGrid, *, key: PRNGKeyArray) -> VarianceCurve:
    """Return what a hedge has to know of a model, from a few paths that are not hedged themselves."""
    return VarianceCurve.of(model.draw(grid, PILOT, key=key))


@eqx.filter_jit
def _on_batch(
    model: AbstractPathModel,
    evaluator: Evaluator,
    grid: TimeGrid,
    paths: int,
    estimator: Estimator,
    hedge: VarianceCurve | None,
    key: PRNGKeyArray,
):
    batch = model.draw(grid, paths, key=key)
    if estimator is Estimator.PATHS:
        batch = drawn(batch)
    samples = evaluator(batch, jnp.asarray(grid.times), hedge)
    return jnp.mean(samples, axis=0), jnp.var(samples, axis=0)
