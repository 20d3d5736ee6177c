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
    return run(flow, gate, initial, evaluation=evaluation)[0]


def run(
    flow: LinearFlow,
    gate: InFlowGate | None,
    initial: LatentState,
    *,
    evaluation: Evaluation = Evaluation.AUTO,
) -> tuple[LatentPaths, LatentState]:
    """Return the path of a layer and the state that it ends in, which is cheaper to go on from."""
    evaluation = resolve(flow.transition, evaluation)
    if evaluation is Evaluation.NATIVE:
        result = _native(flow, gate, initial, None)
        return result.path, result.end
    gates = None if gate is None else gate.gates()
    path: Any = solve(_EVALUATORS[evaluation], flow.combined(), gates, initial)
    return path, path[-1]


def run_observed(
    flow: LinearFlow,
    gate: InFlowGate | None,
    initial: LatentState,
    readout: Float[Array, "out latent"],
    *,
    evaluation: Evaluation = Evaluation.AUTO,
) -> tuple[Float[Array, "node out path"], LatentState]:
    """Return the linear readout of a layer's path, from the same pass where the engine can, and its end."""
    if resolve(flow.transition, evaluation) is Evaluation.NATIVE:
        result: Any = _native(flow, gate, initial, readout)
        return result.observed, result.end
    path, end = run(flow, gate, initial, evaluation=evaluation)
    return jnp.einsum("od,kdb->kob", readout, path), end


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
) -> native.Run:
    layer = (flow.matrices, flow.vectors, flow.dt, flow.noise, initial)
    if gate is None:
        return native.recurrence(*layer, readout=readout, features=flow.features)
    return native.gated_recurrence(
        *layer,
        gate.previous,
        gate.kernel,
        gate.bias,
        amplitude=gate.amplitude,
        norm=gate.norm.value,
        norm_epsilon=gate.norm_epsilon,
        readout=readout,
        features=flow.features,
    )
