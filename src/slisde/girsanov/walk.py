"""A stack advanced from one control step to the next, so that a control may depend on where it is.

Inside a control step the control is held and every layer is affine in its own state, as ever.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from slisde.errors import ArgumentError
from slisde.flow.evaluate import Evaluation
from slisde.flow.gating import Norm, normalise
from slisde.flow.grid import TimeGrid
from slisde.flow.linear import advance
from slisde.flow.mixture import Sample
from slisde.flow.scan import scan_chunks
from slisde.girsanov.initial import PerPath
from slisde.girsanov.noise import Noise, drivers_of
from slisde.girsanov.pace import FEATURE_EPSILON, Pace
from slisde.model.gate import Gate
from slisde.model.horizon import LayerOnGrid, Values, advance_stack, by_step, piece_of
from slisde.model.martingale import MartingaleReadout
from slisde.model.residual import ResidualDriver
from slisde.model.stack import Drivers, SLiSDE
from slisde.shapes import LatentState, StepSizes

Channels: TypeAlias = Float[Array, "channel path"]
"""One number for each channel of noise, the prefix driver's first."""


class Place(eqx.Module):
    """Where the paths of a batch are.

    Attributes:
        states: of all layers.
        position: what the observed value has gained since the start, or its logarithm where it is
            a martingale.
    """

    states: list[LatentState]
    position: PerPath

    def features(self) -> Float[Array, "feature path"]:
        """Return all of it as one array, the states before the last as gates see them.

        Such a state may grow without bound along a path, only its direction matters to the next layer. The
        mean square of the last state and its logarithm come last: noise that multiplies a state makes wild
        what is large.
        """
        *prefix, last = self.states
        seen = [normalise(state, Norm.RMS, FEATURE_EPSILON) for state in prefix]
        size = jnp.mean(last**2, axis=0)
        further = jnp.stack([self.position, size, jnp.log(size + FEATURE_EPSILON)])
        return jnp.concatenate([*seen, last, further])


OTHER_FEATURES = 3
"""Those beside the states."""

Slope: TypeAlias = Callable[[Float[Array, " feature"]], Channels]
"""What a unit of noise in each channel adds to a linear function of the features, to first order."""
Control: TypeAlias = Callable[[Int[Array, ""], Place, Slope], tuple[Channels | None, Any]]
"""Takes the number of the control step; returns the control, None for none, and what to record."""


class Steps(NamedTuple):
    """Some steps of a stack: what varies along them, ξ of a martingale readout, and their lengths."""

    varying: list[Any]
    level: Float[Array, " step"]
    dt: StepSizes


class Piece(NamedTuple):
    """Some steps of a walk, and what was drawn for them."""

    steps: Steps
    drawn: list[Array]


class Passed(NamedTuple):
    """The read-out states at the ends of some steps, and the noise that drove them."""

    values: Values
    increments: list[Array]


class Walked(NamedTuple):
    """Paths, the noise that drove them, and the records of all control steps."""

    sample: Sample
    path: Noise
    records: Any


def check_walkable(model: SLiSDE) -> None:
    """Raise unless the model's state at a node is all that its future depends on."""
    if any(isinstance(each, ResidualDriver) for each in model.couplings):
        raise ArgumentError(
            "stacking",
            "residual",
            "must be gated",
            "a layer's state does not show the layer before",
        )
    if any(isinstance(each, Gate) and each.convolution is not None for each in model.couplings):
        raise ArgumentError(
            "causal_conv", True, "must be false", "gates look further back than one node"
        )
    if model.readout.kernel.shape[0] != 1 and not isinstance(model.readout, MartingaleReadout):
        raise ArgumentError(
            "out", model.readout.kernel.shape[0], "must be 1", "one observed value is followed"
        )


def walk(model: SLiSDE, grid: TimeGrid, pace: Pace, noise: Noise, control: Control) -> Walked:
    """Return the paths that the noise makes where each control step adds u Δt to it.

    Args:
        model: a model that `check_walkable` accepts.
        grid: the time grid.
        pace: the control steps.
        noise: as drawn; its initial state is where the paths begin.
        control: what to do at the start of each control step.
    """
    walker = Walker(model, grid, noise)

    def control_step(carry, piece):
        index, place = carry
        u, record = control(index, place, walker.slope(place, piece))
        place, passed = walker.advance(place, piece, u)
        return (index + 1, place), (passed, jax.tree.map(lambda x: x[None], record))

    _, (passed, records) = scan_chunks(
        control_step, (jnp.zeros((), int), walker.start), walker.pieces, pace.every
    )
    return Walked(*walker.finished(noise.initial, passed), records)


class Walker:
    """A model on a grid that goes from place to place.

    Args:
        model: a model that `check_walkable` accepts.
        grid: the time grid.
        noise: as drawn; its initial state is where the paths begin.
    """

    def __init__(self, model: SLiSDE, grid: TimeGrid, noise: Noise):
        self._model, self._grid, self._initial = model, grid, noise.initial
        self._stack = model.on_grid(grid, drivers_of(model, noise))
        self._drawn = [noise.prefix] if noise.own is None else [noise.prefix, noise.own]

    @property
    def start(self) -> Place:
        """Where the paths begin."""
        states = [self._model.started(self._initial)] * len(self._stack)
        return Place(states, jnp.zeros_like(self._initial[0]))

    @property
    def pieces(self) -> Piece:
        """All steps of the grid."""
        readout = self._model.readout
        martingale = isinstance(readout, MartingaleReadout)
        level = readout.level(self._grid) if martingale else jnp.ones(self._grid.steps)
        return Piece(Steps(by_step(self._stack), level, self._grid.dt), self._drawn)

    def slope(self, place: Place, piece: Piece) -> Slope:
        """Return the slopes of features after one step in its noise, where that is zero."""
        first, drawn = jax.tree.map(lambda x: x[:1], piece)
        features, pull = jax.vjp(
            lambda noise: self._after(place, first, self._drivers(place, noise)).features(),
            jax.tree.map(jnp.zeros_like, drawn),
        )

        def slope(weights):
            (slopes,) = pull(jnp.broadcast_to(weights[:, None], features.shape))
            return jnp.concatenate([each[0] for each in slopes])

        return slope

    def advance(self, place: Place, piece: Piece, u: Channels | None) -> tuple[Place, Passed]:
        """Return the place after some steps under a control, and what was passed."""
        steps, drawn = piece
        if u is not None:
            drawn = _shifted(drawn, u, steps.dt)
        drivers = self._drivers(place, drawn)
        states, values = advance_stack(
            self._driven(steps, drivers), place.states, self._model.readout.kernel, Evaluation.AUTO
        )
        place = Place(states, place.position + self._gained(values, steps, drivers))
        return place, Passed(values[1:], drawn)

    def finished(self, initial: LatentState, passed: Passed) -> tuple[Sample, Noise]:
        """Return the observed paths, and all noise that drove them."""
        model = self._model
        first = jnp.einsum("od,dp->op", model.readout.kernel, model.started(initial))
        path = _noise(initial, passed.increments)
        values = jnp.concatenate([first[None], passed.values])
        return model.read(self._grid, drivers_of(model, path), values), path

    def _after(self, place: Place, step: Steps, drivers: Drivers) -> Place:
        """Return the place after one step, in plain JAX.

        Kernels would give the derivatives of all coefficients, too.
        """
        states, before = [], None
        for layer, state in zip(self._driven(step, drivers), place.states, strict=True):
            flow, gate = layer.given(None if before is None else jnp.stack([before, before]))
            gates = None if gate is None else gate.gates()
            only = jax.tree.map(lambda x: x[0], flow.per_step(gates))
            states.append(advance(flow.transition, only, state))
            before = state
        ends = jnp.stack([place.states[-1], states[-1]])
        values = jnp.einsum("od,kdp->kop", self._model.readout.kernel, ends)
        return Place(states, place.position + self._gained(values, step, drivers))

    def _driven(self, steps: Steps, drivers: Drivers) -> list[LayerOnGrid]:
        """Return the stack on some steps, with other drivers."""
        by_layer = [drivers.prefix] * (len(self._stack) - 1) + [drivers.last]
        return [
            layer._replace(flow=layer.flow.driven_by(driver))
            for layer, driver in zip(piece_of(self._stack, steps.varying), by_layer, strict=True)
        ]

    def _gained(self, values: Values, steps: Steps, drivers: Drivers) -> PerPath:
        """Return what the position gains between the first and the last of the nodes."""
        readout = self._model.readout
        if not isinstance(readout, MartingaleReadout):
            return values[-1, 0] - values[0, 0]
        returns = readout.returns(values[:-1], steps.level, steps.dt, drivers.last, drivers.mixing)
        return jnp.sum(returns.latent + returns.own, axis=0)

    def _drivers(self, place: Place, increments: list[Array]) -> Drivers:
        return drivers_of(self._model, _noise(place.states[0], increments))


def _noise(initial: LatentState, increments: list[Array]) -> Noise:
    return Noise(initial, increments[0], increments[1] if len(increments) > 1 else None)


def _shifted(increments: list[Array], u: Channels, dt: Float[Array, " step"]) -> list[Array]:
    """Return Δε^P = Δε^Q + u Δt."""
    ends = [sum(each.shape[1] for each in increments[: i + 1]) for i in range(len(increments))]
    parts = jnp.split(u, ends[:-1])
    return [
        each + part[None] * dt[:, None, None] for each, part in zip(increments, parts, strict=True)
    ]
