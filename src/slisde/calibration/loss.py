"""The calibration objective on Monte-Carlo averages (paper: eq:calib-loss)."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError

Samples = Float[Array, "path target"]
PerTarget = Float[Array, " target"]


def plain_loss(samples: Samples, values: PerTarget, weights: PerTarget) -> Float[Array, ""]:
    """Return Σ w (mean φ − c)²: the published objective, above the population loss by Σ w Var/n."""
    error = jnp.mean(samples, axis=0) - values
    return jnp.sum(weights * error**2)


def unbiased_loss(samples: Samples, values: PerTarget, weights: PerTarget) -> Float[Array, ""]:
    """Return Σ w (mean₁ φ − c)(mean₂ φ − c) over the two independent halves of the batch.

    Its expectation, and that of its gradient, are those of the population loss. Antithetic pairs
    are half a batch apart, so the halves interleave: pairs stay together and halves independent.
    """
    if samples.shape[0] % 4:
        raise ArgumentError(
            "paths", samples.shape[0], "must be divisible by 4", "two halves of antithetic pairs"
        )
    first, second = (jnp.mean(samples[start::2], axis=0) - values for start in (0, 1))
    return jnp.sum(weights * first * second)
