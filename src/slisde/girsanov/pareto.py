"""How heavy the tail of weights is: the shape of a generalised Pareto law.

The fit is that of Zhang and Stephens, "A new and efficient estimation method for the generalized
Pareto distribution" (Technometrics 2009), on the tail and with the prior that Vehtari, Simpson,
Gelman, Yao and Gabry use in "Pareto smoothed importance sampling" (JMLR 2024).
"""

import math

import numpy as np
from jaxtyping import Float

LEAST_TAIL = 5
"""Values that a tail needs for a fit."""
PRIOR_SIZE, PRIOR_SHAPE = 10.0, 0.5


def pareto_shape(log_weights: Float[np.ndarray, " path"]) -> float:
    """Return the shape k of the largest weights; NaN where there are too few or all are equal.

    The average of weights has a finite variance for k < 1/2 and is of use up to about 0.7.
    """
    weights = np.sort(np.asarray(log_weights, np.float64))
    weights = weights[np.isfinite(weights)]
    tail = min(weights.size // 5, math.ceil(3.0 * math.sqrt(weights.size)))
    if tail < LEAST_TAIL:
        return math.nan
    scaled = np.exp(weights - weights[-1])
    excess = scaled[-tail:] - scaled[-tail - 1]
    if not excess[-1] > 0.0:
        return math.nan
    shape = generalised_pareto_shape(excess[excess > 0.0])
    return (tail * shape + PRIOR_SIZE * PRIOR_SHAPE) / (tail + PRIOR_SIZE)


def generalised_pareto_shape(excess: Float[np.ndarray, " sorted"]) -> float:
    """Return the shape fitted to positive values in rising order."""
    count = excess.size
    points = 30 + math.isqrt(count)
    quartile = excess[max(0, int(count / 4 + 0.5) - 1)]
    steps = 1.0 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))
    candidates = 1.0 / excess[-1] + steps / (3.0 * quartile)
    shapes = np.mean(np.log1p(-candidates[:, None] * excess[None]), axis=1)
    likelihood = count * (np.log(-candidates / shapes) - shapes - 1.0)
    posterior = np.exp(likelihood - likelihood.max())
    candidate = np.sum(candidates * posterior) / np.sum(posterior)
    return float(np.mean(np.log1p(-candidate * excess)))
