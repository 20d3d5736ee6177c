"""The affine pair (F, g) and its composition (paper: eq:affine-recurrence, eq:model-affine-combine)."""

import equinox as eqx
from jaxtyping import Array, Float

from slisde.flow.structure import AbstractStructured


class AffineMap(eqx.Module):
    """The map z ↦ F z + g with a structured F."""

    transition: AbstractStructured
    offset: Float[Array, "latent *batch"]

    def __call__(self, z: Float[Array, "latent *batch"]) -> Float[Array, "latent *batch"]:
        return self.transition.apply(z) + self.offset

    def gated(
        self, scale: Float[Array, "latent *batch"], offset: Float[Array, "latent *batch"]
    ) -> "AffineMap":
        """Return (𝒟(α, F), g + o), the modified pair of eq:gated-pair."""
        return AffineMap(self.transition.scale_diagonal(scale), self.offset + offset)


def compose(later: AffineMap, earlier: AffineMap) -> AffineMap:
    """Return ``later ∘ earlier``, so that ``compose(b, a)(z) == b(a(z))``."""
    return AffineMap(later.transition.compose(earlier.transition), later(earlier.offset))
