"""The adapted control, a diagonal state-space recurrence (paper: app:girsanov-controller-details).

    s[k+1] = R s[k] + U Δε^Q[k],   u[k] = W s[k] + q[k],

q[k] the part that this noise has no share in: a level, and a branch driven by the prefix path.
Drawn noise gives u by a diagonal recurrence. Along a given path, Δε^P = Δε^Q + u Δt is known instead, and

    s[k+1] = (R − Δt U W) s[k] + U (Δε^P[k] − q[k] Δt),

which is affine again, with a full matrix. Both are evaluated as a layer of the model is, k running over
the steps of the control's pace.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.flow.evaluate import run_observed
from slisde.flow.linear import LinearFlow
from slisde.flow.transition import Euler
from slisde.girsanov.pace import Features, Gathered, Pace

RATE = 0.9997
"""Rates at the start of training."""
RATE_STEPS = 512
"""Steps to the horizon of the grid that rates are meant for; others forget as much per time."""


class Recurrence(eqx.Module):
    """s[k+1] = R s[k] + U x[k] and its linear readout W s[k]; R in (0, 1) for any weights.

    W starts at zero, U at random.
    """

    decay: Float[Array, " state"]
    kernel: Float[Array, "state input"]
    mixing: Float[Array, "channel state"]

    def __init__(self, inputs: int, states: int, channels: int, *, key: PRNGKeyArray):
        self.decay = jnp.full(states, math.log(RATE / (1.0 - RATE)), dtype=float)
        self.kernel = jax.random.normal(key, (states, inputs)) / inputs**0.5
        self.mixing = jnp.zeros((channels, states))

    def __call__(self, pace: Pace, inputs: Float[Array, "control_step input path"]) -> Gathered:
        """Return W s[k] at the left end of every step."""
        matrices = self._growth(pace)[:, None, :, None, None]
        return self._run(pace, matrices, inputs)

    def closed(self, pace: Pace, inputs: Float[Array, "control_step input path"]) -> Gathered:
        """Return the same when what drives it is x[k] − Δt W s[k]."""
        growth = jax.vmap(jnp.diag)(self._growth(pace)) - (self.kernel @ self.mixing)[None]
        return self._run(pace, growth[:, None, None], inputs)

    def _growth(self, pace: Pace) -> Float[Array, "control_step state"]:
        """Return (R − 1) / Δt for every step: an Euler step multiplies by one plus Δt of it."""
        dt = pace.dt
        log_rate = -jax.nn.softplus(-self.decay)
        count = RATE_STEPS * dt / jnp.sum(dt)
        return jnp.expm1(log_rate[None] * count[:, None]) / dt[:, None]

    def _run(self, pace, matrices, inputs):
        vectors = jnp.concatenate([jnp.zeros_like(self.kernel[:, :1]), self.kernel], axis=1).T
        flow = LinearFlow(
            matrices,
            jnp.broadcast_to(vectors[None], (pace.dt.shape[0], *vectors.shape)),
            pace.dt,
            inputs,
            Euler(),
        )
        start = jnp.zeros((self.decay.shape[0], inputs.shape[-1]), inputs.dtype)
        return run_observed(flow, None, start, self.mixing)[0][:-1]


class Controller(eqx.Module):
    """A control of some channels of noise; untrained it is zero.

    Args:
        channels: channels that are controlled.
        latent: the width d of the model.
        states: states of each recurrence.
        knots: shares of the horizon between which the level is linear; a single one makes it constant.
        until: share of the horizon after which level and prefix branch are zero.
        from_noise: whether there is a branch driven by the noise that is controlled.
        from_prefix: whether there is a branch driven by the prefix path.
        key: random key of the weights.
    """

    level: Float[Array, "knot channel"]
    history: Recurrence | None
    prefix: Recurrence | None
    knots: tuple[float, ...] = eqx.field(static=True)
    until: float = eqx.field(static=True)

    def __init__(
        self,
        channels: int,
        latent: int,
        *,
        states: int = 8,
        knots: tuple[float, ...] = (0.0,),
        until: float = 1.0,
        from_noise: bool = False,
        from_prefix: bool = False,
        key: PRNGKeyArray,
    ):
        history_key, prefix_key = jax.random.split(key)
        self.level = jnp.zeros((len(knots), channels))
        self.history = (
            Recurrence(channels, states, channels, key=history_key) if from_noise else None
        )
        self.prefix = Recurrence(latent, states, channels, key=prefix_key) if from_prefix else None
        self.knots, self.until = knots, until

    def weakened(self, strength: float) -> "Controller":
        """Return the control of a part of the strength; what it hears stays the same."""

        def strengths(control):
            branches = [each for each in (control.history, control.prefix) if each is not None]
            return [control.level, *(branch.mixing for branch in branches)]

        return eqx.tree_at(strengths, self, [strength * each for each in strengths(self)])

    def of_drawn(self, pace: Pace, noise: Gathered, features: Features | None) -> Gathered:
        """Return u when Δε^Q is `noise`.

        Args:
            pace: the control steps.
            noise: the drawn increments of the controlled channels.
            features: the normalised prefix path, where there is a branch for it.
        """
        known = self._known(pace, noise.shape[-1], features)
        return known if self.history is None else known + self.history(pace, noise)

    def along(self, pace: Pace, noise: Gathered, features: Features | None) -> Gathered:
        """Return u when Δε^P is `noise`: the control that a given path would have met."""
        known = self._known(pace, noise.shape[-1], features)
        if self.history is None:
            return known
        return known + self.history.closed(pace, noise - known * pace.dt[:, None, None])

    def _known(self, pace: Pace, paths: int, features: Features | None) -> Gathered:
        """Return q: the level, and the branch driven by the prefix path."""
        level = self._basis(pace) @ self.level
        known = jnp.broadcast_to(level[:, :, None], (*level.shape, paths))
        if self.prefix is not None and features is not None:
            heard = jax.lax.stop_gradient(features) * pace.dt[:, None, None]
            known = known + self.prefix(pace, heard)
        return jnp.where((pace.since < self.until)[:, None, None], known, 0.0)

    def _basis(self, pace: Pace) -> Float[Array, "control_step knot"]:
        """Return the level's functions of time, of unit energy each.

        So every weight of the level has unit Fisher information, and a plain gradient step is a
        natural one, however short the time between two knots is.
        """
        places = jnp.asarray(self.knots, pace.since.dtype)
        hats = jax.vmap(lambda hat: jnp.interp(pace.since, places, hat), out_axes=1)(
            jnp.eye(len(self.knots), dtype=pace.since.dtype)
        )
        energy = pace.dt @ hats**2
        return hats * jnp.where(energy > 0.0, energy, 1.0)[None] ** -0.5
