"""The delta of a payoff at the maturity, as a payoff that can be hedged like any other."""

import jax

from slisde.functionals.base import Number
from slisde.functionals.terminal import AbstractTerminal


class TerminalDelta(AbstractTerminal):
    """d/ds φ(sY_T) at s = 1, which is a payoff of Y_T."""

    maturity: Number
    functional: AbstractTerminal

    def payoff(self, value):
        return value * jax.grad(self.functional.payoff)(value)

    def lognormal_mean(self, forward, variance):
        return forward * jax.grad(self.functional.lognormal_mean)(forward, variance)
