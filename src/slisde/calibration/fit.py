"""Fit a model to a problem in memory."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import PRNGKeyArray

from slisde.calibration.step import TrainSettings, TrainState, fitted, make_step, start
from slisde.errors import DivergenceError
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel
from slisde.model.memory import check_memory
from slisde.model.stack import SLiSDE

PATIENCE = 20
"""Non-finite steps in a row after which training has diverged."""


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
    state: TrainState | None = None,
    report: Callable[[int, float], None] | None = None,
    key: PRNGKeyArray,
) -> Fit:
    """Return the model fitted to the problem's targets.

    Args:
        model: the model with its initial weights.
        problem: what its expectations should be.
        grid: the grid to simulate on; it must reach the problem's horizon.
        settings: the training protocol; the paper's by default.
        state: where an earlier run stopped, to go on from there to the same result.
        report: called after each step with its number and its loss.
        key: the run's key; step k uses `fold_in(key, k)`.
    """
    settings = TrainSettings() if settings is None else settings
    if isinstance(model, SLiSDE):
        check_memory(model, grid.steps, settings.paths)
    step = make_step(model, problem, grid, settings, key=key)
    state = start(model, settings) if state is None else state
    losses: list[float] = []
    in_a_row = 0
    while int(state.step) < settings.steps:
        state, seen = step(state)
        losses.append(float(seen.loss))
        in_a_row = 0 if bool(seen.finite) else in_a_row + 1
        if in_a_row >= PATIENCE:
            raise DivergenceError(
                f"training diverged at step {int(state.step)}: {PATIENCE} steps in a row had a "
                "non-finite loss or gradient; lower the learning rate."
            )
        if report is not None:
            report(int(state.step), losses[-1])
    return Fit(fitted(model, state, settings), state, losses, int(state.skipped))
