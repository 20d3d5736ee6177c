"""Estimates of a Brownian motion, whose expectations are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from slisde import AbstractPathModel, TimeGrid
from slisde.calibration.estimate import estimate
from slisde.errors import ArgumentError
from slisde.flow.brownian import increments
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, DigitalAbove, Forward

GRID = TimeGrid.uniform(1.0, 4)
CALL, DIGITAL = 1 / (2 * np.pi) ** 0.5, 0.5


class Brownian(AbstractPathModel):
    scale: Float[Array, ""] = eqx.field(converter=jnp.asarray)

    def drivers(self, grid, paths, *, antithetic=False, key):
        return increments(grid, 1, paths, antithetic=antithetic, key=key)[:, 0]

    def observe(self, grid, drivers):
        del grid
        walk = jnp.concatenate([jnp.zeros_like(drivers[:1]), jnp.cumsum(drivers, axis=0)])
        return self.scale * walk.T


def problem(call=CALL, digital=DIGITAL):
    return Problem(
        [
            Target(Call(1.0, 0.0), call, "call"),
            Target(DigitalAbove(1.0, 0.0), digital, "digital"),
            Target(Forward(1.0), 0.0, "forward", held_out=True),
        ],
        1.0,
    )


def test_averages_are_within_their_errors_of_the_truth(key):
    result = estimate(Brownian(1.0), problem(), GRID, 32_000, key=key)
    assert np.all(np.abs(result.z_score) <= 4)
    expected = np.sqrt([(0.5 - CALL**2) / 32_000, 0.25 / 32_000, 1.0 / 32_000])
    np.testing.assert_allclose(result.standard_error, expected, rtol=0.05)


def test_the_debiased_loss_of_the_true_model_is_zero_within_its_error(key):
    result = estimate(Brownian(1.0), problem(), GRID, 32_000, key=key)
    value, error = result.debiased_loss()
    assert abs(value) <= 4 * error
    assert error < 3 * result.noise_floor()


def test_the_debiased_loss_and_its_error_are_right_over_replications(key):
    wrong = problem(call=CALL + 0.02)
    truth = 0.5 * 0.02**2
    pairs = [
        estimate(Brownian(1.0), wrong, GRID, 3_200, key=jax.random.fold_in(key, i)).debiased_loss()
        for i in range(60)
    ]
    values, errors = np.array(pairs).T
    standard_error = values.std(ddof=1) / len(values) ** 0.5
    assert abs(values.mean() - truth) <= 4 * standard_error
    # the jackknife error is the spread over replications, to the accuracy of 60 of them
    assert values.std(ddof=1) == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.4)


def test_the_loss_of_a_sample_is_population_loss_plus_noise_floor_on_average(key):
    wrong = problem(call=CALL + 0.05)
    results = [
        estimate(Brownian(1.0), wrong, GRID, 320, key=jax.random.fold_in(key, i))
        for i in range(200)
    ]
    losses = np.array([result.loss() for result in results])
    expected = 0.5 * 0.05**2 + np.mean([result.noise_floor() for result in results])
    assert abs(losses.mean() - expected) <= 4 * losses.std() / len(losses) ** 0.5


def test_held_out_targets_are_scored_apart(key):
    result = estimate(Brownian(1.0), problem(call=1.0), GRID, 3_200, key=key)
    assert result.loss() > 0.1
    assert result.loss(held_out=True) == pytest.approx(float(result.mean[2]) ** 2)
    assert result.mean_absolute_error("forward", held_out=True) == pytest.approx(
        abs(float(result.mean[2]))
    )


def test_paths_that_do_not_make_equal_batches_are_refused(key):
    with pytest.raises(ArgumentError, match="`paths` must be a multiple of 32, got 100"):
        estimate(Brownian(1.0), problem(), GRID, 100, key=key)


def test_too_few_batches_for_an_error_are_refused(key):
    with pytest.raises(ArgumentError, match="`batches` must be at least 3, got 2"):
        estimate(Brownian(1.0), problem(), GRID, 100, batches=2, key=key)
