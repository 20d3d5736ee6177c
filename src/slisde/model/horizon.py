"""The stack over the whole horizon, or with its beginning in segments when the layer paths are too large.

The backward pass starts at the end of the horizon. So the paths of the last steps are kept, as many as
may be, and of the steps before them only the states at the boundaries of segments; the backward pass
runs each segment again. Memory is that of the kept paths plus one state per layer and segment, for one
more forward pass over the segments. Gates are pointwise in time, so every layer can be advanced over a
segment before the next one.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError
from slisde.flow.evaluate import Evaluation, evaluate, run, run_observed
from slisde.flow.gating import InFlowGate
from slisde.flow.grid import TimeGrid
from slisde.flow.linear import LinearFlow
from slisde.flow.scan import scan_chunks
from slisde.model.gate import Gate, GateOnGrid
from slisde.model.residual import ResidualDriver
from slisde.shapes import LatentPaths, LatentState

KEPT_BYTES = 2**31
"""Layer paths of at most this size are kept for the backward pass."""
SEGMENT_BYTES = 2**29
"""Layer paths of one segment that is run again."""

Values = Float[Array, "node out path"]


class Cut(NamedTuple):
    """How a horizon is cut: `segments` of `segment` steps that are run again, then `kept` steps."""

    segments: int
    segment: int
    kept: int

    @classmethod
    def into(cls, steps: int, segment: int, kept: int) -> "Cut":
        """Return the cut whose last part has at most `kept` steps, or a segment where that is more."""
        segments = max(0, math.ceil((steps - max(kept, segment)) / segment))
        return cls(segments, segment, steps - segments * segment)


class LayerOnGrid(NamedTuple):
    """One layer of a stack on a grid, and how it sees the layer before it."""

    flow: LinearFlow
    coupling: Gate | ResidualDriver | None
    gate: GateOnGrid | None

    def given(self, previous: LatentPaths | None) -> tuple[LinearFlow, InFlowGate | None]:
        """Return the flow and the gate of this layer, once the previous path is known."""
        if isinstance(self.coupling, Gate) and self.gate is not None and previous is not None:
            return self.flow, self.coupling.on_path(self.gate, previous)
        if isinstance(self.coupling, ResidualDriver) and previous is not None:
            return self.flow.driven_by(self.coupling(previous)), None
        return self.flow, None


def gate_on_grid(coupling: Gate | ResidualDriver | None, grid: TimeGrid) -> GateOnGrid | None:
    """Return the gate's weights on a grid where the coupling is a gate."""
    return coupling.on_grid(grid) if isinstance(coupling, Gate) else None


def layer_paths(
    stack: list[LayerOnGrid], initial: LatentState, evaluation: Evaluation
) -> list[LatentPaths]:
    """Return every layer's path over the whole horizon."""
    paths: list[LatentPaths] = []
    for layer in stack:
        previous = paths[-1] if paths else None
        flow, gate = layer.given(previous)
        if isinstance(layer.coupling, ResidualDriver) and previous is not None:
            change = evaluate(flow, gate, jnp.zeros_like(initial), evaluation=evaluation)
            paths.append(previous + change)
        else:
            paths.append(evaluate(flow, gate, initial, evaluation=evaluation))
    return paths


def observed_values(
    stack: list[LayerOnGrid],
    initial: LatentState,
    readout: Float[Array, "out latent"],
    evaluation: Evaluation,
    segment: int | None,
) -> Values:
    """Return Π Z of the last layer at every node, in segments of `segment` steps or as chosen."""
    if any(isinstance(layer.coupling, ResidualDriver) for layer in stack):
        last = layer_paths(stack, initial, evaluation)[-1]
        return jnp.einsum("od,kdb->kob", readout, last)
    cut = _choose_cut(stack, initial, segment)
    if cut.segments == 0:
        return advance_stack(stack, [initial] * len(stack), readout, evaluation)[1]
    return _in_segments(stack, initial, readout, evaluation, cut)


def advance_stack(
    stack: list[LayerOnGrid],
    states: list[LatentState],
    readout: Float[Array, "out latent"],
    evaluation: Evaluation,
) -> tuple[list[LatentState], Values]:
    """Return the states after the stack's steps and the observed values at all their nodes."""
    previous, ends = None, []
    for layer, state in zip(stack[:-1], states[:-1], strict=True):
        previous, end = run(*layer.given(previous), state, evaluation=evaluation)
        ends.append(end)
    values, end = run_observed(
        *stack[-1].given(previous), states[-1], readout, evaluation=evaluation
    )
    return [*ends, end], values


def by_step(stack: list[LayerOnGrid]) -> list[Any]:
    """Return what varies along the steps of each layer, with a step axis; `piece_of` takes parts of it."""
    steps = stack[0].flow.steps
    varying = [
        (layer.flow.by_step(), None if layer.gate is None else layer.gate.bias) for layer in stack
    ]
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (steps, *x.shape[1:])), varying)


def piece_of(stack: list[LayerOnGrid], varying: list[Any]) -> list[LayerOnGrid]:
    """Return the stack on some of its steps, given what `by_step` has for them."""
    inside = []
    for layer, (fields, bias) in zip(stack, varying, strict=True):
        flow = dataclasses.replace(layer.flow, **fields)
        gate = None if layer.gate is None else GateOnGrid(layer.gate.kernel, bias)
        inside.append(LayerOnGrid(flow, layer.coupling, gate))
    return inside


def cut_horizon(steps: int, bytes_per_step: int) -> Cut:
    """Return the cut for layer paths of this size, by `KEPT_BYTES` and `SEGMENT_BYTES`."""
    segment = max(1, SEGMENT_BYTES // bytes_per_step)
    return Cut.into(steps, segment, KEPT_BYTES // bytes_per_step)


def _choose_cut(stack: list[LayerOnGrid], initial: LatentState, segment: int | None) -> Cut:
    convolved = any(
        isinstance(layer.coupling, Gate) and layer.coupling.convolution is not None
        for layer in stack
    )
    steps = stack[0].flow.steps
    if segment is None:
        state = len(stack) * initial.size * initial.dtype.itemsize
        return Cut(0, steps, steps) if convolved else cut_horizon(steps, state)
    if segment < 1:
        raise ArgumentError("segment", segment, "must be at least 1", "it is a number of steps")
    if convolved and segment < steps:
        reason = "the causal convolution reaches back over a boundary"
        raise ArgumentError("segment", segment, f"must be the whole horizon of {steps}", reason)
    return Cut.into(steps, segment, segment)


def _in_segments(
    stack: list[LayerOnGrid],
    initial: LatentState,
    readout: Float[Array, "out latent"],
    evaluation: Evaluation,
    cut: Cut,
) -> Values:
    whole = by_step(stack)

    def advance(states, varying):
        states, values = advance_stack(piece_of(stack, varying), states, readout, evaluation)
        return states, values[1:]

    head = stack[0].flow.steps - cut.kept
    states, values = scan_chunks(
        jax.checkpoint(advance),
        [initial] * len(stack),
        jax.tree.map(lambda x: x[:head], whole),
        cut.segment,
    )
    _, last = advance(states, jax.tree.map(lambda x: x[head:], whole))
    first = jnp.einsum("od,db->ob", readout, initial)
    return jnp.concatenate([first[None], values, last])
