"""Three evaluations of one affine recurrence, with one signature (paper: prop:affine-scan-closure).

`sequential` is the definition; `associative` and `chunked` return the same iterates by composing the
one-step maps along a tree, over the whole horizon or inside chunks of it. With `reverse` the
recurrence runs from the last node down, Z_k = F̄_k Z_{k+1} + ḡ_k, which is what the adjoint needs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp

from slisde.flow.affine import AffineMap, compose
from slisde.flow.linear import Gates, LinearFlow, Step, advance, affine_map
from slisde.shapes import LatentPaths, LatentState, StepValues

CHUNK = 16
"""Steps per chunk: F of one chunk, not of the horizon, is what `chunked` keeps in memory."""

Tree = TypeVar("Tree")


@runtime_checkable
class Evaluator(Protocol):
    """The common signature: boundary state in, all N + 1 nodes out."""

    def __call__(
        self, flow: LinearFlow, gates: Gates | None, boundary: LatentState, *, reverse: bool = False
    ) -> LatentPaths: ...


def sequential(
    flow: LinearFlow, gates: Gates | None, boundary: LatentState, *, reverse: bool = False
) -> LatentPaths:
    """Return the recurrence evaluated step after step: O(N) depth, no F in memory."""

    def step(z: LatentState, inputs: Step) -> tuple[LatentState, LatentState]:
        z = advance(flow.transition, inputs, z)
        return z, z

    _, path = jax.lax.scan(step, boundary, flow.per_step(gates), reverse=reverse)
    return _with_boundary(boundary, path, reverse)


def associative(
    flow: LinearFlow, gates: Gates | None, boundary: LatentState, *, reverse: bool = False
) -> LatentPaths:
    """Return the recurrence by one associative scan over all steps: O(log N) depth, all F in memory."""
    _, path = _compose_through(flow, boundary, flow.per_step(gates), reverse)
    return _with_boundary(boundary, path, reverse)


def chunked(
    flow: LinearFlow, gates: Gates | None, boundary: LatentState, *, reverse: bool = False
) -> LatentPaths:
    """Return the recurrence by an associative scan inside each chunk, chunks one after another."""
    inside = partial(_compose_through, flow, reverse=reverse)
    _, path = scan_chunks(inside, boundary, flow.per_step(gates), CHUNK, reverse=reverse)
    return _with_boundary(boundary, path, reverse)


def scan_chunks(
    function: Callable[[Any, Tree], tuple[Any, Any]],
    carry: Any,
    inputs: Tree,
    chunk: int,
    *,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Scan `function(carry, piece)` over pieces of `chunk` steps, the shorter last piece included.

    Pieces keep their leading step axis. Outputs have a leading axis, too, and come back joined along it
    in time order.
    """
    steps = jax.tree.leaves(inputs)[0].shape[0]
    count, rest = divmod(steps, chunk)
    whole = count * chunk
    pieces = jax.tree.map(lambda x: x[:whole].reshape(count, chunk, *x.shape[1:]), inputs)
    last = jax.tree.map(lambda x: x[whole:], inputs)
    outputs, tail = None, None
    if rest and reverse:
        carry, tail = function(carry, last)
    if count:
        carry, outputs = jax.lax.scan(function, carry, pieces, reverse=reverse)
        outputs = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), outputs)
    if rest and not reverse:
        carry, tail = function(carry, last)
    if outputs is None or tail is None:
        return carry, tail if outputs is None else outputs
    return carry, jax.tree.map(lambda head, end: jnp.concatenate([head, end]), outputs, tail)


def _compose_through(
    flow: LinearFlow, boundary: LatentState, steps: Step, reverse: bool
) -> tuple[LatentState, StepValues]:
    """Return the last state and all states of these steps, starting from `boundary`."""
    maps = jax.vmap(lambda step: affine_map(flow.transition, step, boundary))(steps)
    # The scan hands over maps in the order of travel, so the second is always the later one.
    prefixes: AffineMap = jax.lax.associative_scan(
        jax.vmap(lambda first, second: compose(second, first)), maps, reverse=reverse
    )
    path = jax.vmap(lambda prefix: prefix(boundary))(prefixes)
    return path[0 if reverse else -1], path


def _with_boundary(boundary: LatentState, path: StepValues, reverse: bool) -> LatentPaths:
    return jnp.concatenate([path, boundary[None]] if reverse else [boundary[None], path])
