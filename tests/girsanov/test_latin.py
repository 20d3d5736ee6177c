"""Initial states that are spread evenly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest, norm

from slisde.errors import ArgumentError
from slisde.girsanov.latin import MOST, latin_normals

COUNTS = (5, 0, 11, 16)
DIRECTION = np.array([1.0, -2.0, 0.5])


def spread_over(values):
    """Return whether every one of as many equally likely intervals as there are values holds one."""
    return sorted(np.floor(norm.cdf(values) * len(values)).astype(int)) == list(range(len(values)))


def test_every_group_is_spread_along_the_direction():
    states = np.asarray(latin_normals(jnp.asarray(DIRECTION), COUNTS, key=jax.random.key(0)))
    along = DIRECTION @ states / np.linalg.norm(DIRECTION)
    assert [len(part) for part in np.split(along, np.cumsum(COUNTS)[:-1])] == list(COUNTS)
    assert all(spread_over(part) for part in np.split(along, np.cumsum(COUNTS)[:-1]))


@pytest.mark.parametrize(
    "direction", [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], ids=["none", "first axis"]
)
def test_all_paths_are_spread_along_the_other_axes(direction):
    states = np.asarray(latin_normals(jnp.array(direction), COUNTS, key=jax.random.key(1)))
    assert all(spread_over(axis) for axis in states[1:])


def test_a_path_of_a_group_begins_at_the_normal_law():
    keys = jax.random.split(jax.random.key(2), 4096)
    draw = jax.vmap(lambda key: latin_normals(jnp.asarray(DIRECTION), (2, 3), key=key))
    whichever = np.random.default_rng(0).integers(2, 5, size=len(keys))
    states = np.asarray(draw(keys))[np.arange(len(keys)), :, whichever]
    # The distance of 4,096 normals to their law is above 1.95 / √n with probability 0.001.
    assert all(kstest(axis, norm.cdf).statistic < 1.95 / 64.0 for axis in states.T)
    correlations = np.corrcoef(states.T)[np.triu_indices(3, 1)]
    assert np.all(np.abs(correlations) < 4.0 / 64.0)


def test_what_depends_on_one_axis_has_hardly_any_error():
    direction = jnp.asarray(DIRECTION)
    keys = jax.random.split(jax.random.key(3), 64)
    states = jax.vmap(lambda key: latin_normals(direction, (1024,), key=key))(keys)
    along = jnp.einsum("d,kdp->kp", direction / jnp.linalg.norm(direction), states)
    spread = float(jnp.std(jnp.mean(along > 1.0, axis=1)))
    plain = float(np.sqrt(norm.sf(1.0) * norm.cdf(1.0) / 1024))
    # Only the interval that the threshold divides is left to chance.
    assert spread <= 0.5 / 1024 < 0.05 * plain


def test_the_outermost_states_are_finite():
    keys = jax.random.split(jax.random.key(5), 512)
    states = jax.lax.map(lambda key: latin_normals(jnp.ones(32), (1024,), key=key), keys)
    assert bool(jnp.all(jnp.abs(states) < 10.0))


def test_batches_that_are_too_large_are_refused():
    with pytest.raises(ArgumentError, match="several batches"):
        latin_normals(jnp.asarray(DIRECTION), (MOST, 1), key=jax.random.key(4))
