"""Tilts by state-space controllers: the paper's, and one of all noise (paper: eq:eps-tilt)."""

from enum import StrEnum
from functools import partial

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample
from slisde.girsanov.controller import Controller
from slisde.girsanov.initial import InitialTilt
from slisde.girsanov.law import AbstractTilt, Part, TiltedBatch, control_energy, work
from slisde.girsanov.noise import Noise, drivers_of, own_channels
from slisde.girsanov.pace import Pace, Trace, features_of, trace
from slisde.model.gate import Gate
from slisde.model.interface import AbstractPathModel
from slisde.model.readout import LinearReadout
from slisde.model.stack import SLiSDE
from slisde.shapes import Increments, LatentPaths, StepSizes

CONTROL_STEPS = 64
"""How often the control changes up to the horizon, unless the grid has fewer steps."""
KNOTS = (0.0, 0.25, 0.5, 0.75, 0.875, 0.9375, 0.96875, 0.984375)
"""Where the control of the whole noise may bend, as shares of the time to the event: noise shortly
before it was seen to matter most."""


class Driver(StrEnum):
    """Which noise is tilted beside the initial state.

    `guided` tilts all of it by feedback from the states, the others by controllers of their own.
    """

    LAST = "last"
    ALL = "all"
    GUIDED = "guided"


class Tilt(AbstractTilt):
    """A tilt by controls that are recurrences of their own.

    A control of the prefix driver does not see the prefix path, only one of the own channels does. So
    every recurrence stays affine given what was drawn.
    """

    initial: InitialTilt
    control_steps: int = eqx.field(static=True)
    prefix: Controller | None
    own: Controller | None

    def weakened(self, strength: float) -> "Tilt":
        return Tilt(
            self.initial.weakened(strength),
            self.control_steps,
            None if self.prefix is None else self.prefix.weakened(strength),
            None if self.own is None else self.own.weakened(strength),
        )

    @property
    def sight(self) -> tuple[int, bool]:
        return self.control_steps, self.reads_prefix

    @property
    def reads_prefix(self) -> bool:
        """Whether the prefix path is needed before the last layer can be driven."""
        return self.own is not None and self.own.prefix is not None

    def draw(self, model: SLiSDE, grid: TimeGrid, noise: Noise) -> TiltedBatch:
        # Each layer is evaluated once; the weights of the model get no gradient through the log-ratio.
        pace = self.pace(grid)
        drawn = trace(pace, noise, None)
        initial = self.initial.push(noise.initial)
        log_ratio = self.initial.log_ratio(initial)
        prefix, own, before = noise.prefix, noise.own, None
        if self.prefix is not None:
            u = self.prefix.of_drawn(pace, drawn.prefix, None)
            log_ratio = log_ratio + work(u, drawn.prefix) + control_energy(u, pace.dt)
            prefix = _shifted(pace, prefix, u, grid.dt)
        if self.reads_prefix:
            before = model.prefix_path(grid, initial, prefix)
            features = features_of(pace, jax.lax.stop_gradient(before))
            drawn = eqx.tree_at(lambda t: t.features, drawn, features, is_leaf=lambda x: x is None)
        if self.own is not None and own is not None and drawn.own is not None:
            u = self.own.of_drawn(pace, drawn.own, drawn.features)
            log_ratio = log_ratio + work(u, drawn.own) + control_energy(u, pace.dt)
            own = _shifted(pace, own, u, grid.dt)
        path = Noise(initial, prefix, own)
        sample = _sample_path(model, grid, path, before)
        return TiltedBatch(sample, drawn, trace(pace, path, drawn.features), log_ratio)

    def watch(self, model: SLiSDE, grid: TimeGrid, noise: Noise) -> tuple[Sample, Trace]:
        pace = self.pace(grid)
        prefix = model.prefix_path(grid, noise.initial, noise.prefix) if self.reads_prefix else None
        features = None if prefix is None else features_of(pace, prefix)
        return _sample_path(model, grid, noise, prefix), trace(pace, noise, features)

    def parts(self, seen: Trace) -> list[Part]:
        parts: list[Part] = []
        if self.prefix is not None:
            parts.append(Part(self.prefix, seen.prefix, None))
        if self.own is not None and seen.own is not None:
            parts.append(Part(self.own, seen.own, seen.features))
        return parts


def make_tilt(
    model: SLiSDE,
    *,
    driver: Driver = Driver.LAST,
    covariance: bool = False,
    until: float = 1.0,
    states: int = 4,
    control_steps: int = CONTROL_STEPS,
    key: PRNGKeyArray,
) -> Tilt:
    """Return an untrained tilt, which is the reference law itself.

    Args:
        model: whose noise is tilted.
        driver: `last` tilts the last layer's innovation by the paper's controller, `all` every
            channel by controls that vary in time; for `guided` there is `make_guided`.
        covariance: whether the scales of the initial state are learned, too.
        until: share of the horizon at which the event is decided.
        states: states of the controllers.
        control_steps: how often the control changes.
        key: random key of the controllers' weights.
    """
    if driver is Driver.GUIDED:
        raise ArgumentError(
            "driver", driver.value, "must be last or all", "a guide is made by `make_guided`"
        )
    own, prefix_key, own_key = own_channels(model), *jax.random.split(key)
    gated = len(model.layers) > 1 and all(isinstance(each, Gate) for each in model.couplings)
    initial = InitialTilt(model.latent, covariance=covariance)
    if driver is Driver.LAST:
        if model.rho is None:
            raise ArgumentError(
                "driver", driver.value, "must be all where `rho` is None", "no innovation is there"
            )
        controller = Controller(
            own,
            model.latent,
            states=states,
            until=until,
            from_noise=True,
            from_prefix=gated,
            key=own_key,
        )
        return Tilt(initial, control_steps, None, controller)
    shared = partial(
        Controller,
        latent=model.latent,
        states=states,
        knots=tuple(until * knot for knot in KNOTS),
        until=until,
    )
    return Tilt(
        initial,
        control_steps,
        shared(model.noise, key=prefix_key),
        shared(own, from_prefix=gated, key=own_key) if own else None,
    )


def check_tiltable(model: AbstractPathModel) -> SLiSDE:
    """Return the model if its noise can be tilted, or say why not."""
    if not isinstance(model, SLiSDE):
        raise ArgumentError(
            "model", type(model).__name__, "must be an SLiSDE", "only its noise can be tilted"
        )
    if isinstance(model.readout, LinearReadout) and model.readout.normalised:
        raise ArgumentError(
            "readout",
            "normalised",
            "must not look at the batch",
            "the mean of a tilted batch is another one",
        )
    return model


def _sample_path(model: SLiSDE, grid: TimeGrid, path: Noise, prefix: LatentPaths | None) -> Sample:
    """Return the observed paths of given noise, the layers before the last evaluated already or not."""
    drivers = drivers_of(model, path)
    if prefix is None:
        return model.sample(grid, drivers)
    return model.sample_last(grid, drivers, prefix)


def _shifted(
    pace: Pace, noise: Increments, u: Float[Array, "control_step noise path"], dt: StepSizes
) -> Increments:
    """Return Δε^P = Δε^Q + u Δt on the grid."""
    return noise + pace.held(u) * dt[:, None, None]
