"""The paper's optimiser: clipped AdamW with warm-up and cosine decay (paper: app:expset)."""

import optax

BETAS = (0.9, 0.999)
FLOOR = 1e-5
"""Learning rate at the first step and after the last one."""


def paper_optimiser(
    steps: int,
    *,
    learning_rate: float = 1e-3,
    warmup: int = 100,
    weight_decay: float = 1e-4,
    clip: float = 1.0,
) -> optax.GradientTransformation:
    """Return AdamW that warms up to `learning_rate`, decays to `FLOOR` and clips the global norm."""
    schedule = optax.warmup_cosine_decay_schedule(
        FLOOR, learning_rate, min(warmup, max(steps - 1, 0)), max(steps, 1), FLOOR
    )
    adamw = optax.adamw(schedule, *BETAS, weight_decay=weight_decay)
    # One vector of all weights instead of dozens of arrays is traced in a fraction of the time.
    return optax.flatten(optax.chain(optax.clip_by_global_norm(clip), adamw))
