"""What a tilt is trained for (paper: eq:kl-objective, app:kl-regulariser)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError
from slisde.girsanov.initial import PerPath
from slisde.girsanov.law import AbstractTilt
from slisde.girsanov.log_ratio import divergence, log_ratio_score
from slisde.girsanov.pace import Pace, Trace


class Wall(eqx.Module):
    """The penalty λ KL + (KL − κ)₊² on the divergence of the tilted law.

    Args:
        weight: λ.
        height: κ, in nats.
    """

    weight: Float[Array, ""]
    height: Float[Array, ""]

    def __init__(self, weight: float = 1e-4, height: float = 6.0):
        if not min(weight, height) >= 0.0:
            raise ArgumentError(
                "wall", (weight, height), "must not be negative", "it bounds a divergence"
            )
        self.weight, self.height = jnp.asarray(weight), jnp.asarray(height)

    def __call__(self, kl: Float[Array, ""]) -> Float[Array, ""]:
        return self.weight * kl + jnp.maximum(kl - self.height, 0.0) ** 2


def cross_entropy(tilt: AbstractTilt, pace: Pace, seen: Trace, target: PerPath) -> Float[Array, ""]:
    """Return −Σ w̄* log dQ/dP, which is KL(Q* ‖ Q) but for a constant.

    Args:
        tilt: the tilted law.
        pace: its control steps.
        seen: paths drawn under any law.
        target: w̄*, from `target_weights`.
    """
    return -target @ log_ratio_score(tilt, pace, seen)


def target_weights(magnitude: PerPath, log_ratio: PerPath, *, clip: float | None = 5.0) -> PerPath:
    """Return w̄* ∝ |G| dP/dQ, zero everywhere where G is zero on all paths.

    Args:
        magnitude: |G| of every path.
        log_ratio: log dQ/dP of the law that drew them.
        clip: bound of the log-ratios about their mean over the event, so that no path dominates.
    """
    hit = magnitude > 0.0
    count = jnp.maximum(jnp.sum(hit), 1)
    log_weights = -log_ratio - jnp.sum(jnp.where(hit, -log_ratio, 0.0)) / count
    if clip is not None:
        log_weights = jnp.clip(log_weights, -clip, clip)
    logits = jnp.where(hit, log_weights + jnp.log(jnp.where(hit, magnitude, 1.0)), -jnp.inf)
    largest = jnp.max(logits, where=hit, initial=-1e30)
    weights = jnp.where(hit, jnp.exp(logits - largest), 0.0)
    return jax.lax.stop_gradient(weights / jnp.maximum(jnp.sum(weights), 1e-30))


def snis_variance(
    tilt: AbstractTilt, pace: Pace, seen: Trace, values: PerPath, log_ratio: PerPath
) -> Float[Array, ""]:
    """Return the asymptotic variance of the self-normalised estimate, its derivative at fixed paths.

    The variance E_P[w (G − E G)²] is estimated with weights of the law that drew the paths and depends
    on the tilt by its own weight w.

    Args:
        tilt: the tilted law.
        pace: its control steps.
        seen: paths drawn under some law.
        values: G of these paths.
        log_ratio: log dQ/dP of the law that drew them.
    """
    shares = jax.lax.stop_gradient(jax.nn.softmax(-log_ratio))
    centred = values - shares @ values
    log_own = -log_ratio_score(tilt, pace, seen)
    log_mean = jax.nn.logsumexp(-log_ratio) - jnp.log(values.shape[0])
    return shares @ (jnp.exp(log_own - jax.lax.stop_gradient(log_mean)) * centred**2)


def penalty(
    tilt: AbstractTilt, pace: Pace, drawn: Trace, wall: Wall
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the wall's penalty and the divergence itself, over noise as drawn."""
    kl = divergence(tilt, pace, drawn)
    return wall(kl), kl
