"""The readout, its shift to a prescribed start, and the learned prior."""

import jax.numpy as jnp
import numpy as np
import pytest

from slisde.errors import ArgumentError
from slisde.model.prior import GaussianPrior
from slisde.model.readout import LinearReadout
from tests.builders import perturbed, relative_error

pytestmark = pytest.mark.usefixtures("exact")

PATH = np.random.default_rng(101).normal(size=(6, 4, 3))  # node, latent, path


@pytest.mark.parametrize("out", [1, 3])
def test_the_readout_is_linear_with_paths_first(out, key):
    readout = LinearReadout(4, out, key=key)
    expected = np.einsum("od,kdp->pko", readout.kernel, PATH)
    expected = expected[..., 0] if out == 1 else expected
    assert relative_error(readout(jnp.asarray(PATH)), expected) <= 1e-14


@pytest.mark.parametrize(("out", "start"), [(1, 0.3), (1, (0.3,)), (3, 0.3), (3, (0.1, 0.2, 0.7))])
def test_a_prescribed_start_holds_exactly_and_moves_the_whole_path(out, start, key):
    free = np.asarray(LinearReadout(4, out, key=key)(jnp.asarray(PATH))).reshape(3, 6, out)
    shifted = LinearReadout(4, out, initial_value=start, key=key)(jnp.asarray(PATH))
    shifted = shifted.reshape(3, 6, out)
    assert np.array_equal(shifted[:, 0], np.broadcast_to(np.asarray(start), (3, out)))
    assert relative_error(np.diff(shifted, axis=1), np.diff(free, axis=1)) <= 1e-13


def test_a_path_needs_a_coordinate(key):
    with pytest.raises(ArgumentError, match="`out` must be at least 1, got 0: a path has"):
        LinearReadout(4, 0, key=key)


@pytest.mark.parametrize("start", [(1.0,), (1.0, 2.0, 3.0)])
def test_a_start_has_one_value_per_coordinate(start, key):
    with pytest.raises(ArgumentError, match="`initial_value` must have `out` = 2 entries, got "):
        LinearReadout(4, 2, initial_value=start, key=key)


def test_the_prior_starts_standard_normal_and_then_moves_and_scales():
    draws = jnp.asarray(PATH[0])
    prior = GaussianPrior(4)
    assert np.array_equal(prior(draws), draws)
    moved = perturbed(np.random.default_rng(102), prior)
    expected = np.asarray(moved.mean)[:, None] + np.exp(moved.log_scale)[:, None] * PATH[0]
    assert relative_error(moved(draws), expected) <= 1e-14
    assert relative_error(GaussianPrior(4, 0.1)(draws), 0.1 * PATH[0]) <= 1e-14
