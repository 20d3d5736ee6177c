"""How targets answer to the weights, and errors whitened by it.

Weights move some errors readily, such as the level of a surface, and others a thousand times less, such as
the curvature of its first smile; gradient descent is done with the first long before it begins with the others. With J
the slopes of the targets in the weights, errors e pull the weights by Jᵀe. Pulling by

    Jᵀ (J Jᵀ/κ + λ)⁻¹ e,   κ the largest eigenvalue of J Jᵀ,

moves all errors at a like pace, up to 1/λ times faster: a damped Gauss–Newton step in the space of the
targets. The eigenvectors that count are few, so J Jᵀ is sketched: changes of all targets along a
few random directions of the weights, on the same paths.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

DIRECTIONS = 64
"""Random directions behind a sketch. With a damping of 0.03 a dozen eigenvectors count."""
STEP = 1e-3
"""How far the weights are moved along each, per weight."""

PerTarget = Float[Array, " target"]


class Answers(eqx.Module):
    """Changes A of the targets along random directions, scaled so that AᵀA has the largest eigenvalue one."""

    changes: Float[Array, "direction target"]

    @classmethod
    def unknown(cls, targets: int) -> "Answers":
        """Return what is known before the first sketch: nothing."""
        return cls(jnp.zeros((DIRECTIONS, targets)))

    @classmethod
    def sketch(
        cls, targets: Callable[[PyTree], PerTarget], weights: PyTree, *, key: PRNGKeyArray
    ) -> "Answers":
        """Return the answers of a function of the weights.

        Args:
            targets: the function; it must draw the same paths at every call.
            weights: where its slopes are taken.
            key: random key of the directions.
        """
        flat, unravel = ravel_pytree(weights)
        here = targets(weights)

        def along(key: PRNGKeyArray) -> PerTarget:
            moved = flat + STEP * jax.random.normal(key, flat.shape, flat.dtype)
            return targets(unravel(moved)) - here

        changes = jax.lax.map(along, jax.random.split(key, DIRECTIONS))
        largest = jnp.linalg.eigvalsh(changes @ changes.T)[-1]
        return cls(changes * jax.lax.rsqrt(largest))

    def whiten(self, errors: PerTarget, damping: float) -> PerTarget:
        """Return (AᵀA + λ)⁻¹ e, by Woodbury's identity."""
        small = self.changes @ self.changes.T + damping * jnp.eye(len(self.changes))
        known = jnp.linalg.solve(small, self.changes @ errors)
        return (errors - self.changes.T @ known) / damping
