"""Averaged errors that forget by the noise of what is known and of what is new.

An average ē of functionals follows the weights and takes in what a step's paths say:

    ē ← (1 − K)(ē + mean(φ_now − φ_before)) + K mean φ_now.

What was known is wrong by some η, the move by δ, the step's own mean by ε; δ and ε come from the same paths. With
a = Var(η) + Var(δ), r = Var(ε) and s = Cov(δ, ε), each summed over the targets by their weights in the loss, the
new average has the variance (1 − K)² a + 2 K (1 − K) s + K² r, which is smallest at

    K = (a − s) / (a + r − 2 s),

the gain of a Kalman filter. Var(η) is the variance before, the rest is seen in paths. But r is that of the steps
before: large payoffs raise the mean and the variance of a batch together, and a batch that counted less for
its own variance would pull the averages down.

Indicators are followed by their sigmoids, which move nearly as they do. The gap between the two is small, has little
noise and moves slowly, and it has an average of its own, that is not followed but forgets as the sigmoids move.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.calibration.loss import PerTarget, Samples

STRAY = 0.3
"""Share by which the move of an indicator may differ from that of the sigmoid it is followed by."""
FRESH = 0.1
"""Share of a step in what is known of the noise of steps."""

Scalar = Float[Array, ""]


class Average(eqx.Module):
    """A mean over the paths of many steps.

    Attributes:
        mean: one a target.
        variance: of the mean, weighted as in the loss; infinite before the first step.
        noise: the same of the mean of one step alone.
    """

    mean: PerTarget
    variance: Scalar
    noise: Scalar

    @classmethod
    def of_nothing(cls, targets: int) -> "Average":
        """Return an average before its first step."""
        return cls(jnp.zeros(targets), jnp.full((), jnp.inf), jnp.full((), jnp.inf))

    def taking_in(
        self, samples: Samples, moves: Samples, strayed: PerTarget, weights: PerTarget
    ) -> "Average":
        """Return the average after another step, with the gain that leaves the least variance.

        Args:
            samples: functionals on the step's paths, which are independent.
            moves: by how much they differ from those of the weights before, on the same paths.
            strayed: variance of what has moved otherwise.
            weights: of the targets in the loss.
        """
        paths = samples.shape[0]
        own, move = jnp.mean(samples, axis=0), jnp.mean(moves, axis=0)
        spread, change = samples - own[None], moves - move[None]
        seen = weights @ jnp.mean(spread**2, axis=0) / paths
        shared = weights @ jnp.mean(spread * change, axis=0) / paths
        begins = jnp.isinf(self.variance)
        noise = jnp.where(begins, seen, self.noise)
        moved = weights @ (jnp.mean(change**2, axis=0) / paths + strayed)
        known = jnp.where(begins, 0.0, self.variance + moved)
        total = jnp.maximum(known + noise - 2.0 * shared, jnp.finfo(noise.dtype).tiny)
        gain = jnp.where(begins, 1.0, jnp.clip((known - shared) / total, 0.0, 1.0))
        rest = 1.0 - gain
        return Average(
            rest * (self.mean + move) + gain * own,
            rest**2 * known + 2.0 * gain * rest * shared + gain**2 * noise,
            noise + FRESH * (seen - noise),
        )


class Filtered(NamedTuple):
    """Averages of what is followed, less the prescribed values, and of its gap to the functionals."""

    followed: Average
    gap: Average

    @classmethod
    def of_nothing(cls, targets: int) -> "Filtered":
        """Return what is known before the first step."""
        return cls(Average.of_nothing(targets), Average.of_nothing(targets))

    @property
    def errors(self) -> PerTarget:
        """The averaged errors of the functionals."""
        return self.followed.mean + self.gap.mean

    def taking_in(
        self,
        samples: Samples,
        now: Samples,
        before: Samples,
        values: PerTarget,
        weights: PerTarget,
    ) -> "Filtered":
        """Return both averages after another step.

        Args:
            samples: functionals on the step's paths, which are independent.
            now: the same, as they are followed.
            before: what is followed, with the weights before, on the same paths.
            values: the prescribed ones.
            weights: of the targets in the loss.
        """
        moves, gaps = now - before, samples - now
        noise = jnp.var(moves, axis=0) / moves.shape[0]
        strayed = STRAY**2 * jnp.maximum(jnp.mean(moves, axis=0) ** 2 - noise, 0.0)
        strayed = jnp.where(jnp.any(gaps != 0.0, axis=0), strayed, 0.0)
        still = jnp.zeros_like(strayed)
        return Filtered(
            self.followed.taking_in(now - values[None], moves, still, weights),
            self.gap.taking_in(gaps, jnp.zeros_like(gaps), strayed, weights),
        )
