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

from slisde.flow.grid import TimeGrid
from slisde.girsanov.course import Course, TiltSettings
from slisde.girsanov.event import Event
from slisde.girsanov.initial import PerPath
from slisde.girsanov.law import AbstractTilt
from slisde.girsanov.log_ratio import log_ratio_score
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.objective import Wall, cross_entropy, penalty
from slisde.girsanov.pace import Trace
from slisde.girsanov.pool import Pool, reachable_level
from slisde.model.stack import SLiSDE

MARGIN = 2.0
"""Nats that the wall leaves above −log p, which the conditional law of the event needs."""
BATCH = 256
"""Paths that a gradient step sees."""
RESAMPLING = 2**32 - 5
"""Folded into a round's key for the choice of these paths."""
TINY = 1e-30


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
        level = _level(pool, settings, approached=len(rounds) - done)
        if level is None:
            break
        inside = batch.excess >= level
        probability = float(jnp.mean(jnp.where(inside, jnp.exp(-batch.log_ratio), 0.0)))
        wall = Wall(settings.kl_weight, MARGIN - math.log(min(1.0, max(probability, TINY))))
        course = Course(settings, done)
        target = _target(tilt, grid, pool, jnp.asarray(level), settings.log_clip, course.polishing)
        rate, clip = jnp.asarray(course.rate), jnp.asarray(course.clip)
        tilt, kl = _improve(
            tilt, grid, pool, noise, target, wall, rate, clip, settings.updates, draw
        )
        seen = Round(
            level, float(jnp.mean(inside)), probability, float(jnp.max(batch.excess)), float(kl)
        )
        rounds.append(seen)
        if report is not None:
            report(seen)
        if level == 0.0:
            done += 1
            average = _averaged(average, tilt, course.averaged)
    return TrainedTilt(
        tilt if average is None else average,
        done == settings.rounds + settings.polish,
        rounds,
        len(rounds) * settings.paths,
    )


def _level(pool: Pool, settings: TiltSettings, approached: int) -> float | None:
    """Return the level to train for, None where the event stays out of reach.

    Args:
        pool: all that was seen.
        settings: how the tilt is trained.
        approached: rounds so far that were not at the event itself.
    """
    if approached < settings.approach:
        return reachable_level(np.asarray(pool.excess), np.asarray(pool.log_ratio), settings.enough)
    return (
        0.0 if float(jnp.max(pool.excess)) >= 0.0 else None
    )  # what few paths there are have to do


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


def _averaged(average: AbstractTilt | None, tilt: AbstractTilt, count: int) -> AbstractTilt | None:
    """Return the mean of `count` tilts, all but the last being in `average`."""
    if count <= 1:
        return tilt if count == 1 else None
    return jax.tree.map(lambda mean, new: mean + (new - mean) / count, average, tilt)
