"""Fit a model to a problem in memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import equinox as eqx
from jaxtyping import PRNGKeyArray

from slisde.calibration.penalty import Penalty
from slisde.calibration.settings import TrainSettings
from slisde.calibration.simulate import local_copy, replicate
from slisde.calibration.step import (
    TrainState,
    candidate,
    fitted,
    make_step,
    start,
    with_weights,
)
from slisde.calibration.validation import Validation, validate
from slisde.errors import DivergenceError
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel
from slisde.model.memory import check_memory
from slisde.model.stack import SLiSDE

ENDURANCE = 20
"""Non-finite steps in a row after which training has diverged."""


@dataclass(frozen=True)
class Progress:
    """Where training is after a step; `effective` is the effective share of each tilt's paths."""

    state: TrainState
    step: int
    loss: float
    gradient_norm: float
    finite: bool
    effective: tuple[float, ...]
    validation: Validation | None


@dataclass(frozen=True)
class Fit:
    """A trained model and how it got there."""

    model: AbstractPathModel
    state: TrainState
    losses: list[float]
    skipped: int


def calibrate(
    model: AbstractPathModel,
    problem: Problem,
    grid: TimeGrid,
    settings: TrainSettings | None = None,
    *,
    penalties: Sequence[Penalty] = (),
    state: TrainState | None = None,
    report: Callable[[Progress], None] | None = None,
    key: PRNGKeyArray,
) -> Fit:
    """Return the model fitted to the problem's targets.

    Args:
        model: the model with its initial weights.
        problem: what its expectations should be.
        grid: the grid to simulate on; it must reach the problem's horizon.
        settings: the training protocol; the paper's by default.
        penalties: functions of (model, paths) added to the loss.
        state: where an earlier run stopped, to go on from there to the same result.
        report: called after each step.
        key: the run's key; step k uses `fold_in(key, k)`.
    """
    settings = TrainSettings() if settings is None else settings
    state = start(model, problem, settings) if state is None else state
    losses: list[float] = []
    for progress in train(
        model, problem, grid, settings, penalties=penalties, state=state, key=key
    ):
        state = progress.state
        losses.append(progress.loss)
        if report is not None:
            report(progress)
    state = local_copy(state)
    return Fit(fitted(model, state, settings), state, losses, int(state.skipped))


def train(
    model: AbstractPathModel,
    problem: Problem,
    grid: TimeGrid,
    settings: TrainSettings,
    *,
    penalties: Sequence[Penalty] = (),
    state: TrainState,
    key: PRNGKeyArray,
) -> Iterator[Progress]:
    """Yield after every step until the last one, or until no validation gets better."""
    if isinstance(model, SLiSDE):
        check_memory(model, grid.steps, settings.paths * settings.late_factor)
    take_step = make_step(model, problem, grid, settings, penalties=penalties, key=key)
    in_a_row, state = 0, replicate(state)
    while int(state.step) < settings.steps and not _stopped(state, settings):
        state, seen = take_step(state)
        step, validation = int(state.step), None
        if settings.validates_after(step):
            weights = candidate(state, settings)
            validation = validate(
                with_weights(model, local_copy(weights)),
                problem,
                grid,
                settings.validation_paths,
                step,
                key=key,
            )
            if state.best is not None:
                best = state.best.judged(weights, validation.loss)
                state = replicate(eqx.tree_at(lambda s: s.best, state, best))
        in_a_row = 0 if bool(seen.finite) else in_a_row + 1
        yield Progress(
            state,
            step,
            float(seen.loss),
            float(seen.gradient_norm),
            bool(seen.finite),
            tuple(local_copy(seen.effective).tolist()),
            validation,
        )
        if in_a_row >= ENDURANCE:
            raise DivergenceError(
                f"training diverged at step {step}: {ENDURANCE} steps in a row had a non-finite "
                "loss or gradient; lower the learning rate."
            )


def _stopped(state: TrainState, settings: TrainSettings) -> bool:
    return (
        settings.patience is not None
        and state.best is not None
        and int(state.best.stale) >= settings.patience
    )
