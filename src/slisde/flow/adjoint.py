"""The adjoint of the batched recurrence: memory of the layer paths, never of F.

For Z_{k+1} = F̄_k Z_k + ḡ_k and a cotangent Z̄ at every node, the adjoint state is again an affine
recurrence, run from the end: λ_N = Z̄_N, λ_k = F̄_kᵀ λ_{k+1} + Z̄_k. It is evaluated by the same
evaluation as the layer itself, with transposed coefficients, because 𝒟(α, F)ᵀ = 𝒟(α, Fᵀ) and the
transition of transposed coefficients is the transposed transition. The gradients of coefficients,
noise and gates then follow step by step, from λ_{k+1} and Z_k, in chunks of time.
"""

from functools import partial

import jax
import jax.numpy as jnp

from slisde.flow.linear import Gates, LinearFlow, Step, advance
from slisde.flow.scan import Evaluator, scan_chunks
from slisde.shapes import LatentPaths, LatentState

PULLBACK_CHUNK = 4
"""Steps whose gradients are taken together: few enough for (w_j z) of a chunk to stay in cache."""


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def solve(
    evaluator: Evaluator, flow: LinearFlow, gates: Gates | None, initial: LatentState
) -> LatentPaths:
    """Return all nodes of the gated recurrence, differentiable in everything but the grid."""
    return evaluator(flow, gates, initial)


def _forward(evaluator, flow, gates, initial):
    path = evaluator(flow, gates, initial)
    return path, (flow, gates, path)


def _backward(evaluator, residuals, cotangent):
    flow, gates, path = residuals
    adjoint = _adjoint_path(evaluator, flow, gates, cotangent)
    steps = flow.per_step(gates)._replace(offset=None)

    def pull_back(_, inputs):
        step, z, adjoint_next = inputs
        _, vjp = jax.vjp(lambda step: jax.vmap(partial(advance, flow.transition))(step, z), step)
        return None, vjp(adjoint_next)[0]

    _, gradient = scan_chunks(pull_back, None, (steps, path[:-1], adjoint[1:]), PULLBACK_CHUNK)
    return _flow_cotangent(flow, gradient), _gates_cotangent(gates, gradient, adjoint), adjoint[0]


solve.defvjp(_forward, _backward)


def _adjoint_path(
    evaluator: Evaluator, flow: LinearFlow, gates: Gates | None, cotangent: LatentPaths
) -> LatentPaths:
    matrices, no_vectors = flow.matrices.swapaxes(-1, -2), flow.vectors[:1, :0]
    transposed = LinearFlow(matrices, no_vectors, flow.dt, flow.noise, flow.transition)
    scale = None if gates is None else gates.scale
    return evaluator(transposed, Gates(scale, cotangent[:-1]), cotangent[-1], reverse=True)


def _flow_cotangent(flow: LinearFlow, gradient: Step) -> LinearFlow:
    def summed(like, value):
        return value.sum(axis=0, keepdims=True) if like.shape[0] == 1 else value

    matrices = summed(flow.matrices, gradient.matrices)
    vectors = summed(flow.vectors, gradient.vectors)
    return LinearFlow(matrices, vectors, jnp.zeros_like(flow.dt), gradient.noise, flow.transition)


def _gates_cotangent(gates: Gates | None, gradient: Step, adjoint: LatentPaths) -> Gates | None:
    return None if gates is None else Gates(gradient.scale, adjoint[1:])
