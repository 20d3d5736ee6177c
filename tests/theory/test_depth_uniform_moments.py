"""Second moments do not grow with depth, because the gate input is normalised (thm:wellposed(b)).

The bound is the discrete one. With independent increments and a norm in L²,
‖F_k Z‖ ≤ f ‖Z‖, ‖diag(F_k) Z‖ ≤ f_d ‖Z‖, ‖g_k‖ ≤ g, so that every layer obeys
‖Z_{k+1}‖ ≤ (f + ε f_d) ‖Z_k‖ + g + Λ_o, whatever the layers below it do.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.flow.grid import TimeGrid
from slisde.flow.linear import Gates
from slisde.flow.scan import sequential
from slisde.model.stack import SLiSDE
from tests.builders import random_drivers
from tests.theory.bounds import offset_bound

DEPTH, LATENT, PATHS = 8, 4, 1000
AMPLITUDE = 0.1
GRID = TimeGrid.uniform(1.0, 16)


def stack(key, gate_scale):
    """Return eight layers with independent weights, gate weights of this size."""
    model = SLiSDE(
        LATENT, 2, DEPTH, block_size=2, amplitude=AMPLITUDE, time_dependent=False, key=key
    )
    rng = np.random.default_rng(41)
    return eqx.tree_at(
        lambda m: [x for gate in m.couplings for x in (gate.kernel, gate.time_kernel, gate.bias)],
        model,
        replace_fn=lambda x: jnp.asarray(gate_scale * rng.normal(size=x.shape)),
    )


@eqx.filter_jit
def squared_norms(model, drivers):
    """Return ‖Z_k‖² of every layer, node and path."""
    return jnp.stack([jnp.sum(path**2, axis=1) for path in model.layer_paths(GRID, drivers)])


def growth(norms, dt):
    """Return a bound of ‖(I + A Δt + Σ C^j ΔW^j) Z‖ / ‖Z‖ in L² from norms of A and the C^j."""
    return ((1.0 + norms[0] * dt) ** 2 + dt * np.sum(norms[1:] ** 2)) ** 0.5


def layer_bound(model, initial):
    """Return one bound of max_k E‖Z_k‖² for all layers, from norms of the weights alone."""
    dt = 1.0 / GRID.steps
    flow = diagonal = drift = 0.0
    for layer in model.layers:
        matrices, vectors = (np.asarray(x[0]) for x in layer.coefficients.on_grid(GRID))
        norms = np.linalg.norm(matrices, ord=2, axis=(2, 3)).max(axis=1)
        entries = np.abs(np.diagonal(matrices, axis1=2, axis2=3)).max(axis=(1, 2))
        flow = max(flow, growth(norms, dt))
        diagonal = max(diagonal, growth(entries, dt))
        drift = max(drift, (dt**2 * np.sum(vectors[0] ** 2) + dt * np.sum(vectors[1:] ** 2)) ** 0.5)
    offset = max(offset_bound(gate) for gate in model.couplings)
    bounds = [initial]
    for _ in range(GRID.steps):
        bounds.append((flow + AMPLITUDE * diagonal) * bounds[-1] + drift + offset)
    return max(bounds) ** 2


@pytest.mark.parametrize("gate_scale", [0.01, 1.0, 30.0])
def test_second_moments_of_eight_layers_stay_below_one_bound_made_of_their_weights(gate_scale, key):
    model = stack(key, gate_scale)
    drivers = random_drivers(np.random.default_rng(42), model, GRID, PATHS)
    squares = np.asarray(squared_norms(model, drivers))
    initial = squares[0, 0].mean() ** 0.5
    stderr = squares.std(axis=-1) / PATHS**0.5
    assert np.all(squares.mean(axis=-1) <= layer_bound(model, initial) + 3.0 * stderr)


def repeated(model):
    """Return the stack with the second layer's weights in all later ones: only depth is left."""
    layers = (model.layers[0], *[model.layers[1]] * (DEPTH - 1))
    couplings = (model.couplings[0],) * (DEPTH - 1)
    return eqx.tree_at(lambda m: (m.layers, m.couplings), model, (layers, couplings))


@pytest.mark.parametrize("gate_scale", [0.01, 1.0, 30.0])
def test_the_same_layer_again_and_again_does_not_grow(gate_scale, key):
    model = repeated(stack(key, gate_scale))
    drivers = random_drivers(np.random.default_rng(42), model, GRID, PATHS)
    moments = np.asarray(squared_norms(model, drivers)).mean(axis=-1).max(axis=1)[1:]
    assert np.all(moments <= 1.5 * moments[0])


def test_without_the_normalisation_the_same_layer_again_and_again_would_grow_geometrically(key):
    model = repeated(stack(key, 1.0))
    drivers = random_drivers(np.random.default_rng(42), model, GRID, PATHS)
    flow = model.layers[1].flow(GRID, drivers.prefix)

    @jax.jit
    def raw_layer(previous):
        # rem:wp-norm: the offset gate reads the state itself.
        gate, value = jnp.einsum("gij,kjp->gkip", model.couplings[0].kernel[2:], previous[:-1])
        offset = jax.nn.sigmoid(gate) * value
        path = sequential(flow, Gates(jnp.ones_like(offset), offset), drivers.initial)
        return path, jnp.max(jnp.mean(jnp.sum(jnp.square(path), axis=1), axis=-1))

    path, moments = jnp.broadcast_to(drivers.initial, (GRID.steps + 1, LATENT, PATHS)), []
    for _ in range(DEPTH - 1):
        path, moment = raw_layer(path)
        moments.append(float(moment))
    assert np.all(np.diff(np.log(moments)) > np.log(1.5)), moments
