"""The drivers have the law they claim: variances, correlation, mirror images, separate streams.

Covariances are compared within standard errors computed from the sample; everything else is exact.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.flow.brownian import Stream, coarsen, correlated, increments, initial_normals, normals
from slisde.flow.grid import TimeGrid
from slisde.model.coefficients import NoiseType
from slisde.model.stack import SLiSDE
from tests.builders import random_grid, relative_error

PATHS, NOISE = 20_000, 2
STDERRS = 4.5  # of some hundred covariances at once
GRID = random_grid(np.random.default_rng(61), 3)


def assert_covariance(rows, expected):
    """Compare means with zero and covariances with their values; rows are `[variable, path]`."""
    rows = np.asarray(rows)
    products = rows[:, None] * rows[None]
    stderr = products.std(axis=-1) / PATHS**0.5
    assert np.all(np.abs(products.mean(axis=-1) - expected) <= STDERRS * stderr)
    assert np.all(np.abs(rows.mean(axis=-1)) <= STDERRS * rows.std(axis=-1) / PATHS**0.5)


def flat(*arrays):
    """Return steps and channels of several drivers as one list of variables."""
    return np.concatenate([np.asarray(array).reshape(-1, PATHS) for array in arrays])


def test_increments_are_independent_with_the_length_of_their_step_as_variance(key):
    noise = increments(GRID, NOISE, PATHS, key=key)
    assert_covariance(flat(noise), np.diag(np.repeat(np.diff(GRID.times), NOISE)))


def test_increments_are_standard_normals_times_the_root_of_their_step(key):
    noise = increments(GRID, NOISE, 5, key=key)
    standard = normals(key, Stream.DRIVER, (GRID.steps, NOISE, 5))
    widths = np.sqrt(np.diff(GRID.times))[:, None, None]
    assert relative_error(noise, widths * np.asarray(standard)) <= 1e-15


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
def test_the_correlated_driver_mixes_with_weights_on_the_unit_circle(rho):
    one, none = jnp.ones((1, 1, 1)), jnp.zeros((1, 1, 1))
    of_prefix = correlated(one, none, rho).item()
    of_innovation = correlated(none, one, rho).item()
    assert of_prefix == rho
    assert of_prefix**2 + of_innovation**2 == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
def test_the_correlated_driver_has_unit_rate_and_correlation_rho_with_the_prefix(rho, key):
    prefix = increments(GRID, NOISE, PATHS, key=key)
    innovation = increments(GRID, NOISE, PATHS, stream=Stream.INNOVATION, key=key)
    last = correlated(prefix, innovation, rho)
    block = np.diag(np.repeat(np.diff(GRID.times), NOISE))
    assert_covariance(flat(prefix, last), np.kron(np.array([[1.0, rho], [rho, 1.0]]), block))


@pytest.mark.parametrize("rho", [None, 0.6])
def test_the_model_shares_one_driver_or_correlates_the_last(rho, key):
    model = SLiSDE(4, NOISE, 2, block_size=2, rho=rho, key=key)
    drivers = model.drivers(GRID, PATHS, key=key)
    block = np.diag(np.repeat(np.diff(GRID.times), NOISE))
    if rho is None:
        assert np.array_equal(drivers.prefix, drivers.last)
    else:
        assert_covariance(
            flat(drivers.prefix, drivers.last), np.kron([[1.0, rho], [rho, 1.0]], block)
        )


def test_streams_of_one_key_are_independent(key):
    draws = flat(*(normals(key, stream, (2, PATHS)) for stream in Stream))
    assert len(np.unique(draws)) == draws.size
    assert_covariance(draws, np.eye(2 * len(Stream)))


def test_streams_are_never_renumbered():
    assert (Stream.INITIAL, Stream.DRIVER, Stream.INNOVATION) == (0, 1, 2)


def test_the_same_key_gives_the_same_noise_and_another_key_other_noise(key):
    first, again = (increments(GRID, NOISE, 5, key=key) for _ in range(2))
    other = increments(GRID, NOISE, 5, key=jax.random.fold_in(key, 1))
    assert np.array_equal(first, again)
    assert not np.any(np.asarray(first) == np.asarray(other))


def test_antithetic_paths_are_mirror_images_and_their_first_half_is_a_plain_draw(key):
    mirrored = np.asarray(increments(GRID, NOISE, PATHS, antithetic=True, key=key))
    half = PATHS // 2
    assert np.array_equal(mirrored[..., :half], -mirrored[..., half:])
    assert np.array_equal(mirrored[..., :half], increments(GRID, NOISE, half, key=key))
    assert np.array_equal(initial_normals(3, 2, antithetic=True, key=key).sum(axis=-1), np.zeros(3))


def test_antithetic_paths_keep_the_variance_of_an_increment(key):
    half = np.asarray(increments(GRID, NOISE, PATHS, antithetic=True, key=key))[..., : PATHS // 2]
    squares = (half**2).reshape(GRID.steps * NOISE, -1)
    stderr = squares.std(axis=-1) / (PATHS // 2) ** 0.5
    expected = np.repeat(np.diff(GRID.times), NOISE)
    assert np.all(np.abs(squares.mean(axis=-1) - expected) <= STDERRS * stderr)


@pytest.mark.parametrize("rho", [None, 0.6])
def test_antithetic_drivers_make_an_additive_layer_without_drift_symmetric(rho, key):
    model = SLiSDE(4, NOISE, 1, block_size=2, noise_type=NoiseType.ADDITIVE, rho=rho, key=key)
    drivers = model.drivers(GRID, 8, antithetic=True, key=key)
    (path,) = eqx.filter_jit(model.layer_paths)(GRID, drivers)
    for values in (drivers.initial, drivers.prefix, drivers.last):
        assert np.array_equal(values[..., :4], -values[..., 4:])
    assert relative_error(path[..., :4], -path[..., 4:]) <= 1e-14


@pytest.mark.parametrize("factor", [1, 3, 12])
def test_coarsening_keeps_the_path_at_the_nodes_that_stay(factor, key):
    grid = TimeGrid.uniform(2.0, 12)
    fine = increments(grid, NOISE, 4, key=key)
    coarse = coarsen(fine, factor)
    assert coarse.shape == (grid.coarsen(factor).steps, NOISE, 4)
    at_fine_nodes = np.cumsum(np.asarray(fine), axis=0)[factor - 1 :: factor]
    assert relative_error(jnp.cumsum(coarse, axis=0), at_fine_nodes) <= 1e-14
    assert np.array_equal(grid.coarsen(factor).times, grid.times[::factor])
