"""What is held out: a quarter of the strikes, between fitted ones (paper: app:expset).

Decided per strike and not per option: by parity a fitted put tells the call of its strike.
"""

import numpy as np
from jaxtyping import Bool

EVERY = 4


def every_fourth(strikes: int, turn: int) -> Bool[np.ndarray, " strike"]:
    """Return which of the sorted strikes of an expiry are held out.

    Never the first or the last, so that the score is one of interpolation, and never two neighbours.

    Args:
        strikes: how many there are.
        turn: number of the expiry; each begins at another strike than the one before, so that a
            column of the surface is not left out as a whole.

    Example:
        >>> np.flatnonzero(every_fourth(10, 0)).tolist(), np.flatnonzero(every_fourth(10, 1)).tolist()
        ([1, 5], [3, 7])
    """
    inner = strikes - 2
    if inner < 1:
        return np.zeros(strikes, dtype=bool)
    cycle = min(EVERY, inner)
    # Steps of two, then one further: 0, 2, 1, 3. Neighbouring expiries differ by more than one strike.
    first = 1 + (2 * turn + turn // 2 % 2) % cycle
    positions = np.arange(strikes)
    return (positions >= first) & (positions <= inner) & ((positions - first) % EVERY == 0)
