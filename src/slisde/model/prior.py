"""The shared initial state (paper: ssec:gated_in_flow_app)."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError
from slisde.shapes import LatentState


class GaussianPrior(eqx.Module):
    """A learned law Z_0 = mean + exp(log_scale) ⊙ ξ, started at N(0, scale² I)."""

    mean: Float[Array, " latent"]
    log_scale: Float[Array, " latent"]

    def __init__(self, latent: int, scale: float = 1.0):
        self.mean = jnp.zeros(latent)
        self.log_scale = jnp.full(latent, math.log(scale))

    def __call__(self, normals: LatentState) -> LatentState:
        return self.mean[:, None] + jnp.exp(self.log_scale)[:, None] * normals


def check_initial_scale(scale: float) -> None:
    """Raise unless the initial state can have this standard deviation."""
    if not 0.0 < scale < float("inf"):
        raise ArgumentError(
            "initial_scale",
            scale,
            "must be positive",
            "it is the standard deviation of the initial state",
        )
