"""Barriers, watched at the nodes of the grid: crossings and knock-in or knock-out options."""

from enum import StrEnum

import equinox as eqx

from slisde.functionals.base import AbstractFunctional, Number, Smoothing, indicator
from slisde.functionals.terminal import Call, Put


class Right(StrEnum):
    """What the option pays when it is alive."""

    CALL = "call"
    PUT = "put"


class Side(StrEnum):
    """From where the barrier is reached."""

    UP = "up"
    DOWN = "down"


class Effect(StrEnum):
    """What reaching the barrier does."""

    IN = "in"
    OUT = "out"


class CrossesAbove(AbstractFunctional):
    """The indicator of max_{t ≤ T} Y_t ≥ H."""

    maturity: Number
    barrier: Number
    smoothing: Smoothing | None = eqx.field(static=True, default=None)

    def __call__(self, path):
        excess = path.running_maximum[path.node(self.maturity)] - self.barrier
        return indicator(excess, self.smoothing)


class CrossesBelow(AbstractFunctional):
    """The indicator of min_{t ≤ T} Y_t ≤ H."""

    maturity: Number
    barrier: Number
    smoothing: Smoothing | None = eqx.field(static=True, default=None)

    def __call__(self, path):
        excess = self.barrier - path.running_minimum[path.node(self.maturity)]
        return indicator(excess, self.smoothing)


class BarrierOption(AbstractFunctional):
    """A call or put that pays only on paths which did (in) or did not (out) cross a barrier."""

    maturity: Number
    strike: Number
    barrier: Number
    right: Right = eqx.field(static=True)
    side: Side = eqx.field(static=True)
    effect: Effect = eqx.field(static=True)
    smoothing: Smoothing | None = eqx.field(static=True, default=None)

    def __call__(self, path):
        crossing = CrossesAbove if self.side is Side.UP else CrossesBelow
        crossed = crossing(self.maturity, self.barrier, self.smoothing)(path)
        alive = crossed if self.effect is Effect.IN else 1.0 - crossed
        vanilla = Call if self.right is Right.CALL else Put
        return alive * vanilla(self.maturity, self.strike)(path)
