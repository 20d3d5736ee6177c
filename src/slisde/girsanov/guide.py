"""A control that follows what is to be expected: an approximate conditioning on the event.

Conditioning a diffusion on an event of probability h given the present adds the drift σᵀ∇ log h to its
noise. Here the watched quantity X is given a mean m and a variance s² in view of the present,

    h = h(d),   d = (H − m) / s,   u = −(log h)′(d) · σᵀ(∇m + d ∇s) / s,

h(d) as in `slisde.girsanov.outcome_tail`: normal, or with the heavier tail of a spread that is unsettled.
m is linear in the states of all layers, in the observed value, in the size of the last state and its logarithm, and so is
a part of s²; the rest of s² is proportional to ‖σᵀ∇m‖². The drifts σᵀ∇m and σᵀ∇s are what the noise of one step adds to m and to s.
They change sign with the states that the noise multiplies, which no control that is the same for all
paths can follow. m and s² are fitted to plain paths, and nothing is trained. Whatever they are, the
weights are exact. The size of the last state is expected in the same way, for the laws of `slisde.girsanov.growth`.
"""

from enum import IntEnum
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from slisde.girsanov.initial import PerPath
from slisde.girsanov.outcome_tail import hazard, log_reach
from slisde.girsanov.pace import Gathered, Pace
from slisde.girsanov.walk import Channels, Place, Slope

WIDTH = 1.2
"""A factor of s: paths in the event are wilder than the plain ones that it is fitted to."""

LEAST = 0.25
"""Bound of the linear part of s² from below, as a share of its mean."""


class Quantity(IntEnum):
    """What a guide expects: X of the event, and the logarithm of the last state's size when it is decided."""

    OUTCOME = 0
    SIZE = 1


Outlook = Float[Array, "control_step quantity mean_variance_and_slopes path"]
"""m and the linear part of s² where control steps begin, then the slopes of both by channel."""
OneOutlook = Float[Array, "quantity mean_variance_and_slopes path"]
"""The same where one control step begins."""


class Guide(eqx.Module):
    """What is expected of each quantity where each control step begins.

    Args:
        pace: the control steps.
        features: the number of features.

    Attributes:
        slopes: of m and of the linear part of s² in the features.
        levels: of both where the features are zero.
        usual: means of s² and of ‖σᵀ∇m‖².
        local: share of s² that is proportional to ‖σᵀ∇m‖².
        unrest: how unsettled s is, see `slisde.girsanov.outcome_tail`.
    """

    slopes: Float[Array, "control_step quantity 2 feature"]
    levels: Float[Array, "control_step quantity 2"]
    usual: Float[Array, "control_step quantity 2"]
    local: Float[Array, "control_step quantity"]
    unrest: Float[Array, "control_step quantity"]

    def __init__(self, pace: Pace, features: int):
        each = (pace.dt.shape[0], len(Quantity))
        self.slopes = jnp.zeros((*each, 2, features))
        self.levels = jnp.broadcast_to(jnp.array([0.0, 1.0]), (*each, 2))
        self.usual, self.local, self.unrest = jnp.ones((*each, 2)), jnp.zeros(each), jnp.zeros(each)

    @property
    def undecided(self) -> Bool[Array, " control_step"]:
        """Whether anything is expected still: not before a guide is fitted, nor after the event."""
        return jnp.any(self.slopes != 0.0, axis=(1, 2, 3))

    def outlook(self, index: Int[Array, ""], place: Place, slope: Slope) -> OneOutlook:
        """Return what is expected where a control step begins."""
        rows = self.slopes[index]
        values = rows @ place.features() + self.levels[index][:, :, None]
        slopes = [jnp.concatenate([slope(row) for row in both]) for both in rows]
        return jnp.concatenate([values, jnp.stack(slopes)], axis=1)


class Steering(eqx.Module):
    """The control that a guide leads to; nothing is controlled before the guide is fitted.

    Args:
        guide: what is expected.
        threshold: H, in the units of the guide.
        above: whether the event is above it.
        until: when the event is decided, as a share of the horizon.
        centre: the mean of the quantity.
        quantity: which of the guide's it follows.
        share: of branching paths, relative to other laws.

    Attributes:
        strength: how near to H the control aims at first, on the way there from the centre; in the end at H.
        width: the factor of s.
    """

    guide: Guide
    threshold: Float[Array, ""]
    centre: Float[Array, ""]
    strength: Float[Array, ""]
    width: Float[Array, ""]
    share: Float[Array, ""]
    above: bool = eqx.field(static=True)
    until: float = eqx.field(static=True)
    quantity: Quantity = eqx.field(static=True)

    def __init__(
        self,
        guide: Guide,
        threshold: float | Float[Array, ""],
        *,
        above: bool,
        until: float = 1.0,
        centre: float | Float[Array, ""] = 0.0,
        quantity: Quantity = Quantity.OUTCOME,
        share: float | Float[Array, ""] = 1.0,
    ):
        self.guide, self.above, self.until, self.quantity = guide, above, until, quantity
        self.threshold, self.centre = jnp.asarray(threshold, float), jnp.asarray(centre, float)
        self.strength, self.share = jnp.ones(()), jnp.asarray(share, float)
        self.width = jnp.asarray(WIDTH, float)

    def weakened(self, strength: float) -> "Steering":
        """Return the control that aims at an easier event at first, at strength zero at the mean of X.

        While there is time left, paths that are far from the event may still find a way into it; towards the
        end an easier event is nothing but another one.
        """
        return eqx.tree_at(lambda steering: steering.strength, self, self.strength * strength)

    def __call__(self, pace: Pace, outlook: Outlook) -> Gathered:
        """Return u of every control step."""
        return self._control(*self._rows(pace), outlook[:, self.quantity])

    def at(
        self,
        pace: Pace,
        index: Int[Array, ""],
        outlook: OneOutlook,
    ) -> Channels:
        """Return u of one control step."""
        usual, local, unrest, aim = (row[index][None] for row in self._rows(pace))
        return self._control(usual, local, unrest, aim, outlook[None, self.quantity])[0]

    def log_reach(self, pace: Pace, index: Int[Array, ""], outlook: OneOutlook) -> PerPath:
        """Return log h of every path where a control step begins."""
        usual, local, unrest, aim = (row[index][None] for row in self._rows(pace))
        distance = self._distance(usual, local, aim, outlook[None, self.quantity])
        return log_reach(distance.scaled, unrest[:, None])[0]

    def of_drawn(self, pace: Pace, noise: Gathered, features: Outlook | None) -> Gathered:
        """Return u when Δε^Q is `noise`; all that matters of it is in the outlook."""
        return jnp.zeros_like(noise) if features is None else self(pace, features)

    along = of_drawn

    def _rows(self, pace: Pace):
        """Return all that depends on the time alone."""
        guide, centre, threshold, strength = jax.lax.stop_gradient(
            (self.guide, self.centre, self.threshold, self.strength)
        )
        left = jnp.maximum(1.0 - pace.since / self.until, 0.0)
        aim = threshold - (1.0 - strength) * left * (threshold - centre)
        of = (slice(None), self.quantity)
        return guide.usual[of], guide.local[of], guide.unrest[of], aim

    def _control(self, usual, local, unrest, aim, outlook):
        distance = self._distance(usual, local, aim, outlook)
        pull = (hazard(distance.scaled, unrest[:, None]) / distance.spread)[:, None]
        return pull * (distance.slope + distance.scaled[:, None] * distance.spread_slope)

    def _distance(self, usual, local, aim, outlook) -> "_Distance":
        sign = 1.0 if self.above else -1.0
        channels = (outlook.shape[1] - 2) // 2
        slope, variance_slope = sign * outlook[:, 2 : 2 + channels], outlook[:, 2 + channels :]
        least = LEAST * usual[:, :1]
        linear = jnp.maximum(outlook[:, 1], least)
        moving = (outlook[:, 1] > least)[:, None]
        own = jnp.sum(slope**2, axis=1) * (usual[:, 0] / usual[:, 1])[:, None]
        share = local[:, None]
        spread = self.width * jnp.sqrt((1.0 - share) * linear + share * own)
        factor = 0.5 * ((1.0 - share) * self.width**2 / spread)[:, None]
        return _Distance(
            sign * (aim[:, None] - outlook[:, 0]) / spread,
            spread,
            slope,
            jnp.where(moving, factor * variance_slope, 0.0),
        )


class _Distance(NamedTuple):
    """d, s, and the slopes of m and s towards the event."""

    scaled: Float[Array, "control_step path"]
    spread: Float[Array, "control_step path"]
    slope: Gathered
    spread_slope: Gathered
