"""The running maximum is JAX's, values and gradients, and goes through batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.flow.running import running_maximum
from tests.builders import relative_error

pytestmark = pytest.mark.usefixtures("exact")


@pytest.mark.parametrize("nodes", [1, 2, 8, 21])
def test_values_and_gradients_are_those_of_cummax(nodes):
    rng = np.random.default_rng(5)
    paths = jnp.asarray(rng.normal(size=(6, nodes)))
    weights = jnp.asarray(rng.normal(size=(6, nodes)))

    def total(maximum):
        return jax.value_and_grad(lambda y: jnp.sum(weights * jnp.sin(maximum(y))))(paths)

    got, want = total(jax.vmap(running_maximum)), total(lambda y: jax.lax.cummax(y, axis=1))
    assert relative_error(got, want) <= 1e-14


def test_a_tie_belongs_to_the_first_of_the_equals():
    gradient = jax.grad(lambda y: running_maximum(y)[-1])(jnp.array([0.0, 2.0, 2.0, 1.0]))
    assert gradient.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_a_value_that_is_no_number_stays():
    assert np.isnan(running_maximum(jnp.array([0.0, np.nan, 2.0]))).tolist() == [False, True, True]
