"""The paper's optimiser: clipped AdamW with warm-up and cosine decay (paper: app:expset)."""

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

BETA1 = 0.9
FLOOR = 1e-5
"""Learning rate at the first step and after the last one."""


def paper_optimiser(
    steps: int,
    *,
    learning_rate: float = 1e-3,
    warmup: int = 100,
    weight_decay: float = 1e-4,
    clip: float = 1.0,
    beta2: float = 0.999,
) -> optax.GradientTransformation:
    """Return AdamW that warms up to `learning_rate`, decays to `FLOOR` and clips the global norm.

    Steps are gradients over their root mean square of about the last 1/(1 − beta2) steps. In a run that is no longer
    than that, the large gradients of the beginning make all later steps small.
    """
    schedule = optax.warmup_cosine_decay_schedule(
        FLOOR, learning_rate, _warmup(steps, warmup), max(steps, 1), FLOOR
    )
    adamw = optax.adamw(schedule, BETA1, beta2, weight_decay=weight_decay)
    # One vector of all weights instead of dozens of arrays is traced in a fraction of the time.
    return optax.flatten(optax.chain(optax.clip_by_global_norm(clip), adamw))


def rate_left(steps: int, warmup: int, step: Int[Array, ""]) -> Float[Array, ""]:
    """Return the share of its highest value that the learning rate has come down to, one before that."""
    peak = _warmup(steps, warmup)
    decay = optax.cosine_decay_schedule(1.0, max(steps - peak, 1))
    return jnp.asarray(decay(jnp.maximum(step - peak, 0)))


def _warmup(steps: int, warmup: int) -> int:
    """Return the step of the highest learning rate, in short runs the last one."""
    return min(warmup, max(steps - 1, 0))
