"""The gate, its convolution and the residual alternative against plain formulas."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.errors import ArgumentError
from slisde.flow.gating import GATE_CHUNK, Norm
from slisde.flow.grid import TimeGrid
from slisde.model.convolution import TAPS, CausalConvolution
from slisde.model.gate import NORM_EPSILON, Gate, OffsetUnit
from slisde.model.residual import ResidualDriver
from slisde.model.time_features import gate_features
from tests.builders import perturbed, relative_error

pytestmark = pytest.mark.usefixtures("exact")

LATENT, PATHS = 4, 3


def sigmoid(x):
    """Return the logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def normalised(path, norm):
    """Return the path over its root mean square at every node, gain and shift as the module has them."""
    if norm.kind is Norm.LAYER:
        path = path - path.mean(axis=1, keepdims=True)
    scaled = path / np.sqrt(norm.epsilon + np.mean(path**2, axis=1, keepdims=True))
    shift = 0.0 if norm.shift is None else np.asarray(norm.shift)[None, :, None]
    return np.asarray(norm.gain)[None, :, None] * scaled + shift


def convolved(path, kernel):
    """Return Z_k + Σ_τ w_τ Z_{k−τ}, node by node."""
    result = path.copy()
    for node in range(len(path)):
        for lag in range(min(kernel.shape[1], node + 1)):
            result[node] += kernel[:, lag, None] * path[node - lag]
    return result


@eqx.filter_jit
def gates_of(gate, grid, previous):
    """Return scale and offset at every step."""
    return gate.on_path(gate.on_grid(grid), previous).gates()


def random_path(steps):
    """Return a previous layer's path."""
    return np.random.default_rng(91).normal(size=(steps + 1, LATENT, PATHS))


@pytest.mark.parametrize("steps", [1, 2 * GATE_CHUNK + 3])
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("norm_epsilon", [NORM_EPSILON, 1.0])
@pytest.mark.parametrize(
    ("time_features", "causal_conv"), [(True, True), (False, False)], ids=["full", "bare"]
)
def test_scale_and_offset_are_those_of_the_paper(
    norm, norm_epsilon, time_features, causal_conv, steps, key
):
    gate = Gate(
        LATENT,
        amplitude=0.3,
        norm=norm,
        norm_epsilon=norm_epsilon,
        time_features=time_features,
        causal_conv=causal_conv,
        key=key,
    )
    gate = perturbed(np.random.default_rng(92), gate)
    grid, previous = TimeGrid.uniform(2.0, steps), random_path(steps)
    gates = gates_of(gate, grid, jnp.asarray(previous))

    assert gate.norm.epsilon == norm_epsilon
    path = convolved(previous, np.asarray(gate.convolution.kernel)) if causal_conv else previous
    rows = np.einsum("gij,kjp->gkip", gate.kernel, normalised(path, gate.norm)[:-1])
    rows = rows + np.asarray(gate.bias)[:, None, :, None]
    if time_features:
        rows = rows + np.einsum("gif,kf->gki", gate.time_kernel, gate_features(grid))[..., None]
    assert relative_error(gates.scale, 1.0 + 0.3 * sigmoid(rows[0]) * np.tanh(rows[1])) <= 1e-13
    assert relative_error(gates.offset, sigmoid(rows[2]) * rows[3]) <= 1e-13


def test_a_new_gate_hardly_modulates(key):
    gate = Gate(64, key=key)
    path = jnp.asarray(np.random.default_rng(93).normal(size=(4, 64, 2)))
    gates = gates_of(gate, TimeGrid.uniform(1.0, 3), path)
    assert np.max(np.abs(np.asarray(gates.scale) - 1.0)) < 0.1 * 0.5 * np.tanh(6 * 0.01 * 8)
    assert np.max(np.abs(np.asarray(gates.offset))) < 6 * 0.01 * 8
    assert np.any(np.asarray(gates.offset) != 0.0)


@pytest.mark.parametrize("norm", Norm)
def test_a_gate_sees_how_large_a_state_is_only_where_epsilon_is_not_small(norm, key):
    grid, path = TimeGrid.uniform(1.0, 3), jnp.asarray(random_path(3))

    def change(norm_epsilon):
        gate = Gate(LATENT, norm=norm, norm_epsilon=norm_epsilon, time_features=False, key=key)
        once, twice = (
            np.asarray(gates_of(gate, grid, size * path).offset) for size in (1e-2, 2e-2)
        )
        return relative_error(twice, once), relative_error(twice, 2.0 * once)

    directions, sizes = change(1e-12), change(1.0)
    assert directions[0] <= 1e-6
    assert sizes[1] <= 1e-2


def test_the_offset_alone_begins_as_large_as_it_is_told(key):
    usual, small = (Gate(LATENT, offset_scale=scale, key=key) for scale in (1e-2, 1e-3))
    for usual_kernel, small_kernel in (
        (usual.kernel, small.kernel),
        (usual.time_kernel, small.time_kernel),
    ):
        ratios = np.asarray(small_kernel) / np.asarray(usual_kernel)
        assert np.array_equal(ratios[:3], np.ones_like(ratios[:3]))
        assert np.allclose(ratios[3], 0.1, rtol=1e-6)


@pytest.mark.parametrize("norm", list(Norm))
def test_offsets_in_units_of_time_are_those_of_a_step_times_the_step(norm, key):
    per_step, per_time = (Gate(LATENT, norm=norm, offset_unit=unit, key=key) for unit in OffsetUnit)
    per_step, per_time = (
        perturbed(np.random.default_rng(94), gate) for gate in (per_step, per_time)
    )
    path = jnp.asarray(random_path(5))
    for horizon in (1.0, 2.5):
        grid = TimeGrid.uniform(horizon, 5)
        usual, scaled = (gates_of(gate, grid, path) for gate in (per_step, per_time))
        assert np.array_equal(scaled.scale, usual.scale)
        assert relative_error(scaled.offset, usual.offset * horizon / 5) <= 1e-13


def test_an_offset_that_begins_at_zero_is_zero_but_can_be_learned(key):
    gate = Gate(LATENT, offset_scale=0.0, key=key)
    grid, path = TimeGrid.uniform(1.0, 3), jnp.asarray(random_path(3))
    assert not np.any(np.asarray(gates_of(gate, grid, path).offset))
    slope = eqx.filter_grad(lambda g: jnp.sum(gates_of(g, grid, path).offset))(gate)
    assert np.all(np.any(np.asarray(slope.kernel[3]) != 0.0, axis=1))


@pytest.mark.parametrize("nodes", [2, 3, 9])
def test_the_convolution_is_a_residual_sum_over_the_past(nodes):
    convolution = perturbed(np.random.default_rng(94), CausalConvolution(jnp.zeros((LATENT, TAPS))))
    path = random_path(nodes - 1)
    expected = convolved(path, np.asarray(convolution.kernel))
    assert relative_error(convolution(jnp.asarray(path)), expected) <= 1e-14


@pytest.mark.parametrize("norm", Norm)
def test_a_residual_layer_is_driven_by_increments_of_the_normalised_path(norm, key):
    driver = perturbed(np.random.default_rng(95), ResidualDriver(LATENT, 2, norm, key=key))
    path = random_path(5)
    hidden = np.einsum("md,kdp->kmp", driver.projection, normalised(path, driver.norm))
    assert relative_error(driver(jnp.asarray(path)), np.diff(hidden, axis=0)) <= 1e-13


@pytest.mark.parametrize("amplitude", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_the_amplitude_must_keep_the_scale_positive(amplitude, key):
    with pytest.raises(
        ArgumentError, match=rf"`amplitude` must be in \(0, 1\), got {amplitude}: the scale"
    ):
        Gate(LATENT, amplitude=amplitude, key=key)
