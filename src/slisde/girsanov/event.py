"""A rare event or payoff, with a number that says how far a path is from it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError
from slisde.flow.mixture import Sample, drawn
from slisde.functionals.base import AbstractFunctional
from slisde.functionals.path import PathView


class Event(eqx.Module):
    """{X ≥ H} or {X ≤ H} for a functional X, and what is paid on it.

    Args:
        watched: X; None where a payoff has no such quantity.
        threshold: H.
        above: whether the event is above the threshold.
        payoff: G; None for the indicator of the event.
    """

    watched: AbstractFunctional | None
    threshold: Float[Array, ""]
    above: bool = eqx.field(static=True)
    payoff: AbstractFunctional | None

    def __init__(
        self,
        watched: AbstractFunctional | None,
        threshold: float = 0.0,
        *,
        above: bool = True,
        payoff: AbstractFunctional | None = None,
    ):
        self.watched, self.above, self.payoff = watched, above, payoff
        self.threshold = jnp.asarray(threshold, float)

    @property
    def maturity(self) -> float:
        """When the event is decided."""
        functional = self.payoff if self.watched is None else self.watched
        if functional is None:
            raise ArgumentError("watched", None, "must be given", "nothing is paid, either")
        return float(functional.maturity)

    def excess(self, sample: Sample, times: Float[Array, " node"]) -> Float[Array, " path"]:
        """Return how far each path is inside the event, negative outside."""
        if self.watched is None:
            return jnp.where(self.values(sample, times) != 0.0, 0.0, -1.0)
        distance = self.outcome(sample, times) - self.threshold
        return distance if self.above else -distance

    def outcome(self, sample: Sample, times: Float[Array, " node"]) -> Float[Array, " path"]:
        """Return X of each path."""
        if self.watched is None:
            raise ArgumentError("watched", None, "must be given", "nothing is watched here")
        return _on_paths(self.watched, sample, times)

    def values(self, sample: Sample, times: Float[Array, " node"]) -> Float[Array, " path"]:
        """Return G of each path."""
        if self.payoff is not None:
            return _on_paths(self.payoff, sample, times)
        return jnp.where(self.excess(sample, times) >= 0.0, 1.0, 0.0)


def _on_paths(
    functional: AbstractFunctional, sample: Sample, times: Float[Array, " node"]
) -> Float[Array, " path"]:
    return jax.vmap(lambda path: functional(PathView(path, times)))(drawn(sample))
