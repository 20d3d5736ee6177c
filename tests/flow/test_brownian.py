"""Bad requests for noise are refused; the law of the noise is in tests/theory/test_drivers.py."""

import jax.numpy as jnp
import pytest

from slisde.errors import ArgumentError
from slisde.flow.brownian import Stream, coarsen, correlated, increments, normals
from slisde.flow.grid import TimeGrid

GRID = TimeGrid.uniform(1.0, 6)


@pytest.mark.parametrize("paths", [1, 7])
def test_antithetic_paths_come_in_pairs(paths, key):
    with pytest.raises(
        ArgumentError, match=f"`paths` must be even with antithetic pairs, got {paths}: "
    ):
        increments(GRID, 2, paths, antithetic=True, key=key)


@pytest.mark.parametrize("rho", [1.0, -0.1, 1.5, float("nan"), float("inf")])
def test_the_correlation_must_leave_an_innovation(rho):
    noise = jnp.zeros((6, 2, 3))
    with pytest.raises(
        ArgumentError, match=rf"`rho` must be in \[0, 1\), got {rho}: at 1 no innovation is left"
    ):
        correlated(noise, noise, rho)


@pytest.mark.parametrize("factor", [0, -3, 4])
def test_coarse_steps_are_whole_sums_of_fine_ones(factor):
    with pytest.raises(ArgumentError, match=f"`factor` must divide the 6 steps, got {factor}: "):
        coarsen(jnp.zeros((6, 2, 3)), factor)


def test_noise_is_single_precision_unless_asked_otherwise(key):
    assert normals(key, Stream.DRIVER, (2, 3)).dtype == jnp.float32
    assert increments(GRID, 2, 3, key=key).dtype == jnp.float32
