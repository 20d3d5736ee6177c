"""Outcomes whose spread is unsettled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from slisde.girsanov.outcome_tail import hazard, log_reach, unrest_of


@pytest.mark.parametrize("unrest", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("distance", [-1.0, 0.5, 2.0, 4.0])
def test_the_tail_is_the_average_over_spreads(distance, unrest):
    def integrand(eta):
        return norm.pdf(eta) * norm.sf(distance * np.exp(unrest**2 - unrest * eta))

    expected = quad(integrand, -8.0, 8.0)[0]
    found = float(jnp.exp(log_reach(jnp.asarray(distance), jnp.asarray(unrest))))
    assert abs(found / expected - 1.0) < 0.02  # nine nodes


def test_the_hazard_is_the_slope_of_the_tail():
    unrest = jnp.asarray(0.3)
    distances = jnp.linspace(-3.0, 8.0, 12)
    slopes = jax.vmap(jax.grad(lambda d: -log_reach(d, unrest)))(distances)
    assert jnp.allclose(hazard(distances, unrest), slopes, rtol=1e-5)


def test_settled_spreads_leave_the_normal_law():
    distances = jnp.linspace(-3.0, 8.0, 12)
    assert jnp.allclose(log_reach(distances, jnp.zeros(())), norm.logsf(distances), rtol=1e-5)


def test_unrest_is_read_off_the_kurtosis():
    spreads = np.exp(0.3 * np.random.default_rng(0).normal(size=400_000) - 0.09)
    outcomes = spreads * np.random.default_rng(1).normal(size=400_000)
    kurtosis = np.mean(outcomes**4) / np.mean(outcomes**2) ** 2
    # The logarithm of a sample kurtosis has a standard error of about 0.02 here.
    found = unrest_of(np.array([kurtosis, 2.5]))
    assert abs(found[0] - 0.3) < 0.03
    assert found[1] == 0.0
