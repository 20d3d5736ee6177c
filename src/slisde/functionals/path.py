"""One path and the running quantities that functionals share, each computed once."""

from functools import cached_property

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from slisde.flow.mixture import Mixture
from slisde.flow.running import running_maximum

PathValues = Float[Array, " node"]


class PathView:
    """A path on its grid, as functionals see it.

    Functionals of one problem are evaluated on the same view, so that a running maximum, say, is
    computed once however many barriers there are. `law` is the path's law given the latent one, where
    the model knows it.
    """

    def __init__(self, path: PathValues | Mixture, times: PathValues):
        self.law = path if isinstance(path, Mixture) else None
        self.values = path.values if isinstance(path, Mixture) else path
        self.times = times

    def share(self) -> "PathView":
        """Compute the running extremes now and return the view.

        Computed inside a map over functionals they would belong to it, and could not be shared.
        """
        _ = self.running_maximum, self.running_minimum
        return self

    def node(self, time: Float[Array, ""] | float) -> Int[Array, ""]:
        """Return the node nearest to a time."""
        return jnp.argmin(jnp.abs(self.times - time))

    def at(self, time: Float[Array, ""] | float) -> Float[Array, ""]:
        """Return the value at a time."""
        return self.values[self.node(time)]

    @cached_property
    def running_maximum(self) -> PathValues:
        """The highest value so far, at every node."""
        return running_maximum(self.values)

    @cached_property
    def running_minimum(self) -> PathValues:
        """The lowest value so far, at every node."""
        return -running_maximum(-self.values)

    @cached_property
    def running_average(self) -> PathValues:
        """(1/t) ∫ Y ds by the trapezoidal rule; Y_0 at the first node."""
        return self._average(self.values)

    @cached_property
    def running_square(self) -> PathValues:
        """(1/t) ∫ Y² ds by the trapezoidal rule; Y_0² at the first node."""
        return self._average(self.values**2)

    @cached_property
    def log_variation(self) -> PathValues:
        """Σ (Δ log Y)² so far; only positive paths have it."""
        return self._summed(jnp.diff(jnp.log(self.values)) ** 2)

    def _average(self, integrand: PathValues) -> PathValues:
        steps = jnp.diff(self.times)
        integral = self._summed(0.5 * (integrand[1:] + integrand[:-1]) * steps)
        elapsed = self.times - self.times[0]
        # The first node divides by one instead of zero, which keeps its gradient finite.
        started = jnp.arange(elapsed.shape[0]) > 0
        return jnp.where(started, integral / jnp.where(started, elapsed, 1.0), integrand[0])

    @staticmethod
    def _summed(increments: Float[Array, " step"]) -> PathValues:
        return jnp.concatenate([jnp.zeros_like(increments[:1]), jnp.cumsum(increments)])
