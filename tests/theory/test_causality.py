"""Noise and previous state at a node change nothing before it (ass:gate-bounds, app:feature-conditioning).

"Nothing" is meant to the bit: the same compiled program is run on two inputs and compared exactly.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.flow.evaluate import Evaluation, evaluate
from slisde.flow.scan import CHUNK
from slisde.model.convolution import TAPS
from slisde.model.residual import ResidualDriver
from slisde.model.stack import SLiSDE, Stacking
from tests.builders import EVALUATIONS, perturbed, random_drivers, random_grid

STEPS = CHUNK + 3
PATHS = 2
STACKS = {
    "gated": {},
    "convolved": {"causal_conv": True},
    "residual": {"stacking": Stacking.RESIDUAL},
}


@pytest.fixture(scope="module", params=STACKS)
def setting(request, key):
    """A stack of three layers with no zero weight, a grid and one batch of noise."""
    rng = np.random.default_rng(31)
    model = SLiSDE(4, 2, 3, block_size=2, initial_value=1.0, key=key, **STACKS[request.param])
    model, grid = perturbed(rng, model), random_grid(rng, STEPS)
    return model, grid, random_drivers(rng, model, grid, PATHS)


@eqx.filter_jit
def run(model, grid, drivers, evaluation):
    """Return every layer and the observed path, all with the node axis first."""
    paths = model.layer_paths(grid, drivers, evaluation=evaluation)
    return [*paths, model.readout(paths[-1]).T]


def first_difference(one, other):
    """Return the first node at which two paths differ, or None."""
    differs = np.any(np.asarray(one) != np.asarray(other), axis=tuple(range(1, one.ndim)))
    return int(np.argmax(differs)) if differs.any() else None


def bump(array, index):
    """Return the array with one slice moved."""
    return array.at[index].add(0.5)


@pytest.mark.parametrize("evaluation", [*EVALUATIONS, Evaluation.AUTO])
def test_noise_of_a_step_changes_every_layer_from_the_next_node_on(setting, evaluation):
    model, grid, drivers = setting
    before = run(model, grid, drivers, evaluation)
    for step in range(STEPS):
        moved = eqx.tree_at(
            lambda d: (d.prefix, d.last), drivers, replace_fn=lambda x, k=step: bump(x, k)
        )
        for one, other in zip(before, run(model, grid, moved, evaluation), strict=True):
            assert first_difference(one, other) == step + 1


def test_noise_of_the_last_driver_changes_the_last_gated_layer_alone(setting):
    model, grid, drivers = setting
    before = run(model, grid, drivers, Evaluation.SEQUENTIAL)
    for step in range(STEPS):
        moved = eqx.tree_at(lambda d: d.last, drivers, replace_fn=lambda x, k=step: bump(x, k))
        after = run(model, grid, moved, Evaluation.SEQUENTIAL)
        places = [first_difference(one, other) for one, other in zip(before, after, strict=True)]
        # A residual layer is driven by the path below it, and by no noise of its own.
        own = None if isinstance(model.couplings[0], ResidualDriver) else step + 1
        assert places == [None, None, own, own]


@eqx.filter_jit
def gated_layer(model, grid, drivers, previous):
    """Return gates and path of the second layer over a given first one."""
    coupling = model.couplings[0]
    gate = coupling.on_path(coupling.on_grid(grid), previous)
    return gate.gates(), evaluate(model.layers[1].flow(grid, drivers.prefix), gate, drivers.initial)


@pytest.mark.parametrize("setting", ["gated", "convolved"], indirect=True)
def test_a_gate_reads_the_previous_path_at_its_node_and_a_convolution_three_nodes_back(setting):
    model, grid, drivers = setting
    reach = TAPS if model.couplings[0].convolution is not None else 1
    previous = jnp.asarray(np.random.default_rng(32).normal(size=(STEPS + 1, 4, PATHS)))
    gates, _ = gated_layer(model, grid, drivers, previous)
    for node in range(STEPS + 1):
        moved, _ = gated_layer(model, grid, drivers, bump(previous, node))
        for one, other in ((gates.scale, moved.scale), (gates.offset, moved.offset)):
            changed = np.flatnonzero(np.any(np.asarray(one) != np.asarray(other), axis=(1, 2)))
            assert changed.tolist() == list(range(node, min(node + reach, STEPS)))


@pytest.mark.parametrize("setting", ["gated", "convolved"], indirect=True)
def test_previous_state_at_a_node_changes_a_gated_layer_from_the_next_node_on(setting):
    model, grid, drivers = setting
    previous = jnp.asarray(np.random.default_rng(32).normal(size=(STEPS + 1, 4, PATHS)))
    _, before = gated_layer(model, grid, drivers, previous)
    for node in range(STEPS + 1):
        _, after = gated_layer(model, grid, drivers, bump(previous, node))
        assert first_difference(before, after) == (node + 1 if node < STEPS else None)


@pytest.mark.parametrize("setting", ["residual"], indirect=True)
def test_previous_state_at_a_node_changes_a_residual_layer_from_that_node_on(setting):
    model, grid, drivers = setting
    previous = jnp.asarray(np.random.default_rng(32).normal(size=(STEPS + 1, 4, PATHS)))

    @eqx.filter_jit
    def layer(previous):
        flow = model.layers[1].flow(grid, model.couplings[0](previous))
        return evaluate(flow, None, jnp.zeros_like(drivers.initial))

    before = layer(previous)
    for node in range(STEPS + 1):
        # The driver is the increment of the previous path, so its first value moves the first step.
        assert first_difference(before, layer(bump(previous, node))) == max(node, 1)
