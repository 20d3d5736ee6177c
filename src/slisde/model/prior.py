"""The shared initial state (paper: ssec:gated_in_flow_app)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.shapes import LatentState


class GaussianPrior(eqx.Module):
    """A learned law Z_0 = mean + exp(log_scale) ⊙ ξ, started at N(0, I)."""

    mean: Float[Array, " latent"]
    log_scale: Float[Array, " latent"]

    def __init__(self, latent: int):
        self.mean = jnp.zeros(latent)
        self.log_scale = jnp.zeros(latent)

    def __call__(self, normals: LatentState) -> LatentState:
        return self.mean[:, None] + jnp.exp(self.log_scale)[:, None] * normals
