"""What a functional is: a number for one path, up to its maturity."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.functionals.path import PathValues, PathView

Number = float | Float[Array, "*shape"]
Value = Float[Array, ""]

TEMPERATURE = 0.05
"""Width of the sigmoid that stands for an indicator in training."""


class AbstractFunctional(eqx.Module):
    """A functional φ of one path; its numbers may be arrays when many are evaluated together."""

    maturity: eqx.AbstractVar[Number]

    @abstractmethod
    def __call__(self, path: PathView) -> Value:
        """Return φ(Y)."""

    def smooth(self) -> "AbstractFunctional":
        """Return the differentiable stand-in used in training; itself where nothing jumps."""
        return self


class Custom(AbstractFunctional):
    """Any function of the values up to and including the maturity, and of the times.

    The function gets whole arrays; after the maturity the path is frozen at its value there, so that
    statistics such as a maximum see nothing of the future.
    """

    maturity: Number
    function: Callable[[PathValues, PathValues], Value] = eqx.field(static=True)

    def __call__(self, path):
        node = path.node(self.maturity)
        index = jnp.minimum(jnp.arange(path.values.shape[0]), node)
        return self.function(path.values[index], path.times)


def indicator(excess: Value, temperature: float | None) -> Value:
    """Return 1 where the excess is positive or zero: hard, or a sigmoid of some temperature."""
    if temperature is None:
        return jnp.where(excess >= 0.0, 1.0, 0.0)
    return jax.nn.sigmoid(excess / temperature)
