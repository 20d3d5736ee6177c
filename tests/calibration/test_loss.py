"""The objectives against their exact expectations, on Gaussian samples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.calibration.loss import (
    plain_loss,
    remembered_loss,
    unbiased_loss,
    with_slope_of,
)
from slisde.errors import ArgumentError

MEAN, STD = jnp.array([0.3, -0.2]), jnp.array([1.0, 0.5])
VALUES, WEIGHTS = jnp.array([0.1, -0.1]), jnp.array([0.25, 0.75])
POPULATION = 0.25 * 0.2**2 + 0.75 * 0.1**2
PATHS, REPLICATIONS = 16, 20_000


def replicate(function, key):
    def one(key):
        samples = MEAN + STD * jax.random.normal(key, (PATHS, 2))
        return function(samples)

    values = np.asarray(jax.vmap(one)(jax.random.split(key, REPLICATIONS)), np.float64)
    return values.mean(axis=0), values.std(axis=0) / REPLICATIONS**0.5


def test_the_plain_loss_exceeds_the_population_loss_by_the_noise_floor(key):
    mean, error = replicate(lambda s: plain_loss(s, VALUES, WEIGHTS), key)
    floor = (0.25 * 1.0 + 0.75 * 0.25) / PATHS
    assert abs(mean - POPULATION - floor) <= 4 * error


def test_the_two_batch_loss_is_unbiased(key):
    mean, error = replicate(lambda s: unbiased_loss(s, VALUES, WEIGHTS), key)
    assert abs(mean - POPULATION) <= 4 * error
    assert error < POPULATION / 4


def test_the_gradient_of_the_two_batch_loss_is_unbiased_and_the_plain_one_is_not(key):
    def gradient(loss):
        # d/ds at s = 1 of the loss of a law whose spread is multiplied by s
        def scaled(s, samples):
            return loss(MEAN + s * (samples - MEAN), VALUES, WEIGHTS)

        return lambda samples: jax.grad(scaled)(1.0, samples)

    mean, error = replicate(gradient(unbiased_loss), key)
    assert abs(mean) <= 4 * error  # the population loss does not depend on the spread
    mean, error = replicate(gradient(plain_loss), key)
    assert mean > 10 * error


def test_antithetic_pairs_stay_in_one_half(key):
    half = jax.random.normal(key, (8, 1))
    samples = jnp.concatenate([half, -half])
    loss = unbiased_loss(samples, jnp.zeros(1), jnp.ones(1))
    np.testing.assert_allclose(loss, 0.0, atol=1e-12)


def test_a_batch_that_has_no_two_halves_of_pairs_is_refused():
    with pytest.raises(ArgumentError, match="`paths` must be divisible by 4, got 6"):
        unbiased_loss(jnp.zeros((6, 2)), VALUES, WEIGHTS)


def test_with_the_errors_of_its_own_paths_the_remembered_loss_has_the_plain_gradient(key):
    samples = MEAN + STD * jax.random.normal(key, (PATHS, 2))
    errors = jnp.mean(samples, axis=0) - VALUES
    mine = jax.grad(remembered_loss)(samples, errors, WEIGHTS)
    np.testing.assert_allclose(mine, jax.grad(plain_loss)(samples, VALUES, WEIGHTS), rtol=1e-5)


def test_with_the_true_errors_its_gradient_is_unbiased_and_far_less_noisy(key):
    def gradient(loss):
        def moved(shift, samples):
            return loss(samples + shift)

        return lambda samples: jax.grad(moved)(0.0, samples)

    remembered = lambda s: remembered_loss(s, MEAN - VALUES, WEIGHTS)  # noqa: E731
    mean, error = replicate(gradient(remembered), key)
    exact = 2.0 * float(jnp.sum(WEIGHTS * (MEAN - VALUES)))
    assert abs(mean - exact) <= 1e-6
    _, plain = replicate(gradient(lambda s: plain_loss(s, VALUES, WEIGHTS)), key)
    assert error < 1e-3 * plain


def test_a_number_can_have_the_slope_of_another():
    value, slope = jax.value_and_grad(lambda x: with_slope_of(x**2, 5.0 * x))(3.0)
    assert (float(value), float(slope)) == (9.0, 5.0)
