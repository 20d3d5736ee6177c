"""Residual stacking, the depth mechanism of sequence models (paper: ssec:residual-stacking)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.flow.gating import Norm, normalise
from slisde.model.gate import NORM_EPSILON, GateNorm
from slisde.shapes import Increments, LatentPaths


class ResidualDriver(eqx.Module):
    """Turns the normalised previous path into the driver of the next layer.

    The layer is then a deterministic transform of an already random path, H + S(Norm(H)): no fresh
    noise enters, which is the paper's argument for gating instead.
    """

    projection: Float[Array, "noise latent"]
    norm: GateNorm

    def __init__(
        self,
        latent: int,
        noise: int,
        norm: Norm,
        norm_epsilon: float = NORM_EPSILON,
        *,
        key: PRNGKeyArray,
    ):
        self.projection = jax.random.normal(key, (noise, latent)) / latent**0.5
        self.norm = GateNorm(latent, norm, norm_epsilon)

    def __call__(self, previous: LatentPaths) -> Increments:
        hidden = jax.vmap(lambda state: normalise(state, self.norm.kind, self.norm.epsilon))(
            previous
        )
        # A shift would cancel in the increments, so only the gain acts.
        kernel = self.projection * self.norm.gain[None]
        return jnp.diff(jnp.einsum("md,kdb->kmb", kernel, hidden), axis=0)
