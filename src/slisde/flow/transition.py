"""One-step transitions of a linear layer (paper: eq:linear-approx-flow, eq:exponential-affine-flow).

A transition sees one step: `matrices[0]` is A_{t_k} and `matrices[1:]` the C^j_{t_k}; it may hold the
drift alone when the noise is additive. All paths of the batch are advanced together.
"""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.flow.structure import AbstractStructured, from_blocks

StepMatrices = Float[Array, "drift_and_noise block row col"]
StepNoise = Float[Array, "noise path"]
StepState = Float[Array, "latent path"]


class AbstractTransition(eqx.Module):
    """How coefficients and an increment become the transition matrix F_k."""

    @abstractmethod
    def matrix(
        self, matrices: StepMatrices, dt: Float[Array, ""], noise: StepNoise
    ) -> AbstractStructured:
        """Return F_k for every path, batch axis `path`."""

    def advance(
        self,
        matrices: StepMatrices,
        dt: Float[Array, ""],
        noise: StepNoise,
        scale: StepState | None,
        z: StepState,
    ) -> StepState:
        """Return 𝒟(α_k, F_k) z, or F_k z when there is no gate."""
        transition = self.matrix(matrices, dt, noise)
        return (transition if scale is None else transition.scale_diagonal(scale)).apply(z)


class Euler(AbstractTransition):
    """F_k = I + A Δt + Σ_j C^j ΔW^j (eq:linear-approx-flow)."""

    def matrix(self, matrices, dt, noise):
        weights = step_weights(dt, noise, len(matrices))
        size = matrices.shape[-1]
        flow = jnp.einsum("jnrc,jp->nrcp", matrices, weights)
        return from_blocks(flow + jnp.eye(size, dtype=flow.dtype)[None, :, :, None])

    def advance(self, matrices, dt, noise, scale, z):
        # F is never formed: (w_j z) is, and one product per block contracts over (j, column) at
        # once. On a CPU this is three times faster than forming F and multiplying.
        channels, count, size, _ = matrices.shape
        weights = step_weights(dt, noise, channels)
        weighted = weights[None, :, None] * z.reshape(count, 1, size, -1)
        rows = matrices.transpose(1, 2, 0, 3).reshape(count, size, channels * size)
        change = rows @ weighted.reshape(count, channels * size, -1)
        advanced = z + change.reshape(z.shape)
        if scale is None:
            return advanced
        entries = jnp.diagonal(matrices, axis1=2, axis2=3).reshape(channels, -1)
        return advanced + (scale - 1.0) * (1.0 + entries.T @ weights) * z


class Exponential(AbstractTransition):
    """F_k = exp((A − ½ Σ_j (C^j)²) Δt + Σ_j C^j ΔW^j) (eq:exponential-affine-flow).

    The Itô correction makes F_k the exact flow when the coefficients commute.
    """

    def matrix(self, matrices, dt, noise):
        drift, diffusion = matrices[0], matrices[1:]
        if len(diffusion) == 0:  # one exponential serves all paths
            flow = from_blocks((drift * dt)[..., None]).exponential().blocks
            return from_blocks(jnp.broadcast_to(flow, (*drift.shape, noise.shape[-1])))
        corrected = drift - 0.5 * jnp.einsum("jnrk,jnkc->nrc", diffusion, diffusion)
        weights = step_weights(dt, noise, len(matrices))
        generator = jnp.einsum(
            "jnrc,jp->nrcp", jnp.concatenate([corrected[None], diffusion]), weights
        )
        return from_blocks(generator).exponential()


def step_weights(
    dt: Float[Array, ""], noise: StepNoise, channels: int
) -> Float[Array, "channels path"]:
    """Return (Δt, ΔW^1, …), cut to the channels that a coefficient has."""
    drift = jnp.broadcast_to(dt.astype(noise.dtype), (1, noise.shape[-1]))
    return jnp.concatenate([drift, noise])[:channels]
