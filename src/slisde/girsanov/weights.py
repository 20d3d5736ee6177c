"""Estimators of E_P[G] from tilted paths, and what their weights are worth (paper: app:snis-ess).

Weights are given by their logarithms, log dP/dQ, and stay in log-space until the last moment.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

PerPath = Float[Array, " path"]
Number = Float[Array, ""]


def vanilla(values: PerPath, log_weights: PerPath) -> Number:
    """Return n⁻¹ Σ w G, which has no bias."""
    return jnp.mean(jnp.exp(log_weights) * values)


def truncated(values: PerPath, log_weights: PerPath) -> Number:
    """Return the same with weights capped at √n times their known mean of one."""
    return vanilla(values, jnp.minimum(log_weights, 0.5 * jnp.log(values.shape[0])))


def self_normalised(values: PerPath, log_weights: PerPath) -> Number:
    """Return Σ w G / Σ w (eq:snis-appendix)."""
    return jnp.sum(jax.nn.softmax(log_weights) * values)


def combined(
    reference: Float[Array, " reference"], tilted: PerPath, log_weights: PerPath
) -> Number:
    """Return the self-normalised estimate and a plain one, in proportion to their effective sizes.

    Args:
        reference: G of paths drawn under the reference law.
        tilted: G of tilted paths.
        log_weights: their weights; they get no gradient.
    """
    log_weights = jax.lax.stop_gradient(log_weights)
    plain = reference.shape[0]
    share = plain / (plain + effective_size(log_weights))
    return share * jnp.mean(reference) + (1.0 - share) * self_normalised(tilted, log_weights)


def effective_size(log_weights: PerPath) -> Number:
    """Return (Σ w)² / Σ w² (eq:ess-appendix); zero where all weights are."""
    shifted = log_weights - jnp.maximum(jnp.max(log_weights), -jnp.finfo(log_weights.dtype).max)
    weights = jnp.exp(shifted)
    square = jnp.sum(weights**2)
    return jnp.where(
        square > 0.0, jnp.sum(weights) ** 2 / jnp.where(square > 0.0, square, 1.0), 0.0
    )
