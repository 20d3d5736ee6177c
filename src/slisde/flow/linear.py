"""A driven linear layer on a grid: coefficients, steps and noise (paper: eq:model-time-dependent-sde)."""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.flow.affine import AffineMap
from slisde.flow.transition import AbstractTransition, step_weights
from slisde.shapes import Increments, LatentState, StepSizes, StepValues


class Gates(eqx.Module):
    """The modulation of eq:gated-pair at every step: F ↦ 𝒟(α, F) and g ↦ g + o."""

    scale: StepValues | None
    offset: StepValues


class Step(NamedTuple):
    """What one step needs; every field of a whole layer has a leading step axis."""

    matrices: Float[Array, "*step drift_and_noise block row col"]
    vectors: Float[Array, "*step drift_and_channels latent"]
    dt: Float[Array, "*step"]
    noise: Float[Array, "*step noise path"]
    scale: Float[Array, "*step latent path"] | None
    offset: Float[Array, "*step latent path"] | None


class LinearFlow(eqx.Module):
    """Coefficients of one layer, frozen at the left end of each step, and the noise that drives it.

    `matrices[k, 0]` is A_{t_k} and `matrices[k, j]` is C^j_{t_k}; additive noise has the drift alone.
    `vectors[k, 0]` is b_{t_k} and `vectors[k, j]` is d^j_{t_k}; multiplicative noise has b alone.
    A leading axis of length 1 means coefficients that do not depend on time.

    With `features` the leading axis runs over a few basis functions of time instead: at step k the
    coefficients are Σ_e features[k, e] matrices[e], and the same for the vectors. The native engine
    forms them step by step; `combined` is what the other evaluations see.
    """

    matrices: Float[Array, "sets drift_and_noise block row col"]
    vectors: Float[Array, "#sets drift_and_channels latent"]
    dt: StepSizes
    noise: Increments
    transition: AbstractTransition = eqx.field(static=True)
    features: Float[Array, "step sets"] | None = None

    @property
    def steps(self) -> int:
        """The number of steps N."""
        return self.dt.shape[0]

    def driven_by(self, noise: Increments) -> "LinearFlow":
        """Return the same layer with another driver."""
        return dataclasses.replace(self, noise=noise)

    def by_step(self) -> dict[str, Array]:
        """Return the fields that have a step axis, by name."""
        if self.features is not None:
            names = ("dt", "noise", "features")
        elif self.matrices.shape[0] == 1:
            names = ("dt", "noise")
        else:
            names = ("dt", "noise", "matrices", "vectors")
        return {name: getattr(self, name) for name in names}

    def combined(self) -> "LinearFlow":
        """Return the same layer with the coefficients of every step written out."""
        if self.features is None:
            return self
        return LinearFlow(
            jnp.tensordot(self.features, self.matrices, 1),
            jnp.tensordot(self.features, self.vectors, 1),
            self.dt,
            self.noise,
            self.transition,
        )

    def per_step(self, gates: Gates | None) -> Step:
        """Return the inputs of all steps, homogeneous coefficients repeated along the step axis."""
        flow = self.combined()
        scale, offset = (None, None) if gates is None else (gates.scale, gates.offset)
        return Step(
            self._repeat(flow.matrices),
            self._repeat(flow.vectors),
            self.dt,
            self.noise,
            scale,
            offset,
        )

    def _repeat(self, coefficients: Float[Array, "#step ..."]) -> Float[Array, "step ..."]:
        return jnp.broadcast_to(coefficients, (self.steps, *coefficients.shape[1:]))


def advance(transition: AbstractTransition, step: Step, z: LatentState) -> LatentState:
    """Return F̄_k z + ḡ_k, one step of eq:gated-recurrence for all paths."""
    return transition.advance(step.matrices, step.dt, step.noise, step.scale, z) + offset(step, z)


def affine_map(transition: AbstractTransition, step: Step, z: LatentState) -> AffineMap:
    """Return the pair (F̄_k, ḡ_k) of one step for all paths; `z` gives the shape only."""
    matrix = transition.matrix(step.matrices, step.dt, step.noise)
    if step.scale is not None:
        matrix = matrix.scale_diagonal(step.scale)
    return AffineMap(matrix, offset(step, z))


def offset(step: Step, z: LatentState) -> LatentState:
    """Return ḡ_k = b Δt + D ΔW + o."""
    total = jnp.zeros_like(z) if step.offset is None else step.offset
    channels = len(step.vectors)
    if channels == 0:  # an adjoint recurrence
        return total
    return total + step.vectors.T @ step_weights(step.dt, step.noise, channels)
