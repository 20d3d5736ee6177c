"""The affine recurrence and the gated layer as differentiable JAX functions.

Both are one pair of kernels (``calls.cc``); an optional operand that is absent is passed as an empty
array. Paths are the last axis everywhere.
"""

from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from slisde.flow.native import library

Norm = Literal["rms", "layer"]
Path = Float[Array, "node latent path"]


# Position of the gradient of `previous` among the results of the backward kernel.
_PREVIOUS_BAR = 6


class Run(NamedTuple):
    """What a layer's recurrence gives."""

    path: Path
    """Z at all nodes."""
    end: Float[Array, "latent path"]
    """Z at the last node: whoever goes on from it needs no cotangent of the whole path."""
    observed: Float[Array, "node output path"] | None
    """R Z at all nodes, when a readout is given."""


class _Operands(NamedTuple):
    """Operands of the forward kernel, in its order; None where absent."""

    matrices: Any
    vectors: Any
    dt: Any
    noise: Any
    initial: Any
    scale: Any = None
    offset: Any = None
    previous: Any = None
    gate_kernel: Any = None
    gate_bias: Any = None
    readout: Any = None
    features: Any = None


class _Gate(NamedTuple):
    """Static options of the gate; without one they are not looked at."""

    amplitude: float = 0.0
    norm_epsilon: float = 0.0
    norm: Norm = "rms"

    def attributes(self) -> dict[str, Any]:
        return {
            "amplitude": np.float64(self.amplitude),
            "norm_epsilon": np.float64(self.norm_epsilon),
            "norm": np.int32(self.norm == "layer"),
        }


def _shape(x: Any, dtype: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((0,) if x is None else x.shape, dtype)


def _call(
    name: str,
    results: list[jax.ShapeDtypeStruct],
    operands: list[Any],
    gate: _Gate,
    aliases: dict[int, int] | None = None,
) -> Any:
    library.register()
    dtype = operands[0].dtype
    arrays = [jnp.zeros((0,), dtype) if x is None else x for x in operands]
    call = jax.ffi.ffi_call(
        name, results, vmap_method="sequential", input_output_aliases=aliases or {}
    )
    return call(*arrays, **gate.attributes())


def _forward(gate: _Gate, operands: _Operands) -> Run:
    steps, _, paths = operands.noise.shape
    latent = operands.initial.shape[0]
    dtype = operands.matrices.dtype
    path = jax.ShapeDtypeStruct((steps + 1, latent, paths), dtype)
    if operands.readout is None:
        observed = _shape(None, dtype)
    else:
        observed = jax.ShapeDtypeStruct((steps + 1, operands.readout.shape[0], paths), dtype)
    end = jax.ShapeDtypeStruct((latent, paths), dtype)
    z, y, last = _call(library.FORWARD, [path, observed, end], list(operands), gate)
    return Run(z, last, None if operands.readout is None else y)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _run(gate: _Gate, operands: _Operands) -> Run:
    return _forward(gate, operands)


def _run_forward(gate: _Gate, operands: _Operands) -> Any:
    # With symbolic zeros every leaf comes with a flag that says whether it is differentiated.
    # The noise gradient is the one that costs extra; its flag travels as the presence of a leaf.
    values = _Operands(*(None if leaf is None else leaf.value for leaf in operands))
    out = _forward(gate, values)
    want_noise = () if operands.noise.perturbed else None
    return out, (values, out.path, want_noise)


def _run_backward(gate: _Gate, residuals: Any, cotangents: Any) -> tuple[_Operands]:
    values, path, want_noise = residuals
    path_bar, end_bar, observed_bar = (
        None if isinstance(bar, SymbolicZero) else bar for bar in cotangents
    )
    dtype = path.dtype
    results = [
        values.matrices,
        values.vectors,
        values.noise if want_noise is not None else None,
        values.initial,
        values.scale,
        values.offset,
        values.previous,
        values.gate_kernel,
        values.gate_bias,
        values.readout,
        values.features,
    ]
    shapes = [_shape(x, dtype) for x in results]
    # The backward pass reads a node of the path before it writes the same node of the gradient of
    # `previous`, so one array serves for both (XLA copies when the path is needed afterwards).
    aliases = None if values.previous is None else {len(values): _PREVIOUS_BAR}
    operands = [*values, path, path_bar, observed_bar, end_bar]
    bar = _call(library.BACKWARD, shapes, operands, gate, aliases)
    bar = [None if x is None else b for x, b in zip(results, bar, strict=True)]
    matrices, vectors, noise, initial, *rest = bar
    return (_Operands(matrices, vectors, None, noise, initial, *rest),)


_run.defvjp(_run_forward, _run_backward, symbolic_zeros=True)


def recurrence(
    matrices: Float[Array, "coefficient_step matrix_channel block row column"],
    vectors: Float[Array, "coefficient_step vector_channel latent"],
    dt: Float[Array, " step"],
    noise: Float[Array, "step noise path"],
    initial: Float[Array, "latent path"],
    scale: Float[Array, "step latent path"] | None = None,
    offset: Float[Array, "step latent path"] | None = None,
    readout: Float[Array, "output latent"] | None = None,
    features: Float[Array, "step coefficient_step"] | None = None,
) -> Run:
    """Runs ``Z[k+1] = F[k] Z[k] + g[k] + offset[k]`` (paper: eq:linear-approx-flow).

    ``F = I + A dt + sum_j C_j dW_j`` and ``g = b dt + sum_j d_j dW_j``; the diagonal of F is
    multiplied by ``scale`` when given (paper: eq:gated-recurrence).

    Args:
        matrices: A and then the C_j (none for additive noise) as diagonal blocks; the leading axis
            is the step, or 1 for coefficients that do not depend on time.
        vectors: b and then the d_j (none for multiplicative noise).
        dt: Lengths of the steps; not differentiated.
        noise: Brownian increments. Their gradient is computed only when asked for.
        initial: Z[0].
        scale: Factor of the diagonal of F; comes together with ``offset``.
        offset: Added to every step.
        readout: R, to get ``y[k] = R Z[k]`` from the same pass.
        features: Weights with which the sets along the leading axis of the coefficients are combined
            at every step; the combinations are never written to memory.

    Returns:
        The path, its last node, and the readout if one is given.
    """
    operands = _Operands(
        matrices,
        vectors,
        dt,
        noise,
        initial,
        scale=scale,
        offset=offset,
        readout=readout,
        features=features,
    )
    return _run(_Gate(), operands)


def gated_recurrence(
    matrices: Float[Array, "coefficient_step matrix_channel block row column"],
    vectors: Float[Array, "coefficient_step vector_channel latent"],
    dt: Float[Array, " step"],
    noise: Float[Array, "step noise path"],
    initial: Float[Array, "latent path"],
    previous: Path,
    gate_kernel: Float[Array, "4 latent latent"],
    gate_bias: Float[Array, "bias_step 4 latent"],
    *,
    amplitude: float,
    norm: Norm,
    norm_epsilon: float,
    readout: Float[Array, "output latent"] | None = None,
    features: Float[Array, "step coefficient_step"] | None = None,
) -> Run:
    """Runs :func:`recurrence` with scale and offset from the previous layer's path.

    With ``x = norm(previous[k])`` and ``p_i = gate_kernel[i] @ x + gate_bias[k, i]``,
    ``scale = 1 + amplitude * sigmoid(p_0) * tanh(p_1)`` (paper: eq:alpha-gate) and
    ``offset = sigmoid(p_2) * p_3`` (paper: eq:offset-gate). Neither is ever written to memory.

    Args:
        matrices: As for :func:`recurrence`, like the next four.
        vectors: See there.
        dt: See there.
        noise: See there.
        initial: See there.
        previous: Path of the layer below; its last node is not looked at.
        gate_kernel: The four row-blocks, with the gain of the norm folded in.
        gate_bias: Their biases with the time features folded in; the leading axis is the step, or 1.
        amplitude: Bound of the scale's distance from one.
        norm: ``"rms"`` (no centring) or ``"layer"``.
        norm_epsilon: Added to the mean square, or to the variance.
        readout: As for :func:`recurrence`.
        features: As for :func:`recurrence`.

    Returns:
        The path, its last node, and the readout if one is given.
    """
    if norm not in ("rms", "layer"):
        raise ValueError(f"`norm` must be 'rms' or 'layer', got {norm!r}.")
    operands = _Operands(
        matrices,
        vectors,
        dt,
        noise,
        initial,
        previous=previous,
        gate_kernel=gate_kernel,
        gate_bias=gate_bias,
        readout=readout,
        features=features,
    )
    return _run(_Gate(float(amplitude), float(norm_epsilon), norm), operands)
