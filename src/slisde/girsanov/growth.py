"""Where the laws lead that make the last state grow, beside those of a guided tilt that follow its event.

Noise that multiplies a state makes wild what is large, and a wild path gets anywhere: growth is a way into events
that are far off, and it is a way which the mean and the variance of the watched quantity do not show in time.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

DEVIATIONS = (3.0, 5.0)
"""How far above its mean the logarithm of the last state's mean square is led, one law each."""
NEAR, FAR = 3.0, 4.0
"""Deviations of the watched quantity to its event up to which there is no growth, and from which on all of it."""


class Growth(eqx.Module):
    """What the laws aim at, in logarithms of the last state's mean square.

    Attributes:
        share: how far these laws take the place of the weakest ones that follow the event.
        centre: the mean.
        thresholds: one for each law.
        shifts: of the initial state, one for each law.
    """

    share: Float[Array, ""]
    centre: Float[Array, ""]
    thresholds: Float[Array, " law"]
    shifts: Float[Array, "law latent"]

    @classmethod
    def none(cls, latent: int) -> "Growth":
        """Return laws that take no part."""
        laws = len(DEVIATIONS)
        return cls(jnp.zeros(()), jnp.zeros(()), jnp.zeros(laws), jnp.zeros((laws, latent)))


def share_of_growth(deviations: float) -> float:
    """Return how much growth takes part in paths to an event that is so many deviations away."""
    return float(np.interp(deviations, (NEAR, FAR), (0.0, 1.0)))
