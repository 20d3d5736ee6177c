"""One entry to every evaluation of a layer, and the choice between them."""

from enum import StrEnum
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import EngineError
from slisde.flow import native
from slisde.flow.adjoint import solve
from slisde.flow.engine import Engine, choose_engine
from slisde.flow.gating import InFlowGate
from slisde.flow.linear import LinearFlow
from slisde.flow.scan import Evaluator, associative, chunked, sequential
from slisde.flow.transition import AbstractTransition, Euler
from slisde.shapes import LatentPaths, LatentState


class Evaluation(StrEnum):
    """How a layer's recurrence is evaluated; all give the same path."""

    AUTO = "auto"
    SEQUENTIAL = "sequential"
    ASSOCIATIVE = "associative"
    CHUNKED = "chunked"
    NATIVE = "native"


_EVALUATORS: dict[Evaluation, Evaluator] = {
    Evaluation.SEQUENTIAL: sequential,
    Evaluation.ASSOCIATIVE: associative,
    Evaluation.CHUNKED: chunked,
}


def evaluate(
    flow: LinearFlow,
    gate: InFlowGate | None,
    initial: LatentState,
    *,
    evaluation: Evaluation = Evaluation.AUTO,
) -> LatentPaths:
    """Return the path of a layer from `initial`, gated by a previous layer or not."""
    evaluation = resolve(flow.transition, evaluation)
    if evaluation is Evaluation.NATIVE:
        return _native(flow, gate, initial, None)
    gates = None if gate is None else gate.gates()
    return solve(_EVALUATORS[evaluation], flow, gates, initial)


def evaluate_observed(
    flow: LinearFlow,
    gate: InFlowGate | None,
    initial: LatentState,
    readout: Float[Array, "out latent"],
    *,
    evaluation: Evaluation = Evaluation.AUTO,
) -> tuple[LatentPaths, Float[Array, "node out path"]]:
    """Return the path of a layer and its linear readout, from one pass where the engine can."""
    if resolve(flow.transition, evaluation) is Evaluation.NATIVE:
        return _native(flow, gate, initial, readout)
    path = evaluate(flow, gate, initial, evaluation=evaluation)
    return path, jnp.einsum("od,kdb->kob", readout, path)


def resolve(transition: AbstractTransition, evaluation: Evaluation = Evaluation.AUTO) -> Evaluation:
    """Return the evaluation that will run: `auto` becomes the fastest one there is."""
    if evaluation is Evaluation.AUTO:
        usable = isinstance(transition, Euler) and choose_engine().engine is Engine.NATIVE
        return Evaluation.NATIVE if usable else Evaluation.SEQUENTIAL
    if evaluation is Evaluation.NATIVE:
        _require_native(transition)
    return evaluation


def _require_native(transition: AbstractTransition) -> None:
    if not isinstance(transition, Euler):
        name = type(transition).__name__
        raise EngineError(f"the native engine has the Euler transition only, not {name}.")
    if not native.available():
        raise EngineError(f"the native engine is not available: {native.reason()}.")


def _native(
    flow: LinearFlow,
    gate: InFlowGate | None,
    initial: LatentState,
    readout: Float[Array, "out latent"] | None,
) -> Any:
    layer = (flow.matrices, flow.vectors, flow.dt, flow.noise, initial)
    if gate is None:
        return native.recurrence(*layer, readout=readout)
    return native.gated_recurrence(
        *layer,
        gate.previous,
        gate.kernel,
        gate.bias,
        amplitude=gate.amplitude,
        norm=gate.norm.value,
        norm_epsilon=gate.norm_epsilon,
        readout=readout,
    )
