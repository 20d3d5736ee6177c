"""Every evaluation returns the sequential iterates and gradients (prop:affine-scan-closure)."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from slisde.flow.adjoint import solve
from slisde.flow.scan import CHUNK, associative, chunked, sequential
from slisde.flow.transition import Euler, Exponential
from tests.builders import FAMILIES, random_flow, random_gates, relative_error

EVALUATORS = (sequential, associative, chunked)
STEPS = CHUNK + 3  # one whole chunk and a rest, a prime number of steps
TOLERANCE = 1e-10


def layer(family, transition, gated):
    """Return a gated time-dependent layer or an ungated homogeneous one, and its initial state."""
    rng = np.random.default_rng(7)
    flow = random_flow(
        rng, block_size=FAMILIES[family], steps=STEPS, transition=transition, time_dependent=gated
    )
    gates = random_gates(rng, flow) if gated else None
    return flow, gates, jnp.asarray(rng.normal(size=(4, 3)))


def dense_iterates(flow, gates, initial):
    """Run the recurrence with full matrices, NumPy and SciPy, path by path: an independent oracle."""
    flow, gates, initial = jax.tree.map(np.asarray, (flow, gates, initial))
    lead = flow.matrices.shape[0]
    nodes = [initial]
    for k in range(flow.steps):
        index = k if lead > 1 else 0
        drift, *diffusion = (scipy.linalg.block_diag(*blocks) for blocks in flow.matrices[index])
        state = np.empty_like(nodes[-1])
        for path in range(state.shape[1]):
            weights = np.concatenate([flow.dt[k : k + 1], flow.noise[k, :, path]])
            change = sum(c * w for c, w in zip(diffusion, weights[1:], strict=True))
            if isinstance(flow.transition, Euler):
                matrix = np.eye(4) + drift * weights[0] + change
            else:
                ito = sum(c @ c for c in diffusion)
                matrix = scipy.linalg.expm((drift - 0.5 * ito) * weights[0] + change)
            if gates is not None:
                np.fill_diagonal(matrix, np.diag(matrix) * gates.scale[k, :, path])
            state[:, path] = matrix @ nodes[-1][:, path] + weights @ flow.vectors[index]
            if gates is not None:
                state[:, path] += gates.offset[k, :, path]
        nodes.append(state)
    return np.stack(nodes)


@partial(jax.jit, static_argnums=0)
def value_and_gradients(run, arguments, cotangent):
    """Return the path and its pullback to everything but the grid."""
    path, pullback = jax.vjp(run, *arguments)
    flow, *others = pullback(cotangent)
    return path, (eqx.tree_at(lambda f: f.dt, flow, None), *others)


@pytest.mark.parametrize("gated", [True, False], ids=["gated", "ungated"])
@pytest.mark.parametrize("transition", [Euler(), Exponential()], ids=["euler", "exponential"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_evaluation_has_the_iterates_of_full_matrices_and_the_derivative_of_the_definition(
    family, transition, gated
):
    arguments = layer(family, transition, gated)
    cotangent = jnp.asarray(np.random.default_rng(8).normal(size=(STEPS + 1, 4, 3)))
    iterates = dense_iterates(*arguments)
    _, gradients = value_and_gradients(sequential, arguments, cotangent)
    # A matrix exponential takes seconds to compile; ungated, `chunked` stands for `associative` too.
    all_of_them = gated or family == "diagonal" or isinstance(transition, Euler)
    for evaluator in EVALUATORS if all_of_them else (chunked,):
        result = value_and_gradients(partial(solve, evaluator), arguments, cotangent)
        assert relative_error(result, (iterates, gradients)) <= TOLERANCE, evaluator.__name__


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_the_reverse_recurrence_is_the_forward_one_with_time_reversed(evaluator):
    flow, gates, initial = layer("block", Euler(), gated=True)
    flipped_flow, flipped_gates = jax.tree.map(lambda x: x[::-1], (flow, gates))
    forward = jax.jit(sequential)(flipped_flow, flipped_gates, initial)
    backward = jax.jit(partial(evaluator, reverse=True))(flow, gates, initial)
    assert relative_error(backward, forward[::-1]) <= TOLERANCE


def test_the_adjoint_of_homogeneous_coefficients_sums_over_the_steps():
    flow, gates, initial = layer("block", Euler(), gated=False)
    spread = eqx.tree_at(
        lambda f: (f.matrices, f.vectors),
        flow,
        replace_fn=lambda x: jnp.broadcast_to(x, (STEPS, *x.shape[1:])),
    )
    cotangent = jnp.ones((STEPS + 1, 4, 3))
    _, (once, *_) = value_and_gradients(
        partial(solve, sequential), (flow, gates, initial), cotangent
    )
    _, (each, *_) = value_and_gradients(
        partial(solve, sequential), (spread, gates, initial), cotangent
    )
    assert relative_error(once.matrices[0], each.matrices.sum(axis=0)) <= TOLERANCE
    assert relative_error(once.vectors[0], each.vectors.sum(axis=0)) <= TOLERANCE
