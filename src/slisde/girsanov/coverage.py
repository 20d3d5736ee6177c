"""Whether a proposal goes to all of an event, or has left a part of it behind.

No weight says what was never drawn. But paths of the reference law are drawn beside the tilted ones, and
those among them that come nearest to the event show where it lies: a proposal that is worth its name
draws such paths more often than the reference law does, and certainly not several times less.
"""

import math

import numpy as np
from jaxtyping import Float, Int

NEAREST, LEAST = 0.03, 20
"""Share of the plain paths that counts as near the event, and how many at least."""
NEGLECT = 3.0
"""Weight from which on a path is neglected."""


def coverage(
    excess: Float[np.ndarray, " path"],
    log_weights: Float[np.ndarray, " path"],
    origin: Int[np.ndarray, " path"],
) -> float:
    """Return the share of the nearest plain paths that the proposal does not neglect.

    Args:
        excess: how far inside the event each path is.
        log_weights: log dP/dQ of the proposal.
        origin: which law drew it, 0 for the reference law.
    """
    plain = origin == 0
    nearest = _nearest(excess[plain])
    return float(np.mean(log_weights[plain][nearest] <= math.log(NEGLECT)))


def nearest_level(excess: Float[np.ndarray, " path"]) -> float:
    """Return the excess from which on a plain path counts as near the event, at most 0.

    Args:
        excess: how far inside the event each path is.
    """
    return min(0.0, float(excess[_nearest(excess)[-1]]))


def _nearest(excess: Float[np.ndarray, " path"]) -> Int[np.ndarray, " near"]:
    count = max(LEAST, math.ceil(NEAREST * excess.size), int((excess >= 0.0).sum()))
    return np.argsort(-excess, kind="stable")[:count]
