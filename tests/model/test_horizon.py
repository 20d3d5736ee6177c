"""Cutting the horizon into segments changes memory, never the paths or the gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import Evaluation, NoiseType, SLiSDE, Stacking, TimeGrid
from slisde.errors import ArgumentError
from slisde.model.horizon import KEPT_BYTES, SEGMENT_BYTES, Cut, cut_horizon
from slisde.model.readout import LinearReadout

GRID = TimeGrid.uniform(1.0, 13)
MODELS = [
    {"layers": 1},
    {"layers": 2, "time_dependent": False, "time_features": False},
    {"layers": 3, "out": 2, "prior": True, "rho": 0.3},
    {"layers": 2, "block_size": 1, "noise_type": NoiseType.ADDITIVE},
]


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("segment", [1, 5, 13])
def test_segments_give_the_same_paths_and_gradients(options, segment):
    model = SLiSDE(8, 3, **{"block_size": 4, **options}, key=jax.random.key(1))
    drivers = model.drivers(GRID, 6, key=jax.random.key(2))

    @eqx.filter_jit
    def total(model, segment):
        y = model.observe(GRID, drivers, segment=segment, evaluation=Evaluation.SEQUENTIAL)
        return jnp.sum(y**2)

    value, gradient = eqx.filter_value_and_grad(total)(model, segment)
    expected, reference = eqx.filter_value_and_grad(total)(model, GRID.steps)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for mine, theirs in zip(jax.tree.leaves(gradient), jax.tree.leaves(reference), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_short_horizons_stay_whole_and_of_long_ones_the_end_is_kept():
    per_step = 2 * 64 * 4096 * 4
    assert cut_horizon(512, per_step) == Cut(0, SEGMENT_BYTES // per_step, 512)
    cut = cut_horizon(8192, per_step)
    assert cut.segments * cut.segment + cut.kept == 8192
    assert cut.segment * per_step <= SEGMENT_BYTES < (cut.segment + 1) * per_step
    assert cut.kept * per_step <= KEPT_BYTES < (cut.kept + cut.segment) * per_step


@pytest.mark.parametrize("steps", [1, 4, 5, 6, 13])
@pytest.mark.parametrize("segment", [1, 3, 5, 20])
@pytest.mark.parametrize("kept", [0, 4, 7])
def test_a_cut_covers_the_horizon_and_keeps_a_last_part(steps, segment, kept):
    cut = Cut.into(steps, segment, kept)
    assert cut.segments * segment + cut.kept == steps
    assert 1 <= cut.kept <= max(kept, segment)


@pytest.mark.parametrize(("segment", "options"), [(0, {}), (5, {"causal_conv": True})])
def test_a_segment_that_cannot_be_is_refused(segment, options):
    model = SLiSDE(8, 3, 2, **options, key=jax.random.key(1))
    drivers = model.drivers(GRID, 6, key=jax.random.key(2))
    with pytest.raises(ArgumentError, match="`segment` must be"):
        model.observe(GRID, drivers, segment=segment)


def test_residual_stacks_are_read_out_like_their_last_layer():
    model = SLiSDE(8, 3, 3, stacking=Stacking.RESIDUAL, key=jax.random.key(1))
    drivers = model.drivers(GRID, 6, key=jax.random.key(2))
    last = model.layer_paths(GRID, drivers)[-1]
    assert isinstance(model.readout, LinearReadout)
    np.testing.assert_array_equal(model.observe(GRID, drivers), model.readout(last))
