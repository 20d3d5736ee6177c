"""A tilt by feedback from the states of all layers (see `slisde.girsanov.guide`)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample
from slisde.girsanov.event import Event
from slisde.girsanov.growth import DEVIATIONS, Growth
from slisde.girsanov.guide import Guide, Quantity, Steering
from slisde.girsanov.initial import InitialTilt
from slisde.girsanov.law import AbstractTilt, Part, TiltedBatch, control_energy, work
from slisde.girsanov.noise import Noise
from slisde.girsanov.pace import Gathered, Pace, Trace, trace
from slisde.girsanov.walk import OTHER_FEATURES, Walked, check_walkable, walk
from slisde.model.martingale import MartingaleReadout
from slisde.model.stack import SLiSDE

GUIDED_STEPS = 32
"""How often the control changes, unless the grid has fewer steps: each change costs a step in plain JAX."""
SMALLEST = 1e-30


class GuidedTilt(AbstractTilt):
    """All noise controlled by what is expected of the watched quantity; see `slisde.girsanov.guide`.

    Paths are drawn control step by control step, which the feedback needs; inside of one every layer
    is evaluated as ever.
    """

    initial: InitialTilt
    control_steps: int = eqx.field(static=True)
    steering: Steering
    growth: Growth

    @property
    def versions(self) -> list["GuidedTilt"]:
        # The weakest begins like plain paths, which some ways into an event need, and is steered only later. Where
        # the event is far, growth takes the place of the two that are weakest.
        weakest = [
            self.weakened(strength)._sharing(1.0 - self.growth.share) for strength in (0.0, 0.5)
        ]
        growth = [self._grown(level) for level in range(len(DEVIATIONS))]
        return [*weakest, self.weakened(0.75), self, *growth]

    @property
    def reference(self) -> float:
        # Ways into an event that the guide does not see are left to this share, and come with its inverse as weight.
        return 0.3

    @property
    def share(self) -> Float[Array, ""]:
        return self.steering.share

    @property
    def sight(self) -> None:
        return None  # a trace holds what this guide expects

    def weakened(self, strength: float) -> "GuidedTilt":
        return self._following(self.steering.weakened(strength), self.initial.weakened(strength))

    def aimed_at(self, threshold: Float[Array, ""]) -> "GuidedTilt":
        """Return the tilt for another threshold in the units of the guide, between the mean of X and its own."""
        whole = self.steering.threshold - self.steering.centre
        share = jnp.clip((threshold - self.steering.centre) / whole, 0.0, 1.0)
        steering = eqx.tree_at(
            lambda steering: steering.threshold, self.steering, self.steering.centre + share * whole
        )
        return self._following(steering, self.initial.weakened(share))

    def _following(self, steering: Steering, initial: InitialTilt) -> "GuidedTilt":
        return GuidedTilt(initial, self.control_steps, steering, self.growth)

    def _sharing(self, share: Float[Array, ""]) -> "GuidedTilt":
        return eqx.tree_at(lambda tilt: tilt.steering.share, self, share)

    def _grown(self, level: int) -> "GuidedTilt":
        """Return the law that makes the last state grow."""
        steering = Steering(
            self.steering.guide,
            self.growth.thresholds[level],
            above=True,
            until=self.steering.until,
            centre=self.growth.centre,
            quantity=Quantity.SIZE,
            share=self.growth.share,
        )
        initial = eqx.tree_at(lambda tilt: tilt.shift, self.initial, self.growth.shifts[level])
        return self._following(steering, initial)

    def draw(self, model: SLiSDE, grid: TimeGrid, noise: Noise) -> TiltedBatch:
        pace = self.pace(grid)
        initial = self.initial.push(noise.initial)
        walked = self._walk(
            model, grid, pace, Noise(initial, noise.prefix, noise.own), controlled=True
        )
        drawn = trace(pace, noise, walked.records)
        u, increments = self.steering(pace, walked.records), _all_channels(drawn)
        log_ratio = self.initial.log_ratio(initial) + work(u, increments)
        return TiltedBatch(
            walked.sample,
            drawn,
            trace(pace, walked.path, walked.records),
            log_ratio + control_energy(u, pace.dt),
        )

    def watch(self, model: SLiSDE, grid: TimeGrid, noise: Noise) -> tuple[Sample, Trace]:
        walked = self.outlook(model, grid, noise)
        return walked.sample, trace(self.pace(grid), noise, walked.records)

    def outlook(self, model: SLiSDE, grid: TimeGrid, noise: Noise) -> Walked:
        """Return plain paths, with what is expected at each control step as records."""
        return self._walk(model, grid, self.pace(grid), noise, controlled=False)

    def parts(self, seen: Trace) -> list[Part]:
        return [Part(self.steering, _all_channels(seen), seen.features)]

    def _walk(
        self, model: SLiSDE, grid: TimeGrid, pace: Pace, noise: Noise, *, controlled: bool
    ) -> Walked:
        """Return the paths, with the outlook of each control step as records."""

        def control(index, place, slope):
            outlook = self.steering.guide.outlook(index, place, slope)
            return self.steering.at(pace, index, outlook) if controlled else None, outlook

        return walk(model, grid, pace, noise, control)


def make_guided(
    model: SLiSDE,
    grid: TimeGrid,
    event: Event,
    *,
    control_steps: int = GUIDED_STEPS,
) -> GuidedTilt:
    """Return a tilt whose guide is not fitted yet, which is the reference law itself.

    Args:
        model: gated, with one observed value.
        grid: the time grid.
        event: with a quantity that is watched.
        control_steps: how often the control changes.
    """
    check_walkable(model)
    if event.watched is None:
        raise ArgumentError(
            "event", "a payoff", "must watch a quantity", "a guide says what is expected of it"
        )
    pace = Pace(grid, control_steps)
    features = len(model.layers) * model.latent + OTHER_FEATURES
    guide = Guide(pace, features)
    threshold = scaled(model, event.threshold)
    until = min(1.0, event.maturity / float(grid.times[-1]))
    return GuidedTilt(
        InitialTilt(model.latent),
        control_steps,
        Steering(guide, float(threshold), above=event.above, until=until),
        Growth.none(model.latent),
    )


def scaled(model: SLiSDE, outcome: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return the outcome in the units of a guide: logarithms where paths are martingales."""
    if isinstance(model.readout, MartingaleReadout):
        return jnp.log(jnp.maximum(outcome, SMALLEST))
    return outcome


def _all_channels(seen: Trace) -> Gathered:
    return seen.prefix if seen.own is None else jnp.concatenate([seen.prefix, seen.own], axis=1)
