"""The tilted law of the initial state: a shift, or a shift and a scale (paper: eq:rn-discrete)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.shapes import LatentState

PerPath = Float[Array, " path"]


class InitialTilt(eqx.Module):
    """z_0 = μ + exp(λ) ⊙ ξ with ξ ~ N(0, I): N(μ, I) when there is no scale.

    Args:
        latent: the width d.
        covariance: whether the scale is learned as well as the shift.
    """

    shift: Float[Array, " latent"]
    log_scale: Float[Array, " latent"] | None

    def __init__(self, latent: int, *, covariance: bool = False):
        self.shift = jnp.zeros(latent)
        self.log_scale = jnp.zeros(latent) if covariance else None

    def push(self, normals: LatentState) -> LatentState:
        """Return z_0 of given ξ."""
        if self.log_scale is not None:
            normals = jnp.exp(self.log_scale)[:, None] * normals
        return self.shift[:, None] + normals

    def log_ratio(self, state: LatentState) -> PerPath:
        """Return log dN(μ, exp(2λ))/dN(0, I) of given z_0."""
        if self.log_scale is None:
            return self.shift @ state - 0.5 * jnp.sum(self.shift**2)
        normals = (state - self.shift[:, None]) * jnp.exp(-self.log_scale)[:, None]
        return 0.5 * jnp.sum(state**2 - normals**2, axis=0) - jnp.sum(self.log_scale)

    def divergence(self) -> Float[Array, ""]:
        """Return KL(N(μ, exp(2λ)) ‖ N(0, I))."""
        squares = self.shift**2
        if self.log_scale is not None:
            squares = squares + jnp.expm1(2.0 * self.log_scale) - 2.0 * self.log_scale
        return 0.5 * jnp.sum(squares)

    def weakened(self, strength: float | Float[Array, ""]) -> "InitialTilt":
        """Return a part of the tilt; both the shift and the log-scale are proportional to it."""
        return jax.tree.map(lambda weight: strength * weight, self)

    def widened(self) -> "InitialTilt":
        """Return the same shift with scales of at least one.

        A narrower law has weights without bound, and the event's own tail is where they grow.
        """
        if self.log_scale is None:
            return self
        wide = jnp.maximum(self.log_scale, 0.0)
        return eqx.tree_at(lambda tilt: tilt.log_scale, self, wide)
