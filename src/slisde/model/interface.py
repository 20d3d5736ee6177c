"""What every generative model of paths answers, ours and the baselines."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree, Shaped

from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample, drawn
from slisde.shapes import ObservedPaths


class AbstractPathModel(eqx.Module):
    """A law on paths that can be sampled on any grid.

    Sampling has two halves, so that a batch can be drawn as a whole and observed in parts, each on
    a device of its own: `drivers` draws all the noise, `observe` maps it to paths one by one. What
    looks at the batch as a whole comes last, in `gather`.
    """

    @abstractmethod
    def drivers(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> PyTree[Shaped[Array, "... path"]]:
        """Draw the noise of a batch; paths are the last axis of every array."""

    @abstractmethod
    def observe(self, grid: TimeGrid, drivers: PyTree[Shaped[Array, "... path"]]) -> ObservedPaths:
        """Return the paths of given noise, each of its own share alone."""

    def sample(self, grid: TimeGrid, drivers: PyTree[Shaped[Array, "... path"]]) -> Sample:
        """Return `observe`, with the paths' law given the latent ones where it is known."""
        return self.observe(grid, drivers)

    def gather(self, sample: Sample) -> Sample:
        """Return a whole batch after what concerns all of its paths: nothing here."""
        return sample

    @property
    def is_martingale(self) -> bool:
        """Whether paths are positive martingales on the grid by construction."""
        return False

    def __call__(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> ObservedPaths:
        """Return `paths` independent paths on `grid`; antithetic ones come in mirrored pairs."""
        return drawn(self.draw(grid, paths, antithetic=antithetic, key=key))

    def draw(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> Sample:
        """Return the same with the paths' law given the latent ones where it is known."""
        drivers = self.drivers(grid, paths, antithetic=antithetic, key=key)
        return self.gather(self.sample(grid, drivers))


def parameter_count(model: eqx.Module) -> int:
    """Return the number of trainable numbers, of a model or of its shapes alone."""
    arrays = [leaf for leaf in jax.tree.leaves(model) if hasattr(leaf, "dtype")]
    return sum(leaf.size for leaf in arrays if jnp.issubdtype(leaf.dtype, jnp.inexact))
