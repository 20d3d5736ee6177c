"""The tail of an outcome whose spread is itself unsettled.

An outcome of mean zero and variance one that is normal with standard deviation exp(τ η − τ²), η standard
normal, is beyond d with probability

    h(d) = E Φ̄(d exp(τ² − τ η)),

Φ̄(d) for τ = 0. Its kurtosis is 3 exp(4 τ²). The expectation is a sum over the nodes of Gauss and Hermite.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float

Numbers = Float[Array, "*#s"]

_nodes, _weights = np.polynomial.hermite_e.hermegauss(9)
NODES, LOG_WEIGHTS = tuple(_nodes), tuple(np.log(_weights / _weights.sum()))


def log_reach(distance: Numbers, unrest: Numbers) -> Float[Array, "*s"]:
    """Return log h(d) for d and τ."""
    return jax.nn.logsumexp(_by_node(distance, unrest)[0], axis=0)


def hazard(distance: Numbers, unrest: Numbers) -> Float[Array, "*s"]:
    """Return −d log h / dd."""
    log_parts, rates = _by_node(distance, unrest)
    return jnp.sum(jax.nn.softmax(log_parts, axis=0) * rates, axis=0)


def unrest_of(kurtosis: Float[np.ndarray, " step"]) -> Float[np.ndarray, " step"]:
    """Return τ of a kurtosis, zero where that is no larger than a normal one."""
    return np.sqrt(np.maximum(np.log(np.maximum(kurtosis, 3.0) / 3.0), 0.0) / 4.0)


def _by_node(distance: Numbers, unrest: Numbers) -> tuple[Float[Array, "node *s"], ...]:
    """Return the logarithms of the terms of h, and their hazard rates."""

    def term(node, log_weight):
        steepness = jnp.exp(unrest**2 - unrest * node)
        scaled = distance * steepness
        log_sf = norm.logsf(scaled)
        return log_weight + log_sf, steepness * jnp.exp(norm.logpdf(scaled) - log_sf)

    distance, unrest = jnp.broadcast_arrays(distance, unrest)
    return jax.vmap(term)(*(jnp.asarray(each, distance.dtype) for each in (NODES, LOG_WEIGHTS)))
