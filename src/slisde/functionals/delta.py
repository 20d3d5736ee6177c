"""Derivatives of a functional in the level of the path."""

from functools import cached_property

import jax
import jax.numpy as jnp

from slisde.flow.mixture import Mixture
from slisde.functionals.base import AbstractFunctional, Number, Value
from slisde.functionals.path import PathView
from slisde.functionals.terminal import AbstractTerminal


class Delta(AbstractFunctional):
    """d/ds φ(sY) at s = 1: what a payoff gains when the whole path rises in proportion.

    Its expectation is the derivative of E[φ(sY)] where φ is Lipschitz, or where the expectation
    under the path's law is smooth.
    """

    maturity: Number
    functional: AbstractFunctional

    def __call__(self, path: PathView) -> Value:
        return _slope(self.functional.__call__, path)

    def expected(self, path: PathView) -> Value:
        return _slope(self.functional.expected, path)


class TerminalDelta(AbstractTerminal):
    """`Delta` of a payoff of Y_T, which is one itself and can be hedged like any other."""

    maturity: Number
    functional: AbstractTerminal

    def payoff(self, value):
        return value * jax.grad(self.functional.payoff)(value)

    def lognormal_mean(self, forward, variance):
        return forward * jax.grad(self.functional.lognormal_mean)(forward, variance)


class ScaledView(PathView):
    """A path times a positive factor; its extremes are those of the path times the factor."""

    def __init__(self, view: PathView, factor: Value):
        law = view.law
        path = view.values * factor
        if law is not None:
            path = Mixture(path, law.centre * factor, law.variance)
        super().__init__(path, view.times)
        self.view, self.factor = view, factor

    @cached_property
    def running_maximum(self):
        return self.factor * self.view.running_maximum

    @cached_property
    def running_minimum(self):
        return self.factor * self.view.running_minimum


def _slope(function, path: PathView) -> Value:
    one = jnp.ones((), path.values.dtype)
    return jax.jvp(lambda factor: function(ScaledView(path, factor)), (one,), (one,))[1]
