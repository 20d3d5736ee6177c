"""The depthwise causal convolution before the gate's norm (paper: app:feature-conditioning)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.shapes import LatentPaths

TAPS = 4


class CausalConvolution(eqx.Module):
    """Z_k + Σ_τ w_τ ⊙ Z_{k−τ} over the present and the last nodes, zero before the first."""

    kernel: Float[Array, "latent tap"]

    def __init__(self, normals: Float[Array, "latent tap"]):
        self.kernel = 0.01 * normals

    def __call__(self, path: LatentPaths) -> LatentPaths:
        nodes = path.shape[0]
        padded = jnp.pad(path, ((TAPS - 1, 0), (0, 0), (0, 0)))
        lagged = (padded[TAPS - 1 - lag : TAPS - 1 - lag + nodes] for lag in range(TAPS))
        return path + sum(
            self.kernel[None, :, lag, None] * earlier for lag, earlier in enumerate(lagged)
        )
