"""The scale stays within ε of one and the offset within its bound, for any weights (ass:gate-bounds)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.flow.gating import Norm, gate_scale, normalise
from slisde.flow.grid import TimeGrid
from slisde.model.gate import NORM_EPSILON, Gate
from tests.builders import perturbed
from tests.theory.bounds import offset_bound

LATENT, PATHS = 4, 3
GRID = TimeGrid.uniform(1.0, 5)
ULP = np.finfo(float).eps  # 1 + ε is rounded once
SETTINGS = settings(derandomize=True, deadline=None, max_examples=40)
MAGNITUDES = st.floats(-8.0, 30.0).map(lambda exponent: 10.0**exponent)
SEEDS = st.integers(0, 2**32 - 1)


@eqx.filter_jit
def gates_of(gate, previous):
    """Return scale and offset at every step."""
    return gate.on_path(gate.on_grid(GRID), previous).gates()


@pytest.fixture(scope="module", params=[(0.1, Norm.RMS), (0.999, Norm.LAYER)], ids=["rms", "layer"])
def gate(request, key):
    """A gate with time features, its weights as at initialisation."""
    amplitude, norm = request.param
    return Gate(LATENT, amplitude=amplitude, norm=norm, key=key)


@pytest.fixture(scope="module")
def rms_gate(key):
    """The gate of the paper's analysis: RMSNorm, no convolution."""
    return Gate(LATENT, key=key)


def random_path(rng, magnitude):
    """Return a previous layer's path of this size."""
    return jnp.asarray(magnitude * rng.normal(size=(GRID.steps + 1, LATENT, PATHS)))


@given(seed=SEEDS, weights=MAGNITUDES, state=MAGNITUDES)
@SETTINGS
def test_the_scale_is_within_the_amplitude_of_one_for_any_weights(gate, seed, weights, state):
    rng = np.random.default_rng(seed)
    gates = gates_of(perturbed(rng, gate, weights), random_path(rng, state))
    scale = np.asarray(gates.scale)
    assert np.all(np.abs(scale - 1.0) <= gate.amplitude + ULP)
    assert np.all(np.isfinite(gates.offset))


@given(
    gate=st.floats(allow_nan=False),
    value=st.floats(allow_nan=False),
    amplitude=st.floats(1e-6, 1.0 - 1e-6),
)
@SETTINGS
def test_the_scale_is_within_the_amplitude_of_one_for_any_activation(gate, value, amplitude):
    scale = gate_scale(jnp.asarray(gate), jnp.asarray(value), amplitude)
    assert abs(float(scale) - 1.0) <= amplitude + ULP


def test_the_band_is_reached_by_large_weights(gate):
    bias = gate.bias.at[0].set(40.0).at[1].set(40.0).at[1, 0].set(-40.0)
    saturated = eqx.tree_at(lambda g: g.bias, gate, bias)
    scale = gates_of(saturated, random_path(np.random.default_rng(1), 1.0)).scale
    assert np.asarray(scale).min() == pytest.approx(1.0 - gate.amplitude, abs=1e-12)
    assert np.asarray(scale).max() == pytest.approx(1.0 + gate.amplitude, abs=1e-12)


@given(seed=SEEDS, weights=MAGNITUDES, state=MAGNITUDES)
@SETTINGS
def test_the_offset_is_bounded_whatever_the_previous_state(rms_gate, seed, weights, state):
    rng = np.random.default_rng(seed)
    gate = perturbed(rng, rms_gate, weights)
    offset = np.asarray(gates_of(gate, random_path(rng, state)).offset)
    assert np.max(np.linalg.norm(offset, axis=1)) <= offset_bound(gate) * (1.0 + 1e-12)


def test_the_offset_bound_is_attained_by_an_aligned_state(rms_gate):
    kernel = jnp.zeros((4, LATENT, LATENT)).at[3, 0].set(7.0 / LATENT**0.5)
    bias = jnp.zeros((4, LATENT)).at[2].set(40.0).at[3, 0].set(2.0)
    weights = (kernel, jnp.zeros((4, LATENT, 4)), bias)
    gate = eqx.tree_at(lambda g: (g.kernel, g.time_kernel, g.bias), rms_gate, weights)
    offset = np.asarray(gates_of(gate, 1e6 * jnp.ones((GRID.steps + 1, LATENT, PATHS))).offset)
    time_part = 7.0 * 3.0**0.5
    assert np.max(np.linalg.norm(offset, axis=1)) == pytest.approx(
        offset_bound(gate) - time_part, rel=1e-9
    )


@pytest.mark.parametrize("epsilon", [NORM_EPSILON, 1.0])
@given(seed=SEEDS, magnitude=MAGNITUDES, distance=st.floats(-8.0, 0.0).map(lambda x: 10.0**x))
@SETTINGS
def test_the_normalisation_is_bounded_and_lipschitz(epsilon, seed, magnitude, distance):
    rng = np.random.default_rng(seed)
    here = magnitude * rng.normal(size=(LATENT, PATHS))
    there = here + distance * rng.normal(size=here.shape)
    x, y = (np.asarray(normalise(jnp.asarray(z), Norm.RMS, epsilon)) for z in (here, there))
    assert np.all(np.linalg.norm(x, axis=0) <= LATENT**0.5 * (1.0 + 1e-12))
    slope = epsilon**-0.5
    rounding = 1e-14 * LATENT**0.5
    assert np.all(
        np.linalg.norm(x - y, axis=0) <= slope * np.linalg.norm(here - there, axis=0) + rounding
    )
