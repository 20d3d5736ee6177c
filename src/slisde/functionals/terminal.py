"""Functionals of the value at the maturity (paper: eq:option-payoffs, eq:digital-payoff)."""

import equinox as eqx
import jax.numpy as jnp

from slisde.functionals.base import AbstractFunctional, Number, Smoothing, indicator


class Forward(AbstractFunctional):
    """The value itself, Y_T."""

    maturity: Number

    def __call__(self, path):
        return path.at(self.maturity)


class Call(AbstractFunctional):
    """The positive part above a strike, (Y_T − K)₊."""

    maturity: Number
    strike: Number

    def __call__(self, path):
        return jnp.maximum(path.at(self.maturity) - self.strike, 0.0)


class Put(AbstractFunctional):
    """The positive part below a strike, (K − Y_T)₊."""

    maturity: Number
    strike: Number

    def __call__(self, path):
        return jnp.maximum(self.strike - path.at(self.maturity), 0.0)


class DigitalAbove(AbstractFunctional):
    """The indicator of Y_T ≥ K."""

    maturity: Number
    strike: Number
    smoothing: Smoothing | None = eqx.field(static=True, default=None)

    def __call__(self, path):
        return indicator(path.at(self.maturity) - self.strike, self.smoothing)


class DigitalBelow(AbstractFunctional):
    """The indicator of Y_T ≤ K."""

    maturity: Number
    strike: Number
    smoothing: Smoothing | None = eqx.field(static=True, default=None)

    def __call__(self, path):
        return indicator(self.strike - path.at(self.maturity), self.smoothing)
