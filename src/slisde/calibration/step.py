"""One training step: fresh paths, loss, gradient, update (paper: sec:objective, app:expset)."""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from slisde.calibration.loss import plain_loss, unbiased_loss
from slisde.calibration.optimiser import paper_optimiser
from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel


@dataclass(frozen=True)
class TrainSettings:
    """How a model is trained; the defaults are the paper's protocol.

    Attributes:
        steps: training steps; the learning rate decays over them.
        paths: fresh paths per step.
        learning_rate: highest learning rate.
        warmup: steps until it is reached.
        weight_decay: AdamW's.
        clip: bound of the gradient's global norm.
        ema: decay of the averaged weights that are returned, or None for the last ones.
        antithetic: draw paths in mirrored pairs.
        unbiased: use the two-batch loss, whose gradient has no Monte-Carlo bias.
    """

    steps: int = 1000
    paths: int = 1024
    learning_rate: float = 1e-3
    warmup: int = 100
    weight_decay: float = 1e-4
    clip: float = 1.0
    ema: float | None = None
    antithetic: bool = False
    unbiased: bool = False

    def __post_init__(self):
        for name in ("steps", "paths"):
            if getattr(self, name) < 1:
                raise ArgumentError(
                    name, getattr(self, name), "must be at least 1", "it is a count"
                )
        if self.ema is not None and not 0.0 <= self.ema < 1.0:
            raise ArgumentError("ema", self.ema, "must be in [0, 1)", "at 1 nothing is averaged in")


class TrainState(eqx.Module):
    """All that changes during training; with the run's key it determines every later step."""

    weights: PyTree
    average: PyTree
    optimiser: PyTree
    step: Int[Array, ""]
    skipped: Int[Array, ""]


class StepReport(eqx.Module):
    """What one step saw."""

    loss: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    finite: Bool[Array, ""]


Step = Callable[[TrainState], tuple[TrainState, StepReport]]


def start(model: AbstractPathModel, settings: TrainSettings) -> TrainState:
    """Return the state before the first step."""
    weights = eqx.filter(model, eqx.is_inexact_array)
    optimiser = _optimiser(settings).init(weights)
    zero = jnp.zeros((), jnp.int32)
    return TrainState(weights, weights, optimiser, zero, zero)


def fitted(
    model: AbstractPathModel, state: TrainState, settings: TrainSettings
) -> AbstractPathModel:
    """Return the model with the trained weights, averaged ones where asked for."""
    weights = state.weights if settings.ema is None else state.average
    return eqx.combine(weights, eqx.filter(model, eqx.is_inexact_array, inverse=True))


def make_step(
    model: AbstractPathModel,
    problem: Problem,
    grid: TimeGrid,
    settings: TrainSettings,
    *,
    key: PRNGKeyArray,
) -> Step:
    """Return the compiled training step of a run; step k draws its paths from `fold_in(key, k)`."""
    static = eqx.filter(model, eqx.is_inexact_array, inverse=True)
    evaluator, times = problem.evaluator(smooth=True), jnp.asarray(grid.times)
    values = jnp.asarray(problem.values, times.dtype)
    target_weights = jnp.asarray(problem.weights(), times.dtype)
    objective = unbiased_loss if settings.unbiased else plain_loss
    optimiser = _optimiser(settings)

    def loss(weights, key):
        sampled = eqx.combine(weights, static)
        paths = sampled(grid, settings.paths, antithetic=settings.antithetic, key=key)
        return objective(evaluator(paths, times), values, target_weights)

    @jax.jit
    def step(state: TrainState) -> tuple[TrainState, StepReport]:
        draw = jax.random.fold_in(key, state.step)
        value, gradient = jax.value_and_grad(loss)(state.weights, draw)
        norm = optax.tree.norm(gradient)
        finite = jnp.isfinite(value) & jnp.isfinite(norm)
        updates, optimiser_state = optimiser.update(gradient, state.optimiser, state.weights)
        weights = eqx.apply_updates(state.weights, updates)
        changed = (weights, _averaged(state, weights, settings.ema), optimiser_state)
        before = (state.weights, state.average, state.optimiser)
        # A step with a non-finite loss or gradient leaves everything as it was, but is counted.
        weights, average, optimiser_state = jax.tree.map(
            lambda new, old: jnp.where(finite, new, old), changed, before
        )
        skipped = state.skipped + jnp.where(finite, 0, 1)
        state = TrainState(weights, average, optimiser_state, state.step + 1, skipped)
        return state, StepReport(value, norm, finite)

    return step


def _averaged(state: TrainState, weights: PyTree, decay: float | None) -> PyTree:
    if decay is None:
        return weights
    # Early on the average forgets faster, so that the start does not linger in it.
    count = state.step.astype(jnp.float32)
    decay_now = jnp.minimum(decay, (1.0 + count) / (10.0 + count))
    return jax.tree.map(lambda a, w: decay_now * a + (1.0 - decay_now) * w, state.average, weights)


def _optimiser(settings: TrainSettings) -> optax.GradientTransformation:
    return paper_optimiser(
        settings.steps,
        learning_rate=settings.learning_rate,
        warmup=settings.warmup,
        weight_decay=settings.weight_decay,
        clip=settings.clip,
    )
