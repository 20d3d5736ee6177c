"""What a functional is: a number for one path, up to its maturity."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.functionals.path import PathValues, PathView

Number = float | Float[Array, "*shape"]
Value = Float[Array, ""]


@dataclass(frozen=True)
class Smoothing:
    """What stands for an indicator in training, where its own gradient is zero.

    Attributes:
        temperature: width of the sigmoid.
        straight_through: keep the indicator's value and take only the gradient of the sigmoid, so
            that a fitted model matches the expectation itself and not that of the sigmoid.
    """

    temperature: float = 0.05
    straight_through: bool = False


class AbstractFunctional(eqx.Module):
    """A functional φ of one path; its numbers may be arrays when many are evaluated together."""

    maturity: eqx.AbstractVar[Number]

    @abstractmethod
    def __call__(self, path: PathView) -> Value:
        """Return φ(Y)."""

    def expected(self, path: PathView) -> Value:
        """Return E[φ(Y)] given what the view knows of the path's law, or φ(Y) itself."""
        return self(path)

    def smooth(self, smoothing: Smoothing) -> "AbstractFunctional":
        """Return the differentiable stand-in used in training; itself where nothing jumps."""
        if not hasattr(self, "smoothing"):
            return self
        return replace(self, smoothing=smoothing)


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


def indicator(excess: Value, smoothing: Smoothing | None) -> Value:
    """Return 1 where the excess is positive or zero: hard, or smoothed for its gradient."""
    hard = jnp.where(excess >= 0.0, 1.0, 0.0)
    if smoothing is None:
        return hard
    soft = jax.nn.sigmoid(excess / smoothing.temperature)
    if smoothing.straight_through:
        return hard + soft - jax.lax.stop_gradient(soft)
    return soft
