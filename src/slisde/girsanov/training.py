"""Training of a tilt, from events that are easy to the one that is meant (paper: app:kl-regulariser).

A round draws paths under the tilt as it is, and takes some steps on the cross-entropy of these and of
the rounds before, each path weighted by the law that drew it. The error of an estimate depends on the
average of the tilt's own weight w = dP/dQ over the event, which the cross-entropy does not see. So the last
rounds lower E[(w |G|)^a |G|] under the model's law: the gradient is that of a cross-entropy whose target has
one more factor (w |G|)^a, and the paths that the tilt has left behind count more.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.girsanov.event import Event
from slisde.girsanov.initial import PerPath
from slisde.girsanov.law import AbstractTilt
from slisde.girsanov.log_ratio import log_ratio_score
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.objective import Wall, cross_entropy, penalty, target_weights
from slisde.girsanov.pace import Trace
from slisde.model.stack import SLiSDE

EMPHASIS = 0.5
"""a, between the cross-entropy at 0 and the second moment at 1, which was seen to follow single paths."""
POLISHING_CLIP = 0.2
"""Share of the gradient's bound that is left for it: single paths may dominate there."""
MARGIN = 2.0
"""Nats that the wall leaves above −log p, which the conditional law of the event needs."""
BATCH = 256
"""Paths that a gradient step sees."""
RESAMPLING = 2**32 - 5
"""Folded into a round's key for the choice of these paths."""
TINY = 1e-30


@dataclass(frozen=True)
class TiltSettings:
    """How a tilt is trained.

    Attributes:
        paths: fresh paths per round.
        enough: effective paths that there must be in the event of a round.
        approach: most rounds before the event itself; then it is trained for if any path reached it.
        rounds: rounds at the event itself on the cross-entropy.
        polish: rounds after them on the tilt's own weights.
        updates: gradient steps per round.
        memory: rounds whose paths are used, each with the weights of the law that drew it.
        learning_rate: of plain steps, which are natural ones for the level and the initial state; it
            falls to a tenth over the rounds at the event, and again over those after them. The tilts of
            the last half of either are averaged.
        clip: bound of the gradient's norm on the cross-entropy; a fifth of it after that.
        kl_weight: λ of the wall.
        log_clip: bound of the target's log-weights about their mean.
    """

    paths: int = 1024
    enough: float = 200.0
    approach: int = 30
    rounds: int = 32
    polish: int = 32
    updates: int = 8
    memory: int = 16
    learning_rate: float = 0.1
    clip: float = 5.0
    kl_weight: float = 1e-4
    log_clip: float = 5.0

    def __post_init__(self):
        for name in ("paths", "rounds", "updates", "memory"):
            if getattr(self, name) < 1:
                raise ArgumentError(
                    name, getattr(self, name), "must be at least 1", "it is a count"
                )
        if self.polish < 0:
            raise ArgumentError("polish", self.polish, "must not be negative", "it is a count")
        if not 1.0 <= self.enough <= self.paths:
            raise ArgumentError(
                "enough", self.enough, "must be in [1, paths]", "the first round has no more"
            )

    def rate(self, progress: float) -> float:
        """Return the learning rate where a share of the rounds on an objective is done."""
        falling = 0.5 * (1.0 + math.cos(math.pi * progress))
        return self.learning_rate * (0.1 + 0.9 * falling)


class Pool(eqx.Module):
    """Paths of the last rounds, the oldest replaced first.

    Attributes:
        seen: their traces.
        excess: how far inside the event they are; −∞ where there is no path yet.
        magnitude: |G|.
        log_ratio: log dQ/dP of the law that drew them.
    """

    seen: Trace
    excess: PerPath
    magnitude: PerPath
    log_ratio: PerPath

    @classmethod
    def like(cls, batch: "Pool", rounds: int) -> "Pool":
        """Return an empty pool for as many batches."""
        empty = jax.tree.map(
            lambda leaf: jnp.zeros((*leaf.shape[:-1], rounds * leaf.shape[-1])), batch
        )
        return eqx.tree_at(lambda pool: pool.excess, empty, jnp.full_like(empty.excess, -jnp.inf))

    def with_batch(self, batch: "Pool", slot: Int[Array, ""]) -> "Pool":
        """Return the pool with a batch in the place of another one."""

        def put(old, new):
            return jax.lax.dynamic_update_slice_in_dim(old, new, slot * new.shape[-1], axis=-1)

        return jax.tree.map(put, self, batch)

    def target(self, level: Float[Array, ""], clip: float) -> PerPath:
        """Return w̄* of the event at a level, |G| counting at the event itself."""
        magnitude = jnp.where(level < 0.0, 1.0, self.magnitude)
        inside = jnp.where(self.excess >= level, magnitude, 0.0)
        return target_weights(inside, self.log_ratio, clip=clip)

    def emphasised(self, own: PerPath) -> PerPath:
        """Return w̄* of the event itself with one more factor of the tilt's own weights.

        Nothing is clipped: the largest weights are what is to be lowered.

        Args:
            own: log dQ/dP of the tilt.
        """
        inside = jnp.where(self.excess >= 0.0, self.magnitude ** (1.0 + EMPHASIS), 0.0)
        return target_weights(inside, self.log_ratio + EMPHASIS * own, clip=None)


@dataclass(frozen=True)
class Round:
    """What one round saw.

    Attributes:
        level: how far outside the event its own was; 0 is the event itself.
        share: share of its paths in its event.
        probability: of that event, by its weighted paths.
        nearest: the largest excess that was seen.
        kl: divergence of the tilt after it.
    """

    level: float
    share: float
    probability: float
    nearest: float
    kl: float


@dataclass(frozen=True)
class TrainedTilt:
    """A tilt and how it got there; `reached` is false where the event never was."""

    tilt: AbstractTilt
    reached: bool
    rounds: list[Round]
    paths: int


@dataclass(frozen=True)
class _Course:
    """Where training is: how many rounds at the event itself are done."""

    settings: TiltSettings
    done: int

    @property
    def polishing(self) -> bool:
        """Whether the rounds on the cross-entropy are over."""
        return self.done >= self.settings.rounds

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.settings.rate(self._since / self._length)

    @property
    def clip(self) -> float:
        """The bound of the gradient's norm."""
        return self.settings.clip * (POLISHING_CLIP if self.polishing else 1.0)

    @property
    def averaged(self) -> int:
        """How many tilts there are to average after this round, none in the first half of an objective's."""
        return max(0, self._since + 1 - self._length // 2)

    @property
    def _since(self) -> int:
        return self.done - self.settings.rounds if self.polishing else self.done

    @property
    def _length(self) -> int:
        return self.settings.polish if self.polishing else self.settings.rounds


def train_tilt(
    tilt: AbstractTilt,
    model: SLiSDE,
    grid: TimeGrid,
    event: Event,
    settings: TiltSettings | None = None,
    *,
    report: Callable[[Round], None] | None = None,
    key: PRNGKeyArray,
) -> TrainedTilt:
    """Return the tilt trained for an event, in stages from what its paths reach already.

    Args:
        tilt: where to begin; untrained, or trained for an easier event.
        model: the fitted model.
        grid: the time grid.
        event: the rare event or payoff.
        settings: how it is trained.
        report: called after each round.
        key: random key; round k draws from `fold_in(key, k)`.
    """
    settings = TiltSettings() if settings is None else settings
    rounds: list[Round] = []
    pool, average, done = None, None, 0
    while done < settings.rounds + settings.polish:
        draw = jax.random.fold_in(key, len(rounds))
        batch, noise = _draw(tilt, model, grid, event, settings.paths, draw)
        pool = Pool.like(batch, settings.memory) if pool is None else pool
        pool = _remember(pool, batch, jnp.asarray(len(rounds) % settings.memory))
        excess = np.asarray(pool.excess)
        level = reachable_level(excess, np.asarray(pool.log_ratio), settings.enough)
        if len(rounds) - done >= settings.approach:
            if excess.max() < 0.0:
                break
            level = 0.0  # what few paths there are have to do
        inside = batch.excess >= level
        probability = float(jnp.mean(jnp.where(inside, jnp.exp(-batch.log_ratio), 0.0)))
        wall = Wall(settings.kl_weight, MARGIN - math.log(min(1.0, max(probability, TINY))))
        course = _Course(settings, done)
        target = _target(tilt, grid, pool, jnp.asarray(level), settings.log_clip, course.polishing)
        tilt, kl = _improve(
            tilt,
            grid,
            pool,
            noise,
            target,
            wall,
            jnp.asarray(course.rate),
            jnp.asarray(course.clip),
            settings.updates,
            draw,
        )
        seen = Round(
            level, float(jnp.mean(inside)), probability, float(jnp.max(batch.excess)), float(kl)
        )
        rounds.append(seen)
        if report is not None:
            report(seen)
        if level == 0.0:
            done += 1
            count = course.averaged
            average = _averaged(average, tilt, count) if count > 0 else None
    return TrainedTilt(
        tilt if average is None else average,
        done == settings.rounds + settings.polish,
        rounds,
        len(rounds) * settings.paths,
    )


def reachable_level(
    excess: Float[np.ndarray, " path"], log_ratio: Float[np.ndarray, " path"], enough: float
) -> float:
    """Return the highest level with enough effective paths above it, at most 0.

    Where no level has enough of them it is the one that has most.
    """
    known = np.isfinite(excess)
    order = np.argsort(-excess[known], kind="stable")
    weights = np.exp(log_ratio[known].min() - log_ratio[known][order].astype(np.float64))
    sizes = np.cumsum(weights) ** 2 / np.maximum(np.cumsum(weights**2), TINY)
    levels = excess[known][order]
    reached = np.flatnonzero(sizes >= enough)
    index = reached[0] if reached.size else int(np.argmax(sizes))
    return min(0.0, float(levels[index]))


@eqx.filter_jit
def _draw(
    tilt: AbstractTilt, model: SLiSDE, grid: TimeGrid, event: Event, paths: int, key: PRNGKeyArray
) -> tuple[Pool, Trace]:
    """Return a batch under the tilt, and what was drawn for it."""
    batch = tilt.draw(model, grid, draw_noise(model, grid, paths, key=key))
    times = jnp.asarray(grid.times)
    excess = event.excess(batch.sample, times)
    magnitude = jnp.abs(event.values(batch.sample, times))
    return Pool(batch.path, excess, magnitude, batch.log_ratio), batch.noise


@eqx.filter_jit
def _remember(pool: Pool, batch: Pool, slot: Int[Array, ""]) -> Pool:
    return pool.with_batch(batch, slot)


@eqx.filter_jit
def _target(
    tilt: AbstractTilt,
    grid: TimeGrid,
    pool: Pool,
    level: Float[Array, ""],
    clip: float,
    polishing: bool,
) -> PerPath:
    if polishing:
        return pool.emphasised(log_ratio_score(tilt, tilt.pace(grid), pool.seen))
    return pool.target(level, clip)


@eqx.filter_jit
def _improve(
    tilt: AbstractTilt,
    grid: TimeGrid,
    pool: Pool,
    noise: Trace,
    target: PerPath,
    wall: Wall,
    rate: Float[Array, ""],
    clip: Float[Array, ""],
    updates: int,
    key: PRNGKeyArray,
) -> tuple[AbstractTilt, Float[Array, ""]]:
    """Return the tilt after some steps, and its divergence.

    Each step sees paths that are drawn from the pool by their target weights, so that all count alike.
    """
    pace = tilt.pace(grid)
    weights, static = eqx.partition(tilt, eqx.is_inexact_array)
    cumulative = jnp.cumsum(target)
    alike = jnp.full(BATCH, 1.0 / BATCH)
    drawn = _take(noise, slice(0, BATCH))

    def loss(weights, chosen):
        tilt = eqx.combine(weights, static)
        barrier, kl = penalty(tilt, pace, drawn, wall)
        return cross_entropy(tilt, pace, _take(pool.seen, chosen), alike) + barrier, kl

    def update(weights, key):
        places = jax.random.uniform(key, (BATCH,), cumulative.dtype, 0.0, cumulative[-1])
        chosen = jnp.searchsorted(cumulative, places)
        gradient, kl = jax.grad(loss, has_aux=True)(weights, chosen)
        size = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
        step = rate * clip / jnp.maximum(size, clip)
        return jax.tree.map(lambda old, slope: old - step * slope, weights, gradient), kl

    keys = jax.random.split(jax.random.fold_in(key, RESAMPLING), updates)
    weights, kl = jax.lax.scan(update, weights, keys)
    tilt = eqx.combine(weights, static)
    return eqx.tree_at(lambda t: t.initial, tilt, tilt.initial.widened()), kl[-1]


def _take(seen: Trace, chosen: slice | Int[Array, " chosen"]) -> Trace:
    return jax.tree.map(lambda leaf: leaf[..., chosen], seen)


def _averaged(average: AbstractTilt | None, tilt: AbstractTilt, count: int) -> AbstractTilt:
    if average is None:
        return tilt
    return jax.tree.map(lambda mean, new: mean + (new - mean) / count, average, tilt)
