"""How often the control changes, and what it sees of the noise between its changes.

A control that is held over a few steps of the grid needs only the sums of their increments. The tilt
stays exact, a held control being one of the adapted ones, and the controller costs next to nothing.
"""

from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError
from slisde.flow.gating import Norm, normalise
from slisde.flow.grid import TimeGrid
from slisde.girsanov.noise import Noise
from slisde.shapes import Increments, LatentPaths, LatentState

FEATURE_EPSILON = 1e-6

Gathered: TypeAlias = Float[Array, "control_step channel path"]
"""Increments over control steps, or the control in each of them."""
Features: TypeAlias = Float[Array, "control_step *feature path"]
"""What controls read where their steps begin."""
ControlSteps: TypeAlias = Float[Array, " control_step"]


class Pace(eqx.Module):
    """Control steps of `every` steps of the grid each, the last one of what is left.

    Attributes:
        dt: lengths of the control steps.
        since: where they begin, as shares of the horizon.
        every: grid steps per control step.
        steps: steps of the grid.
    """

    dt: ControlSteps
    since: ControlSteps
    every: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    def __init__(self, grid: TimeGrid, control_steps: int):
        if control_steps < 1:
            raise ArgumentError(
                "control_steps", control_steps, "must be at least 1", "it is a count"
            )
        self.steps = grid.steps
        self.every = -(-grid.steps // control_steps)
        self.dt = self._summed(grid.dt)
        self.since = jnp.asarray(grid.times)[:-1][:: self.every] / grid.times[-1]

    def gathered(self, noise: Increments) -> Gathered:
        """Return the increments over whole control steps."""
        return noise if self.every == 1 else self._summed(noise)

    def held(self, control: Gathered) -> Increments:
        """Return the control at every step of the grid."""
        return jnp.repeat(control, self.every, axis=0)[: self.steps]

    def _summed(self, values: Float[Array, "step *rest"]) -> Float[Array, "control_step *rest"]:
        missing = -self.steps % self.every
        rest = values.shape[1:]
        values = jnp.concatenate([values, jnp.zeros((missing, *rest), values.dtype)])
        return values.reshape(-1, self.every, *rest).sum(axis=1)


class Trace(eqx.Module):
    """All that a tilt's log-ratio depends on.

    Attributes:
        initial: z_0, or ξ of drawn noise.
        prefix: increments of the prefix driver over control steps.
        own: those of the own channels.
        features: what controls read where their steps begin, as the normalised prefix path.
    """

    initial: LatentState
    prefix: Gathered
    own: Float[Array, "control_step own path"] | None
    features: Features | None


def trace(pace: Pace, noise: Noise, features: Features | None) -> Trace:
    """Return what the tilt sees of noise."""
    own = None if noise.own is None else pace.gathered(noise.own)
    return Trace(noise.initial, pace.gathered(noise.prefix), own, features)


def features_of(pace: Pace, prefix: LatentPaths) -> Features:
    """Return the prefix path over its root mean square, as a gate sees it."""
    states = prefix[:-1][:: pace.every]
    return jax.vmap(lambda state: normalise(state, Norm.RMS, FEATURE_EPSILON))(states)
