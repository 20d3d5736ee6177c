"""Tilted laws of the noise and what is drawn under them (paper: thm:girsanov-validity)."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample
from slisde.girsanov.initial import InitialTilt, PerPath
from slisde.girsanov.noise import Noise
from slisde.girsanov.pace import ControlSteps, Features, Gathered, Pace, Trace
from slisde.model.stack import SLiSDE


class AbstractControl(Protocol):
    """A control of some channels of noise, held over control steps."""

    def of_drawn(self, pace: Pace, noise: Gathered, features: Features | None) -> Gathered:
        """Return u when Δε^Q is `noise`."""
        ...

    def along(self, pace: Pace, noise: Gathered, features: Features | None) -> Gathered:
        """Return u when Δε^P is `noise`: the control that a given path would have met."""
        ...


class Part(NamedTuple):
    """A control, the noise that it controls and the features that it reads."""

    control: AbstractControl
    noise: Gathered
    features: Features | None


class TiltedBatch(eqx.Module):
    """A batch drawn under the tilted law.

    Attributes:
        sample: the observed paths.
        noise: what was drawn, standard under the tilted law.
        path: what drives the model, standard under the reference law.
        log_ratio: log dQ/dP of every path.
    """

    sample: Sample
    noise: Trace
    path: Trace
    log_ratio: PerPath


class AbstractTilt(eqx.Module):
    """An equivalent law of the noise: of the initial state, and of the increments by controls."""

    initial: eqx.AbstractVar[InitialTilt]
    control_steps: eqx.AbstractVar[int]

    def pace(self, grid: TimeGrid) -> Pace:
        """Return the control steps on a grid."""
        return Pace(grid, self.control_steps)

    @property
    def versions(self) -> Sequence["AbstractTilt"]:
        """The laws that make a ladder."""
        return [self.weakened(0.5), self.weakened(0.75), self]

    @property
    def reference(self) -> float:
        """Share of a ladder's paths that the reference law draws: its inverse bounds the weights."""
        return 0.1

    @property
    def share(self) -> float | Float[Array, ""]:
        """How much this law takes part beside the other versions of a tilt."""
        return 1.0

    @property
    @abstractmethod
    def sight(self) -> Hashable | None:
        """What a trace must hold for this law, None if no other tilt's will do.

        Tilts that see alike can be mixed, and so can the weaker versions of any tilt.
        """

    @abstractmethod
    def weakened(self, strength: float) -> "AbstractTilt":
        """Return a law between the reference one and this one, which has strength 1."""

    @abstractmethod
    def draw(self, model: SLiSDE, grid: TimeGrid, noise: Noise) -> TiltedBatch:
        """Return the paths that the noise makes under this law."""

    @abstractmethod
    def watch(self, model: SLiSDE, grid: TimeGrid, noise: Noise) -> tuple[Sample, Trace]:
        """Return the paths that the noise makes under the reference law, and what this law sees of them."""

    @abstractmethod
    def parts(self, seen: Trace) -> list[Part]:
        """Return the controls, each with its noise and features."""


def control_energy(u: Gathered, dt: ControlSteps) -> PerPath:
    """Return ½ Σ ‖u[k]‖² Δt[k]."""
    return 0.5 * jnp.einsum("kcp,k->p", u**2, dt)


def work(u: Gathered, noise: Gathered) -> PerPath:
    """Return Σ u[k]·Δε[k]."""
    return jnp.einsum("kcp,kcp->p", u, noise)
