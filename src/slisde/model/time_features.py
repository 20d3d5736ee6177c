"""Deterministic features of time (paper: app:time-dependent-coefficients, eq:time-features)."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.flow.grid import TimeGrid

GATE_FEATURES = 4
DECODER_FEATURES = 5


def gate_features(grid: TimeGrid) -> Float[Array, "step 4"]:
    """Return (t, t², sin ωt, cos ωt) at the left end of every step, ω = 2π/T."""
    times = jnp.asarray(grid.times)[:-1]
    angle = 2.0 * math.pi / grid.horizon * times
    return jnp.stack([times, times**2, jnp.sin(angle), jnp.cos(angle)], axis=-1)


def decoder_features(grid: TimeGrid) -> Float[Array, "step 5"]:
    """Return (1, t, t², sin ωt, cos ωt) at the left end of every step."""
    features = gate_features(grid)
    return jnp.concatenate([jnp.ones_like(features[:, :1]), features], axis=-1)
