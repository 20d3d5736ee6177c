"""Densities as expectations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from slisde.flow.mixture import Mixture
from slisde.functionals.density import Density
from slisde.functionals.problem import Evaluator
from slisde.functionals.terminal import Call

pytestmark = pytest.mark.usefixtures("exact")

TIMES = jnp.array([0.0, 1.0])
PLACES = np.linspace(0.3, 2.5, 301)
SPACING = PLACES[1] - PLACES[0]


def mixtures(key, paths=64):
    """Return paths whose laws are lognormal of different means and widths."""
    centre = jnp.exp(0.1 * jax.random.normal(key, (paths, 1)))
    variance = jnp.linspace(0.01, 0.04, paths)[:, None]
    ends = (jnp.concatenate([jnp.ones((paths, 1)), centre], axis=1), variance)
    return Mixture(ends[0], ends[0], jnp.concatenate([0.0 * variance, variance], axis=1))


def test_under_a_law_it_is_the_second_derivative_of_calls(key):
    sample = mixtures(key)
    density = Evaluator([Density(1.0, x, 1e-3) for x in PLACES.tolist()])(sample, TIMES)
    calls = Evaluator([Call(1.0, x) for x in PLACES.tolist()])(sample, TIMES)
    height, price = np.mean(density, axis=0), np.mean(calls, axis=0)
    curvature = np.diff(price, 2) / SPACING**2
    np.testing.assert_allclose(height[1:-1], curvature, atol=2e-3 * height.max())
    assert np.sum(height) * SPACING == pytest.approx(1.0, abs=1e-3)
    assert np.sum(height * PLACES) * SPACING == pytest.approx(
        float(jnp.mean(sample.centre[:, -1])), abs=1e-3
    )


def test_a_law_narrower_than_the_bandwidth_is_widened_and_keeps_its_mean(key):
    sample = mixtures(key)
    point = Mixture(sample.values, sample.centre, 0.0 * sample.variance)
    density = Evaluator([Density(1.0, x, 0.05) for x in PLACES.tolist()])(point, TIMES)
    height = np.mean(density, axis=0)
    assert np.sum(height) * SPACING == pytest.approx(1.0, abs=1e-3)
    mean = float(jnp.mean(sample.centre[:, -1]))
    assert np.sum(height * PLACES) * SPACING == pytest.approx(mean, abs=1e-3)


def test_of_paths_alone_it_is_a_kernel_estimate_of_their_density(key):
    count, bandwidth = 20_000, 0.02
    ends = 1.0 + 0.1 * jax.random.normal(key, (count, 1))
    paths = jnp.concatenate([jnp.ones((count, 1)), ends], axis=1)
    places = [0.8, 0.95, 1.0, 1.1]
    samples = Evaluator([Density(1.0, x, bandwidth) for x in places])(paths, TIMES)
    # A normal law seen through a normal kernel is normal, with both variances.
    exact = norm.pdf(places, 1.0, np.hypot(0.1, bandwidth))
    error = np.std(samples, axis=0) / count**0.5
    assert np.all(np.abs(np.mean(samples, axis=0) - exact) <= 4.0 * error)
