"""Functionals of the value at the maturity (paper: eq:option-payoffs, eq:digital-payoff)."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp

from slisde.functionals import black
from slisde.functionals.base import AbstractFunctional, Number, Smoothing, Value, indicator
from slisde.functionals.path import PathView


class AbstractTerminal(AbstractFunctional):
    """A payoff of Y_T, whose expectation is known where Y_T is lognormal."""

    @abstractmethod
    def payoff(self, value: Value) -> Value:
        """Return φ of the value at the maturity."""

    @abstractmethod
    def lognormal_mean(self, forward: Value, variance: Value) -> Value:
        """Return E[φ] for a lognormal value of mean `forward` and `variance` of its logarithm."""

    def __call__(self, path: PathView) -> Value:
        return self.payoff(path.at(self.maturity))

    def expected(self, path: PathView) -> Value:
        if path.law is None:
            return self(path)
        node = path.node(self.maturity)
        return self.lognormal_mean(path.law.centre[node], path.law.variance[node])


class Forward(AbstractTerminal):
    """The value itself, Y_T."""

    maturity: Number

    def payoff(self, value):
        return value

    def lognormal_mean(self, forward, variance):
        del variance
        return forward


class Call(AbstractTerminal):
    """The positive part above a strike, (Y_T − K)₊."""

    maturity: Number
    strike: Number

    def payoff(self, value):
        return jnp.maximum(value - self.strike, 0.0)

    def lognormal_mean(self, forward, variance):
        return black.call(forward, self.strike, variance)


class Put(AbstractTerminal):
    """The positive part below a strike, (K − Y_T)₊."""

    maturity: Number
    strike: Number

    def payoff(self, value):
        return jnp.maximum(self.strike - value, 0.0)

    def lognormal_mean(self, forward, variance):
        return black.put(forward, self.strike, variance)


class DigitalAbove(AbstractTerminal):
    """The indicator of Y_T ≥ K."""

    maturity: Number
    strike: Number
    smoothing: Smoothing | None = eqx.field(static=True, default=None)

    def payoff(self, value):
        return indicator(value - self.strike, self.smoothing)

    def lognormal_mean(self, forward, variance):
        return black.digital_above(forward, self.strike, variance)


class DigitalBelow(AbstractTerminal):
    """The indicator of Y_T ≤ K."""

    maturity: Number
    strike: Number
    smoothing: Smoothing | None = eqx.field(static=True, default=None)

    def payoff(self, value):
        return indicator(self.strike - value, self.smoothing)

    def lognormal_mean(self, forward, variance):
        return black.digital_below(forward, self.strike, variance)
