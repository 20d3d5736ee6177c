"""The gate between two layers (paper: eq:full-gate-input-appendix, eq:alpha-gate, eq:offset-gate)."""

from enum import StrEnum
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.gating import InFlowGate, Norm
from slisde.flow.grid import TimeGrid
from slisde.model.convolution import TAPS, CausalConvolution
from slisde.model.draws import normals
from slisde.model.time_features import GATE_FEATURES, gate_features
from slisde.shapes import LatentPaths

KERNEL_SCALE = 0.01
"""Standard deviation of the kernels' entries at initialisation."""
OFFSET = 3
"""The row of W_io, c_io among the four of a gate."""
NORM_EPSILON = 1e-6
"""The regulariser ς > 0 of eq:app-gate-input, which the paper leaves open: so small that only directions count."""


class OffsetUnit(StrEnum):
    """Whether an offset is added as it is at every step, as published, or times the step (eq:app-dictionary).

    On one grid both are the same family. Per time, the offsets of a path come to the same on every grid, and
    so does what a step of training changes in them. The scale gate stays per step.
    """

    STEP = "step"
    TIME = "time"


class GateNorm(eqx.Module):
    """Gain, and for LayerNorm shift, applied after normalisation.

    A gate sees z / √(ς + mean z²), at most √d long. States much smaller than √ς pass as they are, up to that factor;
    of larger ones only the direction is left. Its slope is at most ς^(−1/2) (eq:app-gate-input).
    """

    gain: Float[Array, " latent"]
    shift: Float[Array, " latent"] | None
    kind: Norm = eqx.field(static=True)
    epsilon: float = eqx.field(static=True)

    def __init__(self, latent: int, kind: Norm, epsilon: float = NORM_EPSILON):
        check_norm_epsilon(epsilon)
        self.gain = jnp.ones(latent)
        self.shift = jnp.zeros(latent) if kind is Norm.LAYER else None
        self.kind, self.epsilon = kind, epsilon


class GateOnGrid(NamedTuple):
    """What a gate is on a grid, before it sees a path."""

    kernel: Float[Array, "4 latent latent"]
    bias: Float[Array, "#step 4 latent"]


class Gate(eqx.Module):
    """Two gated linear units that turn the previous path into a diagonal scale and an offset.

    Args:
        latent: the width d of both layers.
        amplitude: ε, how far the scale may leave one.
        norm: RMSNorm or LayerNorm of the gate input.
        norm_epsilon: its ς.
        time_features: whether (t, t², sin ωt, cos ωt) join the normalised state.
        causal_conv: whether a short causal convolution precedes the norm.
        offset_scale: standard deviation of W_io's entries at initialisation. Offsets are added at every
            step, without a step size: over N steps they come to about N √d offset_scale / 2.
        offset_unit: whether that is so, or they are multiplied by the grid's mean step T/N first.
    """

    kernel: Float[Array, "4 latent latent"]
    time_kernel: Float[Array, "4 latent 4"] | None
    bias: Float[Array, "4 latent"]
    norm: GateNorm
    convolution: CausalConvolution | None
    amplitude: float = eqx.field(static=True)
    offset_unit: OffsetUnit = eqx.field(static=True)

    def __init__(
        self,
        latent: int,
        *,
        amplitude: float = 0.1,
        norm: Norm = Norm.RMS,
        norm_epsilon: float = NORM_EPSILON,
        time_features: bool = True,
        causal_conv: bool = False,
        offset_scale: float = KERNEL_SCALE,
        offset_unit: OffsetUnit = OffsetUnit.STEP,
        key: PRNGKeyArray,
    ):
        check_amplitude(amplitude)
        check_offset_scale(offset_scale)
        kernel, time_kernel, taps = normals(
            key, (4, latent, latent), (4, latent, GATE_FEATURES), (latent, TAPS)
        )
        scales = jnp.array([KERNEL_SCALE, KERNEL_SCALE, KERNEL_SCALE, offset_scale])[:, None, None]
        self.kernel = scales * kernel
        self.time_kernel = scales * time_kernel if time_features else None
        self.bias = jnp.zeros((4, latent))
        self.norm = GateNorm(latent, norm, norm_epsilon)
        self.convolution = CausalConvolution(taps) if causal_conv else None
        self.amplitude = amplitude
        self.offset_unit = offset_unit

    def on_grid(self, grid: TimeGrid) -> GateOnGrid:
        """Return kernel and bias with the norm's gain and the time features folded in."""
        bias = self.bias[None]
        if self.norm.shift is not None:
            bias = bias + (self.kernel @ self.norm.shift)[None]
        if self.time_kernel is not None:
            bias = bias + jnp.einsum("gdf,kf->kgd", self.time_kernel, gate_features(grid))
        kernel = self.kernel * self.norm.gain[None, None]
        if self.offset_unit is OffsetUnit.TIME:
            step = grid.horizon / grid.steps
            kernel, bias = kernel.at[OFFSET].multiply(step), bias.at[:, OFFSET].multiply(step)
        return GateOnGrid(kernel, bias)

    def on_path(self, weights: GateOnGrid, previous: LatentPaths) -> InFlowGate:
        """Return the gate that modulates a layer by the path before it."""
        if self.convolution is not None:
            previous = self.convolution(previous)
        return InFlowGate(previous, *weights, self.amplitude, self.norm.kind, self.norm.epsilon)


def check_amplitude(amplitude: float) -> None:
    """Raise unless the scale gate stays around one."""
    if not 0.0 < amplitude < 1.0:
        raise ArgumentError(
            "amplitude", amplitude, "must be in (0, 1)", "the scale 1 ± ε has to stay positive"
        )


def check_norm_epsilon(epsilon: float) -> None:
    """Raise unless the norm of a gate's input is smooth."""
    if not 0.0 < epsilon < float("inf"):
        raise ArgumentError(
            "norm_epsilon",
            epsilon,
            "must be positive",
            "the gate of a state of zeros has no slope at 0",
        )


def check_offset_scale(offset_scale: float) -> None:
    """Raise unless the offset's kernel can begin at this scale."""
    if not 0.0 <= offset_scale < float("inf"):
        raise ArgumentError(
            "offset_scale", offset_scale, "must not be negative", "it is a standard deviation"
        )
