"""Whitened errors are those of the damped Gauss–Newton step, and make slow errors fast."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.calibration.answers import Answers
from slisde.calibration.settings import TrainSettings
from slisde.errors import ArgumentError

SCALES = jnp.array([1.0, 0.1, 0.01])
"""A linear map of three weights to three targets, of which the last hardly answers."""


def targets(weights):
    return SCALES * weights["first"]


@pytest.fixture
def answers():
    weights = {"first": jnp.ones(3), "unused": jnp.ones((2, 2))}
    return Answers.sketch(targets, weights, key=jax.random.key(0))


def test_a_sketch_has_the_kernel_of_the_slopes(answers):
    kernel = np.asarray(answers.changes.T @ answers.changes)
    # A mean over n directions of products of normals has the relative deviation √(2/n).
    error = 4.0 * (2.0 / len(answers.changes)) ** 0.5
    np.testing.assert_allclose(np.diag(kernel) / kernel[0, 0], SCALES**2, rtol=2.0 * error)
    assert np.linalg.eigvalsh(kernel)[-1] == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("damping", [0.01, 0.5])
def test_whitening_inverts_the_damped_kernel(answers, damping):
    errors = jnp.array([0.3, -0.2, 0.1])
    kernel = answers.changes.T @ answers.changes + damping * jnp.eye(3)
    np.testing.assert_allclose(
        answers.whiten(errors, damping), jnp.linalg.solve(kernel, errors), rtol=2e-3
    )


def test_errors_that_hardly_answer_are_raised_by_the_damping_at_most(answers):
    raised = np.asarray(answers.whiten(jnp.ones(3), 0.03))
    assert raised[0] < 2.0
    assert 0.8 / 0.03 < raised[2] <= 1.0 / 0.03 * 1.05


def test_descent_with_whitened_errors_is_done_where_plain_descent_has_hardly_begun(answers):
    def after(steps, damping):
        weights = {"first": jnp.ones(3), "unused": jnp.ones((2, 2))}
        for _ in range(steps):
            errors, back = jax.vjp(targets, weights)
            pull = errors if damping is None else answers.whiten(errors, damping)
            (slope,) = back(pull)
            weights = jax.tree.map(lambda w, s: w - 0.5 * s, weights, slope)
        return np.abs(np.asarray(weights["first"]))

    assert after(200, None)[2] > 0.95
    assert after(200, 0.003)[2] < 0.2
    assert np.all(after(200, 0.003)[:2] < 0.01)


def test_nothing_known_changes_nothing_but_the_scale():
    errors = jnp.array([0.3, -0.2])
    np.testing.assert_allclose(Answers.unknown(2).whiten(errors, 0.5), 2.0 * errors)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1])
def test_a_damping_outside_its_range_is_refused(value):
    with pytest.raises(ArgumentError, match="whitening"):
        TrainSettings(memory=0.9, whitening=value)


def test_whitening_needs_averaged_errors():
    with pytest.raises(ArgumentError, match="without `memory`"):
        TrainSettings(whitening=0.1)


def test_looks_are_spread_over_the_steps_and_begin_with_the_first():
    settings = TrainSettings(steps=100, memory=0.9, whitening=0.1)
    assert [step for step in range(100) if settings.sketches_at(step)] == [0, 5, 20, 50]
    assert not any(TrainSettings(steps=100).sketches_at(step) for step in range(100))
