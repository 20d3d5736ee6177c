"""The training step and the forward pass that are timed: the same for every family of models."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.baselines.neural_sde import NeuralSDE
from slisde.baselines.slice import SLiCE
from slisde.calibration.optimiser import paper_optimiser
from slisde.flow.evaluate import Evaluation
from slisde.flow.grid import TimeGrid
from slisde.flow.running import running_maximum
from slisde.model.interface import AbstractPathModel
from slisde.model.stack import SLiSDE
from slisde.shapes import ObservedPaths

EVALUATION_NODES = 5


def toy_model() -> SLiSDE:
    """Return the two-layer SLiSDE cell of tab:toy3-vanilla."""
    return SLiSDE(64, 8, 2, initial_value=0.45, key=jax.random.key(0))


def toy_cell(evaluation: Evaluation = Evaluation.AUTO) -> AbstractPathModel:
    """Return the same cell, evaluated as told."""
    model = toy_model()
    return model if evaluation is Evaluation.AUTO else Evaluated(model, evaluation)


def neural_sde_cell() -> NeuralSDE:
    """Return the Neural SDE of 124,289 parameters."""
    return NeuralSDE(64, 8, 128, initial_value=0.45, key=jax.random.key(0))


def slice_cell() -> SLiCE:
    """Return the SLiCE of 142,081 parameters."""
    return SLiCE(64, 8, 2, initial_value=0.45, key=jax.random.key(0))


class Evaluated(AbstractPathModel):
    """A SLiSDE whose evaluation is fixed instead of chosen."""

    model: SLiSDE
    evaluation: Evaluation = eqx.field(static=True)

    def drivers(self, grid, paths, *, antithetic=False, key):
        return self.model.drivers(grid, paths, antithetic=antithetic, key=key)

    def observe(self, grid, drivers):
        return self.model.observe(grid, drivers, evaluation=self.evaluation)


def statistics(y: ObservedPaths) -> Float[Array, "statistic node"]:
    """Return averages of the TOY kinds at all nodes: positive part, maximum, square, crossing."""
    nodes = jnp.arange(1, y.shape[1] + 1, dtype=y.dtype)
    highest = jax.vmap(running_maximum)(y)
    squares = jnp.cumsum(y**2, axis=1) / nodes[None]
    crossing = jax.nn.sigmoid((highest - 1.5) / 0.05)
    return jnp.stack(
        [jnp.mean(each, axis=0) for each in (jax.nn.relu(y), highest, squares, crossing)]
    )


def training_step(
    model: AbstractPathModel, steps: int, paths: int
) -> tuple[Callable[[int], Any], Callable[[int], Any]]:
    """Return two compiled functions of a seed: one training step, and one forward pass."""
    grid = TimeGrid.uniform(1.0, steps)
    optimiser = paper_optimiser(1000)
    dynamic, static = eqx.partition(model, eqx.is_inexact_array)
    holder = [dynamic, jax.jit(optimiser.init)(dynamic)]
    every = max(steps // EVALUATION_NODES, 1)

    def loss(dynamic, key):
        y = eqx.combine(dynamic, static)(grid, paths, key=key)
        return jnp.mean(statistics(y)[:, every::every] ** 2)

    @jax.jit
    def step(dynamic, state, seed):
        value, gradient = jax.value_and_grad(loss)(dynamic, jax.random.key(seed))
        updates, state = optimiser.update(gradient, state, dynamic)
        return eqx.apply_updates(dynamic, updates), state, value

    @jax.jit
    def forward(dynamic, seed):
        return statistics(eqx.combine(dynamic, static)(grid, paths, key=jax.random.key(seed)))

    def run_step(seed: int):
        holder[0], holder[1], value = step(holder[0], holder[1], seed)
        return value

    return run_step, lambda seed: forward(holder[0], seed)
