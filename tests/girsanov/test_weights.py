"""Estimators and diagnostics of weights, on numbers whose answers are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.girsanov.diagnosis import diagnose
from slisde.girsanov.pareto import generalised_pareto_shape, pareto_shape
from slisde.girsanov.weights import combined, effective_size, self_normalised, truncated, vanilla

VALUES = jnp.array([1.0, 0.0, 2.0, 0.0])
LOG_WEIGHTS = jnp.log(jnp.array([0.5, 1.0, 0.25, 6.25]))


def test_estimates_of_four_paths():
    assert float(vanilla(VALUES, LOG_WEIGHTS)) == pytest.approx(0.25)
    assert float(self_normalised(VALUES, LOG_WEIGHTS)) == pytest.approx(0.125)
    # √4 caps the last weight only, and the last value is zero.
    assert float(truncated(VALUES, LOG_WEIGHTS)) == pytest.approx(0.25)
    assert float(truncated(VALUES + 1.0, LOG_WEIGHTS)) == pytest.approx(4.75 / 4)


def test_the_effective_size_is_the_number_of_equal_weights():
    assert float(effective_size(jnp.full(7, -300.0))) == pytest.approx(7.0)
    assert float(effective_size(jnp.array([0.0, -100.0, -100.0]))) == pytest.approx(1.0)
    assert float(effective_size(jnp.full(3, -jnp.inf))) == 0.0


def test_the_combination_weighs_by_effective_sizes_and_gives_the_weights_no_gradient():
    reference = jnp.array([1.0, 3.0])
    size = effective_size(LOG_WEIGHTS)
    expected = (2.0 * 2.0 + size * 0.125) / (2.0 + size)
    assert float(combined(reference, VALUES, LOG_WEIGHTS)) == pytest.approx(float(expected))
    gradient = jax.grad(combined, argnums=2)(reference, VALUES, LOG_WEIGHTS)
    assert np.all(np.asarray(gradient) == 0.0)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.4, 0.9])
def test_the_fit_finds_the_shape_of_a_pareto_sample(shape):
    uniform = (np.arange(4000) + 0.5) / 4000
    excess = -np.log(uniform) if shape == 0.0 else np.expm1(-shape * np.log(uniform)) / shape
    assert generalised_pareto_shape(np.sort(excess)) == pytest.approx(shape, abs=0.02)


def test_the_tail_of_weights_is_told_from_that_of_a_normal():
    rng = np.random.default_rng(3)
    assert pareto_shape(0.1 * rng.normal(size=4000)) < 0.3
    heavy = -0.9 * np.log(rng.uniform(size=4000))  # weights U^{-0.9}: shape 0.9
    assert pareto_shape(heavy) == pytest.approx(0.9, abs=0.2)


def test_equal_or_few_weights_have_no_tail():
    assert np.isnan(pareto_shape(np.zeros(1000)))
    assert np.isnan(pareto_shape(np.arange(10.0)))


def test_strata_of_known_sizes_leave_only_the_variance_inside_them():
    origin = np.repeat([0, 1], 50)
    found = diagnose(np.ones(100), np.log(np.where(origin == 0, 1.5, 0.5)), origin)
    assert found.value == pytest.approx(1.0)
    assert found.standard_error == pytest.approx(0.0, abs=1e-15)
    assert found.hit_rate == 1.0


def test_a_batch_without_hits_is_diagnosed_without_nan_in_its_estimate():
    found = diagnose(np.zeros(50), np.zeros(50))
    assert (found.value, found.standard_error, found.event_ess, found.largest_share) == (0, 0, 0, 0)
    assert found.mean_weight == 1.0
