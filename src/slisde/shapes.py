"""The axes of every array, once: paths are the last, contiguous axis below the public interface.

`node` runs over the N + 1 points of the time grid and `step` over its N intervals; `latent` is the
width d of a layer, `block row col` its structured entries, `noise` the m Brownian channels and
`path` the Monte-Carlo paths.
"""

from typing import TypeAlias

from jaxtyping import Array, Float

LatentPaths: TypeAlias = Float[Array, "node latent path"]
LatentState: TypeAlias = Float[Array, "latent path"]
Increments: TypeAlias = Float[Array, "step noise path"]
StepValues: TypeAlias = Float[Array, "step latent path"]
"""One number per step, latent coordinate and path: a gate's scale or offset."""
MatrixCoefficients: TypeAlias = Float[Array, "#step drift_and_noise block row col"]
VectorCoefficients: TypeAlias = Float[Array, "#step drift_and_channels latent"]
StepSizes: TypeAlias = Float[Array, " step"]
ObservedPaths: TypeAlias = Float[Array, "path node *out"]
