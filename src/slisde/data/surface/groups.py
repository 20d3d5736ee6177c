"""The five groups of the paper's option surfaces (paper: app:expset)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from slisde.functionals.terminal import Call, DigitalBelow, Put


class Group(NamedTuple):
    """Evenly spaced levels K/S_0 of one payoff, the same at every expiry."""

    functional: type[Call] | type[Put] | type[DigitalBelow]
    size: int
    low: float
    high: float
    weight: float

    @property
    def levels(self) -> Float[np.ndarray, " level"]:
        """The levels, both ends included."""
        return np.linspace(self.low, self.high, self.size)


GROUPS = {
    "calls": Group(Call, 25, 0.88, 1.12, 1.0),
    "puts": Group(Put, 25, 0.88, 1.12, 1.0),
    "far_puts": Group(Put, 20, 0.60, 0.88, 1.0),
    "far_calls": Group(Call, 15, 1.08, 1.35, 1.0),
    "digitals": Group(DigitalBelow, 12, 0.65, 0.98, 2.0),
}
