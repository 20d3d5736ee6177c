"""The in-flow gate as a map from the previous layer's path (paper: eq:alpha-gate, eq:offset-gate)."""

from enum import StrEnum

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.flow.linear import Gates
from slisde.flow.scan import scan_chunks
from slisde.shapes import LatentPaths

GATE_CHUNK = 8
"""Steps whose gates are computed together; measured, 4 and 8 are alike."""


class Norm(StrEnum):
    """How the gate input is normalised."""

    RMS = "rms"
    LAYER = "layer"


class InFlowGate(eqx.Module):
    """A gate ready to be evaluated on a grid.

    The rows of `kernel` and `bias` are those of W_gF, W_iF, W_go, W_io. The gain of the norm is folded
    into `kernel`, the time features into `bias`, which then has one value per step instead of one.
    """

    previous: LatentPaths
    kernel: Float[Array, "4 latent latent"]
    bias: Float[Array, "#step 4 latent"]
    amplitude: float = eqx.field(static=True)
    norm: Norm = eqx.field(static=True)
    norm_epsilon: float = eqx.field(static=True)

    def gates(self) -> Gates:
        """Return scale and offset at every step.

        A few steps at a time, recomputed in the backward pass: the pre-activations of the whole
        horizon would be the largest array of a training step.
        """
        steps = self.previous.shape[0] - 1
        bias = jnp.broadcast_to(self.bias, (steps, *self.bias.shape[1:]))

        @jax.checkpoint
        def on_chunk(_, inputs):
            # One product per step and the activations of all steps together: a single product over
            # the chunk makes XLA transpose, and one step at a time leaves the second core idle.
            activations = jnp.stack(
                [self._activations(state, bias) for state, bias in zip(*inputs, strict=True)]
            )
            scale_gate, scale_value, offset_gate, offset_value = jnp.moveaxis(activations, 1, 0)
            scale = gate_scale(scale_gate, scale_value, self.amplitude)
            return None, Gates(scale, gate_offset(offset_gate, offset_value))

        return scan_chunks(on_chunk, None, (self.previous[:-1], bias), GATE_CHUNK)[1]

    def _activations(self, state, bias):
        x = normalise(state, self.norm, self.norm_epsilon)
        width = x.shape[0]
        rows = self.kernel.reshape(4 * width, width) @ x
        return rows.reshape(4, width, -1) + bias[:, :, None]


def gate_scale(
    gate: Float[Array, "*s"], value: Float[Array, "*s"], amplitude: float
) -> Float[Array, "*s"]:
    """Return α = 1 + ε σ(gate) tanh(value), inside (1 − ε, 1 + ε) for any weights (eq:alpha-gate)."""
    return 1.0 + amplitude * jax.nn.sigmoid(gate) * jnp.tanh(value)


def gate_offset(gate: Float[Array, "*s"], value: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return o = σ(gate) · value: unbounded in its weights, no Δt (eq:offset-gate)."""
    return jax.nn.sigmoid(gate) * value


def normalise(
    state: Float[Array, "latent path"], norm: Norm, epsilon: float
) -> Float[Array, "latent path"]:
    """Return the state over its root mean square, after centring for LayerNorm (eq:app-gate-input)."""
    if norm is Norm.LAYER:
        state = state - state.mean(axis=0, keepdims=True)
    return state * jax.lax.rsqrt(epsilon + jnp.square(state).mean(axis=0, keepdims=True))
