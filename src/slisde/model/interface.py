"""What every generative model of paths answers, ours and the baselines."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from slisde.flow.grid import TimeGrid
from slisde.shapes import ObservedPaths


class AbstractPathModel(eqx.Module):
    """A law on paths that can be sampled on any grid."""

    @abstractmethod
    def __call__(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> ObservedPaths:
        """Return `paths` independent paths on `grid`; antithetic ones come in mirrored pairs."""


def parameter_count(model: eqx.Module) -> int:
    """Return the number of trainable numbers, of a model or of its shapes alone."""
    arrays = [leaf for leaf in jax.tree.leaves(model) if hasattr(leaf, "dtype")]
    return sum(leaf.size for leaf in arrays if jnp.issubdtype(leaf.dtype, jnp.inexact))
