"""The paths that a tilt is trained on, and what each of them counts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from slisde.girsanov.initial import PerPath
from slisde.girsanov.objective import target_weights
from slisde.girsanov.pace import Trace

EMPHASIS = 0.5
"""a, between the cross-entropy at 0 and the second moment at 1, which was seen to follow single paths."""
TINY = 1e-30


class Pool(eqx.Module):
    """Paths of the last rounds, the oldest replaced first.

    Attributes:
        seen: their traces.
        excess: how far inside the event they are; −∞ where there is no path yet.
        magnitude: |G|.
        log_ratio: log dQ/dP of the law that drew them.
    """

    seen: Trace
    excess: PerPath
    magnitude: PerPath
    log_ratio: PerPath

    @classmethod
    def like(cls, batch: "Pool", rounds: int) -> "Pool":
        """Return an empty pool for as many batches."""
        empty = jax.tree.map(
            lambda leaf: jnp.zeros((*leaf.shape[:-1], rounds * leaf.shape[-1])), batch
        )
        return eqx.tree_at(lambda pool: pool.excess, empty, jnp.full_like(empty.excess, -jnp.inf))

    def with_batch(self, batch: "Pool", slot: Int[Array, ""]) -> "Pool":
        """Return the pool with a batch in the place of another one."""

        def put(old, new):
            return jax.lax.dynamic_update_slice_in_dim(old, new, slot * new.shape[-1], axis=-1)

        return jax.tree.map(put, self, batch)

    def target(self, level: Float[Array, ""], clip: float) -> PerPath:
        """Return w̄* of the event at a level, |G| counting at the event itself."""
        magnitude = jnp.where(level < 0.0, 1.0, self.magnitude)
        inside = jnp.where(self.excess >= level, magnitude, 0.0)
        return target_weights(inside, self.log_ratio, clip=clip)

    def emphasised(self, own: PerPath) -> PerPath:
        """Return w̄* of the event itself with one more factor of the tilt's own weights.

        Nothing is clipped: the largest weights are what is to be lowered.

        Args:
            own: log dQ/dP of the tilt.
        """
        inside = jnp.where(self.excess >= 0.0, self.magnitude ** (1.0 + EMPHASIS), 0.0)
        return target_weights(inside, self.log_ratio + EMPHASIS * own, clip=None)


def reachable_level(
    excess: Float[np.ndarray, " path"], log_ratio: Float[np.ndarray, " path"], enough: float
) -> float:
    """Return the highest level with enough effective paths above it, at most 0.

    Where no level has enough of them it is the one that has most.
    """
    known = np.isfinite(excess)
    order = np.argsort(-excess[known], kind="stable")
    weights = np.exp(log_ratio[known].min() - log_ratio[known][order].astype(np.float64))
    sizes = np.cumsum(weights) ** 2 / np.maximum(np.cumsum(weights**2), TINY)
    levels = excess[known][order]
    reached = np.flatnonzero(sizes >= enough)
    index = reached[0] if reached.size else int(np.argmax(sizes))
    return min(0.0, float(levels[index]))
