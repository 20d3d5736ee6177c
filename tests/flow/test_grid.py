"""The time grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid

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
