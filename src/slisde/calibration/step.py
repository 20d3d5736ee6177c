"""One training step: fresh paths, loss, gradient, update (paper: sec:objective, app:expset)."""

from collections.abc import Callable, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from slisde.calibration.answers import Answers
from slisde.calibration.filtered import Filtered
from slisde.calibration.objective import Memory, Objective, training_weights
from slisde.calibration.optimiser import paper_optimiser
from slisde.calibration.penalty import Penalty
from slisde.calibration.settings import AUTO, TrainSettings
from slisde.calibration.tilted import TiltState, untrained_tilts
from slisde.calibration.validation import Best
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel


class TrainState(eqx.Module):
    """All that changes during training; with the run's key it determines every later step."""

    weights: PyTree
    average: PyTree
    optimiser: PyTree
    step: Int[Array, ""]
    skipped: Int[Array, ""]
    best: Best | None
    memory: Memory | None
    tilt: TiltState | None


class StepReport(eqx.Module):
    """What one step saw.

    Attributes:
        loss: the training loss.
        gradient_norm: before it is clipped.
        finite: whether both are finite; the step changed nothing otherwise.
        effective: effective share of the paths of each tilt that took part.
    """

    loss: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    finite: Bool[Array, ""]
    effective: Float[Array, " tilt"]


Step = Callable[[TrainState], tuple[TrainState, StepReport]]


def start(model: AbstractPathModel, problem: Problem, settings: TrainSettings) -> TrainState:
    """Return the state before the first step."""
    weights = eqx.filter(model, eqx.is_inexact_array)
    optimiser = _optimiser(settings).init(weights)
    zero = jnp.zeros((), jnp.int32)
    best = None if settings.patience is None else Best.nothing_yet(weights)
    errors = jnp.zeros(np.flatnonzero(training_weights(model, problem)).size)
    answers = None if settings.whitening is None else Answers.unknown(errors.size)
    filtered = Filtered.of_nothing(errors.size) if settings.memory == AUTO else None
    memory = None if settings.memory is None else Memory(errors, weights, answers, filtered)
    tilt = None if settings.tilt is None else untrained_tilts(model, settings.tilt)
    return TrainState(weights, weights, optimiser, zero, zero, best, memory, tilt)


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
    objective = Objective(model, problem, grid, settings, penalties)
    optimiser = _optimiser(settings)

    @partial(jax.jit, static_argnums=(1, 2))
    def step(state: TrainState, paths: int, tilted: bool) -> tuple[TrainState, StepReport]:
        key_now = jax.random.fold_in(key, state.step)
        tilts = state.tilt.tilts if tilted and state.tilt is not None else None
        differentiate = jax.value_and_grad(objective, has_aux=True)
        (value, aside), gradient = differentiate(
            state.weights, state.memory, tilts, state.step, paths, key_now
        )
        norm = optax.tree.norm(gradient)
        finite = jnp.isfinite(value) & jnp.isfinite(norm)
        updates, optimiser_state = optimiser.update(gradient, state.optimiser, state.weights)
        weights = eqx.apply_updates(state.weights, updates)
        memory = state.memory
        if aside.averaged is not None and memory is not None:
            errors, filtered = aside.averaged
            memory = Memory(errors, state.weights, memory.answers, filtered)
        average = _averaged(state, weights, settings.ema)
        tilt = state.tilt
        if objective.tilted is not None and tilt is not None and aside.seen:
            tilt = objective.tilted.improve(tilt, aside.seen)
        changed = (weights, average, optimiser_state, memory, tilt)
        before = (state.weights, state.average, state.optimiser, state.memory, state.tilt)
        # A step with a non-finite loss or gradient leaves everything as it was, but is counted.
        weights, average, optimiser_state, memory, tilt = jax.tree.map(
            lambda new, old: jnp.where(finite, new, old), changed, before
        )
        skipped = state.skipped + jnp.where(finite, 0, 1)
        state = TrainState(
            weights, average, optimiser_state, state.step + 1, skipped, state.best, memory, tilt
        )
        effective = jnp.array([each.effective for each in aside.seen])
        return state, StepReport(value, norm, finite, effective)

    @jax.jit
    def look(weights: PyTree, number: Int[Array, ""], before: Answers) -> Answers:
        fresh = objective.answers(weights, jax.random.fold_in(key, number))
        finite = jnp.all(jnp.isfinite(fresh.changes))
        return jax.tree.map(partial(jnp.where, finite), fresh, before)

    def take(state: TrainState) -> tuple[TrainState, StepReport]:
        number = int(state.step)
        known = None if state.memory is None else state.memory.answers
        if known is not None and settings.sketches_at(number):
            answers = look(state.weights, state.step, known)
            state = eqx.tree_at(lambda s: s.memory.answers, state, answers)
        return step(state, settings.paths_at(number), settings.tilts_at(number))

    return take


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
        beta2=settings.beta2,
    )
