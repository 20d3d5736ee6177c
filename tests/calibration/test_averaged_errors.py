"""Averaged errors: what they remember, for how long, and how they follow weights that move."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import SLiSDE, TimeGrid
from slisde.calibration.loss import remembered_share
from slisde.calibration.objective import Memory, Objective
from slisde.calibration.optimiser import rate_left
from slisde.calibration.settings import TrainSettings
from slisde.calibration.simulate import simulate
from slisde.calibration.step import start, with_weights
from slisde.functionals.barrier import CrossesAbove
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, DigitalBelow

GRID = TimeGrid.uniform(1.0, 16)
KEY = jax.random.key(7)
PATHS, REPLICATIONS = 256, 200
PROBLEM = Problem(
    [
        Target(CrossesAbove(1.0, 1.3), 0.17, "barrier"),
        Target(DigitalBelow(1.0, 0.9), 0.3, "digital"),
        Target(Call(1.0, 1.0), 0.08, "call"),
    ],
    1.0,
    1.0,
)
MODEL = SLiSDE(8, 2, 2, block_size=4, initial_value=1.0, key=KEY)
SETTINGS = TrainSettings(steps=10_000, paths=PATHS, memory=0.97, straight_through=True)
OBJECTIVE = Objective(MODEL, PROBLEM, GRID, SETTINGS)
WEIGHTS = start(MODEL, PROBLEM, SETTINGS).weights


def errors(weights, memory, step, key):
    """Return the averaged errors after a step."""
    _, aside = OBJECTIVE(weights, memory, None, jnp.asarray(step), PATHS, key)
    assert aside.averaged is not None
    return aside.averaged.errors


def hard_means(weights, key):
    """Return the means of the functionals themselves on the paths of a step."""
    paths = simulate(with_weights(MODEL, weights), GRID, PATHS, key=key)
    return jnp.mean(PROBLEM.evaluator()(paths, jnp.asarray(GRID.times)), axis=0)


@pytest.mark.parametrize("step", [0, 3, 500, 9_999])
def test_of_weights_that_rest_the_hard_errors_are_averaged(step):
    before = jnp.array([0.02, -0.01, 0.003])
    now = jnp.asarray(step)
    share = remembered_share(0.03 * rate_left(SETTINGS.steps, SETTINGS.warmup, now), now)
    own = hard_means(WEIGHTS, KEY) - PROBLEM.values
    seen = errors(WEIGHTS, Memory(before, WEIGHTS, None), step, KEY)
    np.testing.assert_allclose(seen, (1.0 - share) * own + share * before, atol=1e-6)


def test_weights_that_move_are_followed_with_far_less_noise_than_hard_indicators_have():
    """At the last step nothing is forgotten, so the averaged errors move by what is followed alone."""
    moved = jax.tree.map(lambda weight: 1.01 * weight, WEIGHTS)
    memory = Memory(jnp.zeros(3), WEIGHTS, None)

    def one(key):
        followed = errors(moved, memory, SETTINGS.steps - 1, key)
        return followed, hard_means(moved, key) - hard_means(WEIGHTS, key)

    followed, hard = map(np.asarray, jax.lax.map(one, jax.random.split(KEY, REPLICATIONS)))
    np.testing.assert_allclose(followed[:, 2], hard[:, 2], atol=1e-4)  # nothing jumps in a call
    followed, hard = followed[:, :2], hard[:, :2]
    standard_error = (followed - hard).std(axis=0) / REPLICATIONS**0.5
    assert np.all(np.abs((followed - hard).mean(axis=0)) <= 4 * standard_error)
    assert np.all(followed.std(axis=0) < hard.std(axis=0) / 3)


def test_at_first_all_steps_count_alike():
    values = np.random.default_rng(0).normal(size=20)
    average = 0.0
    for step, value in enumerate(values):
        share = float(remembered_share(jnp.asarray(0.03), jnp.asarray(step)))
        average = (1.0 - share) * value + share * average
    assert average == pytest.approx(values.mean(), rel=1e-5)


@pytest.mark.parametrize(("forgetting", "share"), [(0.03, 0.97), (0.0, 1000 / 1001), (2.0, 0.0)])
def test_later_a_share_is_forgotten_at_every_step(forgetting, share):
    assert float(remembered_share(jnp.asarray(forgetting), jnp.asarray(1000))) == pytest.approx(
        share
    )


def test_the_rate_that_is_left_is_one_until_the_peak_and_falls_to_nothing():
    left = np.array([float(rate_left(400, 100, jnp.asarray(step))) for step in range(401)])
    np.testing.assert_allclose(left[:101], 1.0)
    np.testing.assert_allclose(left[250], 0.5, atol=1e-6)
    np.testing.assert_allclose(left[400], 0.0, atol=1e-6)
    assert np.all(np.diff(left[100:]) < 0.0)


def test_a_run_shorter_than_its_warm_up_forgets_at_one_pace():
    assert all(float(rate_left(5, 100, jnp.asarray(step))) == 1.0 for step in range(5))
