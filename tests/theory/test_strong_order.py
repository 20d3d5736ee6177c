"""The stacked scheme has strong order 1/2, and 1 for additive noise (thm:disc-error).

One Brownian path is seen on finer and finer grids. The error of a grid is measured against the next
finer one: the distance between them falls like the error itself, and no reference solution of finite
accuracy biases the slope.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.flow.brownian import coarsen
from slisde.flow.grid import TimeGrid
from slisde.model.coefficients import NoiseType
from slisde.model.stack import Drivers, SLiSDE
from tests.builders import random_increments

STEPS = (16, 32, 64, 128, 256, 512)
LAYERS = 3
PATHS, BATCHES = 1024, 32


def model_on(steps, noise_type, key):
    """Return the discretisation, with this many steps, of one fixed continuous-time stack.

    The discrete gate carries no Δt, so eq:app-dictionary puts it into the weights: the value branch of
    the offset and the amplitude of the scale are proportional to Δt.
    """
    dt = 1.0 / steps
    model = SLiSDE(4, 2, LAYERS, block_size=2, noise_type=noise_type, amplitude=dt, key=key)
    rng = np.random.default_rng(4)

    def redrawn(where, scale, model):
        return eqx.tree_at(
            where, model, replace_fn=lambda x: jnp.asarray(scale * rng.normal(size=x.shape))
        )

    # Independent normal C^1 and C^2 do not commute, so the order 1/2 is not hidden behind order 1.
    model = redrawn(lambda m: [layer.coefficients.matrices for layer in m.layers], 0.3, model)
    model = redrawn(
        lambda m: [layer.coefficients.decoder.matrices for layer in m.layers], 0.05, model
    )
    model = redrawn(gate_weights, 0.3, model)
    return eqx.tree_at(gate_weights, model, replace_fn=lambda x: x.at[3].multiply(dt))


def gate_weights(model):
    """Return every weight of every gate; row 3 is the offset's value branch."""
    return [x for gate in model.couplings for x in (gate.kernel, gate.time_kernel, gate.bias)]


@eqx.filter_jit
def common_nodes(model, grid, drivers):
    """Return all layers at the nodes of the coarsest grid."""
    every = grid.steps // STEPS[0]
    return jnp.stack([path[::every] for path in model.layer_paths(grid, drivers)])


def squared_distances(noise_type, key):
    """Return E‖Z_h − Z_{h/2}‖², averaged over nodes, `[level, layer, batch]`."""
    rng = np.random.default_rng(104)
    fine = TimeGrid.uniform(1.0, STEPS[-1])
    noise = random_increments(rng, fine, 2, PATHS)
    initial = jnp.asarray(rng.normal(size=(4, PATHS)))
    levels = []
    for steps in STEPS:
        factor = fine.steps // steps
        driver = coarsen(noise, factor)
        drivers = Drivers(initial, driver, driver)
        levels.append(common_nodes(model_on(steps, noise_type, key), fine.coarsen(factor), drivers))
    squares = np.sum(np.square(np.diff(np.stack(levels), axis=0)), axis=3).mean(axis=2)
    return squares.reshape(len(STEPS) - 1, LAYERS, BATCHES, -1).mean(axis=-1)


def order(squares):
    """Return p of √squares ≈ C h^p (1 + c h), the first correction included, by least squares."""
    h = 1.0 / np.array(STEPS[:-1])
    regressors = np.stack([np.ones_like(h), np.log(h), h], axis=1)
    return (np.linalg.pinv(regressors) @ (0.5 * np.log(squares)))[1]


def order_and_stderr(squares):
    """Return the fitted order and its standard error, from resampled batches of paths."""
    rng = np.random.default_rng(0)
    resampled = [
        order(squares[:, rng.integers(0, BATCHES, BATCHES)].mean(axis=1)) for _ in range(200)
    ]
    return order(squares.mean(axis=1)), np.std(resampled)


@pytest.mark.parametrize(
    ("noise_type", "expected"), [(NoiseType.GENERAL, 0.5), (NoiseType.ADDITIVE, 1.0)]
)
def test_every_layer_of_the_stack_converges_with_the_order_of_the_theorem(
    noise_type, expected, key
):
    squares = squared_distances(noise_type, key)
    for layer in range(LAYERS):
        fitted, stderr = order_and_stderr(squares[:, layer])
        report = f"layer {layer + 1}: order {fitted:.3f} ± {stderr:.3f}, errors {squares[:, layer].mean(1)}"
        assert abs(fitted - expected) <= 3.0 * stderr, report
        assert 3.0 * stderr < 0.2, f"the band cannot tell 1/2 from 1; {report}"
