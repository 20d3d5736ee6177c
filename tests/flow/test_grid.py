"""The time grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid, expiry_grid

SETTINGS = settings(derandomize=True, deadline=None, max_examples=50)


@given(steps=st.integers(1, 300), horizon=st.floats(1e-3, 100.0))
@SETTINGS
def test_a_uniform_grid_has_equal_steps_from_zero_to_the_horizon(steps, horizon):
    grid = TimeGrid.uniform(horizon, steps)
    assert grid.steps == steps
    assert grid.times[0] == 0.0
    assert grid.horizon == pytest.approx(horizon, rel=1e-12)
    assert np.diff(grid.times) == pytest.approx(horizon / steps, rel=1e-9)


@given(steps=st.integers(1, 12), factor=st.integers(1, 6))
@SETTINGS
def test_coarsening_keeps_every_nth_node(steps, factor):
    grid = TimeGrid.uniform(2.0, steps * factor)
    coarse = grid.coarsen(factor)
    assert coarse.steps == steps
    assert np.array_equal(coarse.times, grid.times[::factor])


def test_step_sizes_are_the_differences_of_the_nodes():
    assert TimeGrid([0.0, 0.25, 1.0]).dt.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    "times",
    [
        [0.0],
        [],
        [[0.0, 1.0]],
        [0.5, 1.0],
        [0.0, 1.0, 1.0],
        [0.0, 2.0, 1.0],
        [0.0, np.nan],
        [0.0, np.inf],
    ],
)
def test_nodes_must_start_at_zero_and_increase(times):
    with pytest.raises(ArgumentError, match="`times` must"):
        TimeGrid(times)


@pytest.mark.parametrize("steps", [0, -1])
def test_a_grid_needs_a_step(steps):
    with pytest.raises(
        ArgumentError, match=f"`steps` must be an integer ≥ 1, got {steps}: a grid has"
    ):
        TimeGrid.uniform(1.0, steps)


@pytest.mark.parametrize("horizon", [0.0, -1.0, np.inf, np.nan])
def test_the_horizon_must_be_positive_and_finite(horizon):
    with pytest.raises(
        ArgumentError, match=f"`horizon` must be positive and finite, got {horizon!r}: "
    ):
        TimeGrid.uniform(float(horizon), 4)


@pytest.mark.parametrize("factor", [0, -2, 5, 24])
def test_a_coarse_grid_must_keep_the_last_node(factor):
    with pytest.raises(ArgumentError, match=f"`factor` must divide the 12 steps, got {factor}: "):
        TimeGrid.uniform(1.0, 12).coarsen(factor)


@given(
    maturities=st.lists(st.integers(1, 400), min_size=1, max_size=8),
    extra=st.integers(0, 200),
)
@SETTINGS
def test_an_expiry_grid_has_every_maturity_as_a_node_and_the_steps_asked_for(maturities, extra):
    years = [days / 365.0 for days in maturities]
    steps = len(set(maturities)) + extra
    grid = expiry_grid(years, steps)
    assert grid.steps == steps
    assert set(years) <= set(grid.times.tolist())
    assert grid.horizon == max(years)


def test_steps_of_an_expiry_grid_are_equal_between_maturities_and_shorter_before():
    maturities = np.array([0.1, 0.4, 0.9])
    times = expiry_grid(maturities, 60).times
    # √0.1, √0.4 and √0.9 are as 1 to 2 to 3: three thirds of the steps.
    ends = np.searchsorted(times, maturities)
    assert ends.tolist() == [20, 40, 60]
    np.testing.assert_allclose(np.diff(times)[:20], 0.1 / 20)
    np.testing.assert_allclose(np.diff(times)[20:40], 0.3 / 20)
    np.testing.assert_allclose(np.diff(times)[40:], 0.5 / 20)


@pytest.mark.parametrize("maturities", [[], [0.0, 1.0], [-1.0], [np.nan], [1.0, np.inf]])
def test_maturities_of_a_grid_must_be_positive_and_finite(maturities):
    with pytest.raises(ArgumentError, match="`maturities` must be positive and finite, at least"):
        expiry_grid(maturities, 10)


def test_every_maturity_needs_a_step():
    with pytest.raises(ArgumentError, match="`steps` must be at least 3, got 2: every maturity"):
        expiry_grid([0.2, 0.1, 0.3, 0.2], 2)
    with pytest.raises(ArgumentError, match="`steps` must be an integer ≥ 1, got 0"):
        expiry_grid([0.2], 0)
