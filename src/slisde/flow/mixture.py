"""Paths whose law is known in closed form once the latent ones are given."""

from typing import TypeAlias

import equinox as eqx
from jaxtyping import Array, Float

from slisde.shapes import ObservedPaths


class Mixture(eqx.Module):
    """Positive paths, and their lognormal law at every node given the latent paths.

    Given the latent paths, log Y at a node is normal with variance `variance` and E[Y] is `centre`.
    The centres are themselves paths of a martingale where Y is one.

    Attributes:
        values: paths that were drawn, for functionals of the whole path.
        centre: E[Y | latent].
        variance: Var[log Y | latent].
    """

    values: Float[Array, "*path node"]
    centre: Float[Array, "*path node"]
    variance: Float[Array, "*path node"]


Sample: TypeAlias = ObservedPaths | Mixture
"""A batch as functionals see it."""


def drawn(sample: Sample) -> ObservedPaths:
    """Return the paths of a batch."""
    return sample.values if isinstance(sample, Mixture) else sample


def centres(sample: Sample) -> ObservedPaths:
    """Return E[Y | latent] along the paths of a batch, which are the paths where no law is known."""
    return sample.centre if isinstance(sample, Mixture) else sample
