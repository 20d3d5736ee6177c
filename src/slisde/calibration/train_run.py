"""Train inside a run directory: checkpoints, history, and going on where it stopped."""

import os
import time
from collections.abc import Callable, Sequence

import equinox as eqx
from jaxtyping import PRNGKeyArray

from slisde.calibration.fit import Progress, train
from slisde.calibration.penalty import Penalty
from slisde.calibration.processes import is_writer
from slisde.calibration.run import RunDirectory
from slisde.calibration.settings import TrainSettings
from slisde.calibration.simulate import local_copy
from slisde.calibration.step import TrainState, start
from slisde.errors import ConfigError, DivergenceError
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel

CHECKPOINT_SECONDS = 10.0
"""Time between checkpoints, what a run that is killed can lose; SLISDE_CHECKPOINT_SECONDS sets it."""


def train_run(
    run: RunDirectory,
    model: AbstractPathModel,
    problem: Problem,
    grid: TimeGrid,
    settings: TrainSettings,
    *,
    penalties: Sequence[Penalty] = (),
    checkpoint_seconds: float | None = None,
    report: Callable[[Progress], None] | None = None,
    key: PRNGKeyArray,
) -> TrainState:
    """Train from the last checkpoint, or from the start, to the end; returns the final state.

    A step depends on the state before it, its number and the key alone, so that a run which was
    stopped anywhere ends with the same bits.
    """
    if checkpoint_seconds is None:
        checkpoint_seconds = _checkpoint_seconds()
    state = run.latest_state(eqx.filter_eval_shape(start, model, problem, settings))
    state = start(model, problem, settings) if state is None else state
    steps = train(model, problem, grid, settings, penalties=penalties, state=state, key=key)
    if not is_writer():  # the process that writes is at the same step and keeps the same state
        for progress in steps:
            state = progress.state
        return local_copy(state)
    earlier = run.cut_history(int(state.step))
    begun = time.monotonic() - (earlier[-1]["seconds"] if earlier else 0.0)
    saved = time.monotonic()
    with run.recording() as history:
        try:
            for progress in steps:
                # In this order: an interrupt between the two leaves a line too many, which is cut,
                # and never one too few.
                history.add(progress, time.monotonic() - begun)
                state = progress.state
                if time.monotonic() - saved >= checkpoint_seconds:
                    history.sync()
                    run.save_state(local_copy(state))
                    saved = time.monotonic()
                if report is not None:
                    report(progress)
        except DivergenceError as error:
            run.save_state(local_copy(state))
            raise DivergenceError(
                f"{error} The last good weights are kept in {run.checkpoints}."
            ) from None
        except KeyboardInterrupt:
            run.save_state(local_copy(state))
            raise
        history.sync()
    state = local_copy(state)
    run.save_state(state)
    return state


def _checkpoint_seconds() -> float:
    text = os.environ.get("SLISDE_CHECKPOINT_SECONDS")
    if text is None:
        return CHECKPOINT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise ConfigError(f"SLISDE_CHECKPOINT_SECONDS must be a number ≥ 0, got {text!r}.")
    return seconds
