"""The stack over the whole horizon, or in segments of it when the layer paths are too large.

In segments, only the states at segment boundaries are kept and the backward pass runs each segment
again: memory is that of one segment's paths plus one state per layer and segment, for one more
forward pass. Gates are pointwise in time, so every layer can be advanced over a segment before the next one.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError
from slisde.flow.evaluate import Evaluation, evaluate, evaluate_observed
from slisde.flow.gating import InFlowGate
from slisde.flow.grid import TimeGrid
from slisde.flow.linear import LinearFlow
from slisde.flow.scan import scan_chunks
from slisde.model.gate import Gate, GateOnGrid
from slisde.model.residual import ResidualDriver
from slisde.shapes import LatentPaths, LatentState

WHOLE_HORIZON_BYTES = 2**31
"""Layer paths up to this size are kept whole; larger ones are cut into segments of a quarter of it."""

Values = Float[Array, "node out path"]


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


def on_grid(coupling: Gate | ResidualDriver | None, grid: TimeGrid) -> GateOnGrid | None:
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
    steps = stack[0].flow.steps
    segment = _check_segment(stack, initial, segment)
    if segment >= steps:
        return _advance(stack, [initial] * len(stack), readout, evaluation)[1]
    return _in_segments(stack, initial, readout, evaluation, segment)


def segment_steps(steps: int, bytes_per_step: int) -> int:
    """Return how many steps of this size are kept between checkpoints."""
    if steps * bytes_per_step <= WHOLE_HORIZON_BYTES:
        return steps
    return max(1, WHOLE_HORIZON_BYTES // 4 // bytes_per_step)


def _check_segment(stack: list[LayerOnGrid], initial: LatentState, segment: int | None) -> int:
    convolved = any(
        isinstance(layer.coupling, Gate) and layer.coupling.convolution is not None
        for layer in stack
    )
    steps = stack[0].flow.steps
    if segment is None:
        state = len(stack) * initial.size * initial.dtype.itemsize
        return steps if convolved else segment_steps(steps, state)
    if segment < 1:
        raise ArgumentError("segment", segment, "must be at least 1", "it is a number of steps")
    if convolved and segment < steps:
        reason = "the causal convolution reaches back over a boundary"
        raise ArgumentError("segment", segment, f"must be the whole horizon of {steps}", reason)
    return segment


def _advance(
    stack: list[LayerOnGrid],
    states: list[LatentState],
    readout: Float[Array, "out latent"],
    evaluation: Evaluation,
) -> tuple[list[LatentState], Values]:
    """Return the states after the stack's steps and the observed values at all their nodes."""
    previous, ends = None, []
    for layer, state in zip(stack[:-1], states[:-1], strict=True):
        previous = evaluate(*layer.given(previous), state, evaluation=evaluation)
        ends.append(previous[-1])
    path, values = evaluate_observed(
        *stack[-1].given(previous), states[-1], readout, evaluation=evaluation
    )
    return [*ends, path[-1]], values


def _in_segments(
    stack: list[LayerOnGrid],
    initial: LatentState,
    readout: Float[Array, "out latent"],
    evaluation: Evaluation,
    segment: int,
) -> Values:
    steps = [
        (layer.flow.per_step(None), None if layer.gate is None else layer.gate.bias)
        for layer in stack
    ]
    total = stack[0].flow.steps
    whole = jax.tree.map(lambda x: jnp.broadcast_to(x, (total, *x.shape[1:])), steps)

    @jax.checkpoint
    def over_segment(states, pieces):
        inside = []
        for layer, (step, bias) in zip(stack, pieces, strict=True):
            flow = LinearFlow(
                step.matrices, step.vectors, step.dt, step.noise, layer.flow.transition
            )
            gate = None if layer.gate is None else GateOnGrid(layer.gate.kernel, bias)
            inside.append(LayerOnGrid(flow, layer.coupling, gate))
        states, values = _advance(inside, states, readout, evaluation)
        return states, values[1:]

    _, values = scan_chunks(over_segment, [initial] * len(stack), whole, segment)
    first = jnp.einsum("od,db->ob", readout, initial)
    return jnp.concatenate([first[None], values])
