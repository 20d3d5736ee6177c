"""Debiased losses during training, and the best weights so far."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from slisde.calibration.estimate import BATCHES, estimate
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel

STREAM = 2**32 - 1
"""Folded into the run's key for validation; training steps fold in their number."""


@dataclass(frozen=True)
class Validation:
    """The debiased loss on fresh paths: of the held-out targets where there are any."""

    loss: float
    standard_error: float
    noise_floor: float


class Best(eqx.Module):
    """The weights of the lowest validated loss, and how many validations ago that was."""

    weights: PyTree
    loss: Float[Array, ""]
    stale: Int[Array, ""]

    @classmethod
    def nothing_yet(cls, weights: PyTree) -> "Best":
        """Return the state before the first validation."""
        return cls(weights, jnp.array(jnp.inf), jnp.zeros((), jnp.int32))

    def judged(self, weights: PyTree, loss: float) -> "Best":
        """Return the state after one more validation."""
        if loss < float(self.loss):
            return Best(weights, jnp.array(loss), jnp.zeros_like(self.stale))
        return Best(self.weights, self.loss, self.stale + 1)


def validate(
    model: AbstractPathModel,
    problem: Problem,
    grid: TimeGrid,
    paths: int,
    step: int,
    *,
    key: PRNGKeyArray,
) -> Validation:
    """Return the debiased loss of a model after `step` steps of a run with this key."""
    draw = jax.random.fold_in(jax.random.fold_in(key, STREAM), step)
    rounded = max(paths // BATCHES, 1) * BATCHES
    result = estimate(model, problem, grid, rounded, key=draw)
    held_out = problem.has_held_out
    loss, error = result.debiased_loss(held_out=held_out)
    return Validation(loss, error, result.noise_floor(held_out=held_out))
