"""The calibration objective on Monte-Carlo averages (paper: eq:calib-loss)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

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


def remembered_loss(samples: Samples, errors: PerTarget, weights: PerTarget) -> Float[Array, ""]:
    """Return 2 Σ w ē mean φ, whose gradient is that of Σ w e² with averaged errors ē for e.

    The gradient of the plain loss is a product of an error and a slope from the same few paths: both
    are noisy, and their noise is correlated, which is the bias. With errors averaged over many steps
    the noise that is left falls with the errors themselves. The average follows the weights: to the
    error of a step's paths it adds what the average knew better than the same paths with the weights
    before (stochastically corrected compositional gradients: Chen, Sun and Yin, 2021, IEEE
    Transactions on Signal Processing 69). Indicators are followed by their sigmoids: a hard one that
    flips moves a mean by 1/n at once, and such noise of every step would stay in the average.
    """
    return 2.0 * jnp.sum(weights * errors * jnp.mean(samples, axis=0))


def remembered_share(forgetting: Float[Array, ""], step: Int[Array, ""]) -> Float[Array, ""]:
    """Return the weight of the steps before in the averaged errors of a step, counted from 0.

    At first all steps count alike, so that the noise of the first one does not linger; later the share
    `forgetting` of what was known makes room for what the step's own paths say.
    """
    return jnp.clip(1.0 - forgetting, 0.0, step / (step + 1.0))


def with_slope_of(value: Float[Array, ""], other: Float[Array, ""]) -> Float[Array, ""]:
    """Return a number with the gradient of another."""
    return jax.lax.stop_gradient(value) + other - jax.lax.stop_gradient(other)
