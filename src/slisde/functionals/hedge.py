"""Delta hedges: sums Σ Δ[k] (M[k+1] − M[k]) that have mean zero whenever M is a martingale.

Subtracted from a payoff they leave its mean and take most of its variance. Δ is that of Black's formula
with the variance that is left to the maturity; any other Δ known at node k would keep the mean too.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.flow.mixture import Mixture, Sample, centres
from slisde.functionals.path import PathView
from slisde.functionals.terminal import AbstractTerminal


class VarianceCurve(eqx.Module):
    """Mean variances of log Y up to every node: what moves the centres, and what mixing adds.

    It decides how well a hedge works, never whether it is right, so that a few paths are enough.
    They must be others than those that are hedged: a hedge may not know the future.
    """

    centre: Float[Array, " node"]
    own: Float[Array, " node"]

    @classmethod
    def of(cls, sample: Sample) -> "VarianceCurve":
        """Return the curve of a batch of positive paths."""
        centre = centres(sample)
        # log M is a martingale less half its variance.
        moved = -2.0 * jnp.mean(jnp.log(centre / centre[:, :1]), axis=0)
        own = jnp.mean(sample.variance, axis=0) if isinstance(sample, Mixture) else 0.0 * moved
        return cls(jax.lax.cummax(moved), own)

    def hedge(self, functional: AbstractTerminal, view: PathView) -> Float[Array, ""]:
        """Return the profit of the hedge on one path."""
        path = view.values if view.law is None else view.law.centre
        node = view.node(functional.maturity)
        left = self.own[node] + self.centre[node] - self.centre
        alive = jnp.arange(path.shape[0] - 1) < node
        delta = jax.vmap(jax.grad(functional.lognormal_mean))
        # After the maturity nothing is held; a harmless variance there keeps the numbers finite.
        held = delta(path[:-1], jnp.where(alive, jnp.maximum(left[:-1], 0.0), 1.0))
        return jnp.sum(jnp.where(alive, held * jnp.diff(path), 0.0))
