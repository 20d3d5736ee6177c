"""Validation during training, early stopping and late batches."""

import jax
import numpy as np
import pytest

from slisde import SLiSDE, TimeGrid, TrainSettings, calibrate
from slisde.calibration.step import start
from slisde.calibration.validation import Best, validate
from slisde.errors import ArgumentError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward

GRID = TimeGrid.uniform(1.0, 8)
KEY = jax.random.key(11)


def problem(*, held_out: bool = True):
    return Problem(
        [Target(Forward(1.0), 1.0), Target(Call(1.0, 1.0), 0.08, held_out=held_out)], 1.0, 1.0
    )


def model():
    return SLiSDE(8, 2, 2, block_size=4, initial_value=1.0, key=KEY)


def settings(**options):
    return TrainSettings(**{"steps": 20, "paths": 64, "validation_paths": 256, **options})


def test_validations_come_when_they_are_due_and_after_the_last_step():
    seen = []
    calibrate(model(), problem(), GRID, settings(validate_every=8), report=seen.append, key=KEY)
    assert [p.step for p in seen if p.validation is not None] == [8, 16, 20]


def test_the_held_out_targets_are_validated_where_there_are_any():
    result = validate(model(), problem(), GRID, 256, 8, key=KEY)
    everything = validate(model(), problem(held_out=False), GRID, 256, 8, key=KEY)
    assert result.loss != everything.loss
    assert result.standard_error > 0


def test_validation_does_not_change_training():
    first, second = (
        calibrate(model(), problem(), GRID, settings(validate_every=n), key=KEY) for n in (0, 5)
    )
    for mine, theirs in zip(
        jax.tree.leaves(first.state), jax.tree.leaves(second.state), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_training_stops_when_nothing_gets_better_and_returns_the_best_weights():
    """A learning rate that is far too high makes every validation after the first ones worse."""
    wild = settings(steps=200, learning_rate=3.0, warmup=1, validate_every=1, patience=4, clip=1e6)
    seen = []
    fit = calibrate(model(), problem(), GRID, wild, report=seen.append, key=KEY)
    losses = [progress.validation.loss for progress in seen]
    assert len(losses) < 200
    best = int(np.nanargmin(losses))
    assert best == len(losses) - 1 - 4
    kept = seen[best].state.weights
    assert fit.state.best is not None
    assert isinstance(fit.model, SLiSDE)
    for mine, theirs in zip(
        jax.tree.leaves(fit.state.best.weights), jax.tree.leaves(kept), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(fit.model.readout.kernel, kept.readout.kernel)


def test_a_nan_is_never_the_best():
    weights = start(model(), problem(), settings()).weights
    best = Best.nothing_yet(weights).judged(weights, float("nan"))
    assert int(best.stale) == 1
    assert np.isinf(best.loss)


def test_late_steps_have_more_paths():
    chosen = settings(steps=20, late_factor=4)
    assert [chosen.paths_at(step) for step in (0, 15, 16, 19)] == [64, 64, 256, 256]


def test_late_batches_change_the_late_steps_only():
    plain = calibrate(model(), problem(), GRID, settings(), key=KEY).losses
    late = calibrate(model(), problem(), GRID, settings(late_factor=2), key=KEY).losses
    assert late[:16] == plain[:16]
    assert late[16:] != plain[16:]


@pytest.mark.parametrize(
    "options",
    [
        {"late_factor": 0},
        {"validate_every": -1},
        {"patience": 0, "validate_every": 1},
        {"learning_rate": 0.0},
        {"clip": float("nan")},
    ],
)
def test_settings_outside_their_domain_are_refused(options):
    with pytest.raises(ArgumentError, match=f"`{next(iter(options))}` must be"):
        TrainSettings(**options)


def test_patience_without_validation_is_refused():
    with pytest.raises(ArgumentError, match="`patience` must be None while `validate_every` is 0"):
        TrainSettings(patience=3)
