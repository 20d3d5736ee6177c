"""Averages that forget by their noise: the gain, and how well errors are known by it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import SLiSDE, TimeGrid
from slisde.calibration.filtered import Average, Filtered
from slisde.calibration.objective import Memory, Objective
from slisde.calibration.settings import AUTO, TrainSettings
from slisde.calibration.simulate import simulate
from slisde.calibration.step import start, with_weights
from slisde.calibration.tilt_settings import TiltTraining
from slisde.errors import ArgumentError
from slisde.functionals.barrier import CrossesAbove
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call

PATHS = 4096
WEIGHTS = jnp.array([1.0, 0.5])


def drawn(move: float, overlap: float) -> tuple[jax.Array, jax.Array]:
    """Return samples, and moves with a mean that share some of their noise."""
    first, second = np.random.default_rng(3).normal(size=(2, PATHS, 2))
    return jnp.asarray(first), jnp.asarray(move + 0.1 * (overlap * first + second))


def variances(samples, moves) -> tuple[float, float, float]:
    """Return those of the means of both, and their covariance, weighted."""
    spread, change = (x - x.mean(axis=0)[None] for x in (samples, moves))

    def weighted(product) -> float:
        return float(WEIGHTS @ jnp.mean(product, axis=0)) / PATHS

    return weighted(spread**2), weighted(change**2), weighted(spread * change)


def known(variance: float, noise: float) -> Average:
    return Average(jnp.zeros(2), jnp.asarray(variance), jnp.asarray(noise))


@pytest.mark.parametrize("variance", [1e-7, 1e-5, 1e-3, 1e-1])
@pytest.mark.parametrize("overlap", [-2.0, 0.0, 2.0])
def test_no_other_gain_leaves_less_variance(variance, overlap):
    samples, moves = drawn(0.3, overlap)
    own, change, shared = variances(samples, moves)
    after = known(variance, own).taking_in(samples, moves, jnp.zeros(2), WEIGHTS)
    gains = np.linspace(0.0, 1.0, 1001)
    rest = 1.0 - gains
    left = rest**2 * (variance + change) + 2.0 * gains * rest * shared + gains**2 * own
    assert float(after.variance) <= left.min() * (1 + 1e-5)
    gain = gains[left.argmin()]
    expected = (1.0 - gain) * moves.mean(axis=0) + gain * samples.mean(axis=0)
    np.testing.assert_allclose(after.mean, expected, atol=1.1e-3)


def test_where_nothing_is_known_the_step_is_all():
    samples, moves = drawn(0.1, 0.0)
    after = Average.of_nothing(2).taking_in(samples, moves, jnp.zeros(2), WEIGHTS)
    np.testing.assert_allclose(after.mean, samples.mean(axis=0), rtol=1e-6)
    own, _, _ = variances(samples, moves)
    assert [float(after.variance), float(after.noise)] == pytest.approx([own, own], rel=1e-5)


def test_what_has_strayed_makes_room_for_what_is_new():
    samples, moves = drawn(0.0, 0.0)
    still, strayed = (
        known(1e-6, 1e-3).taking_in(samples, 0.0 * moves, jnp.full(2, each), WEIGHTS)
        for each in (0.0, 1.0)
    )
    assert float(still.variance) == pytest.approx(1e-6, rel=2e-3)
    np.testing.assert_allclose(strayed.mean, samples.mean(axis=0), rtol=1e-3)


def test_samples_without_noise_leave_no_gain_undefined():
    constant = jnp.ones((8, 2))
    after = known(0.0, 0.0).taking_in(constant, 0.0 * constant, jnp.zeros(2), WEIGHTS)
    assert all(np.isfinite(value).all() for value in (after.mean, after.variance, after.noise))


def test_a_batch_does_not_count_less_because_its_payoffs_are_large():
    """The mean and the variance of skewed samples rise together: averages by them would be too low."""
    batches = jnp.exp(1.5 * jax.random.normal(jax.random.key(5), (4000, 32, 2)))
    before = known(0.05, 0.1)
    after = jax.vmap(lambda x: before.taking_in(x, 0.0 * x, jnp.zeros(2), WEIGHTS))(batches)
    gains = np.asarray(after.mean / batches.mean(axis=1))
    assert np.ptp(gains) < 1e-5


def test_an_indicator_is_its_sigmoid_and_a_gap():
    rng = np.random.default_rng(9)
    heights = jnp.asarray(rng.normal(size=(PATHS, 2)))
    hard, soft = (heights > 0.5).astype(float), jax.nn.sigmoid((heights - 0.5) / 0.05)
    values = jnp.array([0.3, 0.2])
    after = Filtered.of_nothing(2).taking_in(hard, soft, soft, values, WEIGHTS)
    np.testing.assert_allclose(after.errors, hard.mean(axis=0) - values, atol=1e-6)
    assert after.gap.variance < after.followed.variance / 5


GRID = TimeGrid.uniform(1.0, 16)
KEY = jax.random.key(7)
PROBLEM = Problem(
    [Target(CrossesAbove(1.0, 1.3), 0.17, "barrier"), Target(Call(1.0, 1.0), 0.08, "call")],
    1.0,
    1.0,
)
MODEL = SLiSDE(8, 2, 2, block_size=4, initial_value=1.0, key=KEY)
SMALL = 128


def followed(settings: TrainSettings, weights_at, steps: int, key) -> Memory:
    """Return the memory after steps whose weights are given, not trained."""
    objective = Objective(MODEL, PROBLEM, GRID, settings)
    memory = start(MODEL, PROBLEM, settings).memory
    assert memory is not None

    def step(memory, number):
        weights = weights_at(number)
        _, aside = objective(weights, memory, None, number, SMALL, jax.random.fold_in(key, number))
        assert aside.averaged is not None
        errors, filtered = aside.averaged
        return Memory(errors, weights, None, filtered), None

    return jax.lax.scan(step, memory, jnp.arange(steps))[0]


def resting(_):
    return start(MODEL, PROBLEM, TrainSettings()).weights


def variance(memory: Memory):
    """Return that of the averaged errors, weighted."""
    assert memory.filtered is not None
    return memory.filtered.followed.variance + memory.filtered.gap.variance


@pytest.mark.parametrize("antithetic", [False, True])
def test_of_weights_that_rest_all_paths_count_nearly_alike(antithetic):
    steps = 40
    settings = TrainSettings(steps=steps, paths=SMALL, memory=AUTO, antithetic=antithetic)
    memory = followed(settings, resting, steps, KEY)
    model, functionals = with_weights(MODEL, resting(0)), PROBLEM.evaluator()

    def batch(number):
        key = jax.random.fold_in(KEY, number)
        paths = simulate(model, GRID, SMALL, antithetic=antithetic, key=key)
        return jnp.mean(functionals(paths, jnp.asarray(GRID.times)), axis=0)

    mean = jnp.mean(jax.lax.map(batch, jnp.arange(steps)), axis=0)
    # The noise of a step is not quite what the steps before it say, so the shares are not quite equal.
    spread = float(jnp.sqrt(variance(memory) / PROBLEM.weights()[1]))
    assert abs(float(memory.errors[1] + PROBLEM.values[1] - mean[1])) < 0.25 * spread


def test_the_variance_is_that_of_the_averaged_errors():
    """Weights move, then rest: over many runs the errors scatter as the memory says."""
    first = resting(0)

    def moving(number):
        return jax.tree.map(lambda weight: weight * (1.0 + 0.01 * jnp.minimum(number, 20)), first)

    settings = TrainSettings(steps=30, paths=SMALL, memory=AUTO, straight_through=True)
    truth_key, *keys = jax.random.split(KEY, 97)
    memories = jax.lax.map(lambda key: followed(settings, moving, 30, key), jnp.stack(keys))
    paths = simulate(with_weights(MODEL, moving(29)), GRID, 2**17, key=truth_key)
    truth = jnp.mean(PROBLEM.evaluator()(paths, jnp.asarray(GRID.times)), axis=0) - PROBLEM.values
    squares = (memories.errors - truth[None]) ** 2 @ PROBLEM.weights()
    said = float(jnp.mean(variance(memories)))
    seen, error = float(squares.mean()), float(squares.std()) / len(keys) ** 0.5
    # Room for sigmoids that stray is part of what is said, so it may be too much by some of it.
    assert seen - 4 * error < said < 3 * (seen + 4 * error)


def test_a_tilt_has_no_noise_that_a_gain_could_be_had_from():
    with pytest.raises(ArgumentError, match="`memory` must be a number with a tilt, got 'auto'"):
        TrainSettings(memory=AUTO, tilt=TiltTraining())
