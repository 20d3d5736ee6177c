"""One training step: fresh paths, loss, gradient, update (paper: sec:objective, app:expset)."""

from collections.abc import Callable, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from slisde.calibration.loss import plain_loss, unbiased_loss
from slisde.calibration.optimiser import paper_optimiser
from slisde.calibration.penalty import Penalty
from slisde.calibration.settings import TrainSettings
from slisde.calibration.simulate import simulate
from slisde.calibration.validation import Best
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import drawn
from slisde.functionals.base import Smoothing
from slisde.functionals.problem import Problem
from slisde.functionals.terminal import Forward
from slisde.model.interface import AbstractPathModel


class TrainState(eqx.Module):
    """All that changes during training; with the run's key it determines every later step."""

    weights: PyTree
    average: PyTree
    optimiser: PyTree
    step: Int[Array, ""]
    skipped: Int[Array, ""]
    best: Best | None


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
    best = None if settings.patience is None else Best.nothing_yet(weights)
    return TrainState(weights, weights, optimiser, zero, zero, best)


def fitted(
    model: AbstractPathModel, state: TrainState, settings: TrainSettings
) -> AbstractPathModel:
    """Return the model with the trained weights: the best validated ones, averages or the last."""
    if state.best is not None and bool(jnp.isfinite(state.best.loss)):
        return with_weights(model, state.best.weights)
    return with_weights(model, candidate(state, settings))


def candidate(state: TrainState, settings: TrainSettings) -> PyTree:
    """Return the weights that training would return if it stopped now."""
    return state.weights if settings.ema is None else state.average


def with_weights(model: AbstractPathModel, weights: PyTree) -> AbstractPathModel:
    """Return the model with other weights."""
    return eqx.combine(weights, eqx.filter(model, eqx.is_inexact_array, inverse=True))


def make_step(
    model: AbstractPathModel,
    problem: Problem,
    grid: TimeGrid,
    settings: TrainSettings,
    *,
    penalties: Sequence[Penalty] = (),
    key: PRNGKeyArray,
) -> Step:
    """Return the training step of a run; step k draws its paths from `fold_in(key, k)`."""
    static = eqx.filter(model, eqx.is_inexact_array, inverse=True)
    smoothing = Smoothing(settings.temperature, settings.straight_through)
    evaluator, times = problem.evaluator(smoothing), jnp.asarray(grid.times)
    values = jnp.asarray(problem.values, times.dtype)
    target_weights = jnp.asarray(_training_weights(model, problem), times.dtype)
    objective = unbiased_loss if settings.unbiased else plain_loss
    optimiser = _optimiser(settings)

    def loss(weights, paths, key):
        sampled = eqx.combine(weights, static)
        batch = simulate(sampled, grid, paths, antithetic=settings.antithetic, key=key)
        batch = batch if settings.conditional else drawn(batch)
        data = objective(evaluator(batch, times), values, target_weights)
        return data + sum(penalty(sampled, drawn(batch)) for penalty in penalties)

    @partial(jax.jit, static_argnums=1)
    def step(state: TrainState, paths: int) -> tuple[TrainState, StepReport]:
        draw = jax.random.fold_in(key, state.step)
        value, gradient = jax.value_and_grad(loss)(state.weights, paths, draw)
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
        state = TrainState(weights, average, optimiser_state, state.step + 1, skipped, state.best)
        return state, StepReport(value, norm, finite)

    return lambda state: step(state, settings.paths_at(int(state.step)))


def _training_weights(model: AbstractPathModel, problem: Problem) -> Float[np.ndarray, " target"]:
    """Return the problem's weights, without the forwards that a martingale meets by construction.

    Their sampled errors would be noise and nothing else.
    """
    weights = problem.weights()
    if model.is_martingale:
        known = [
            isinstance(target.functional, Forward) and target.value == problem.initial_value
            for target in problem.targets
        ]
        weights = np.where(known, 0.0, weights)
    return weights


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
