"""Paths of a rare event: drawn under a proposal in batches, with what they say of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from slisde.flow.grid import TimeGrid
from slisde.girsanov.branching import Branched, guided_laws, sample_branching
from slisde.girsanov.coverage import coverage, nearest_level
from slisde.girsanov.diagnosis import Diagnosis, diagnose
from slisde.girsanov.event import Event
from slisde.girsanov.guided import scaled
from slisde.girsanov.law import AbstractTilt
from slisde.girsanov.log_ratio import divergence
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.proposal import (
    Proposal,
    WeightedBatch,
    sample_proposal,
    weigh_plain_paths,
)
from slisde.model.stack import SLiSDE

BATCH = 2048
BRANCHING = 1024
"""Paths of a batch that branches; there are at least `LEAST_BATCHES` of them for the error."""
LEAST_BATCHES = 8
JUDGED = 0.1
"""Share of plain paths with which the coverage of a guided tilt is judged."""


@dataclass(frozen=True)
class Asked:
    """A question: the event, in words and as such, and the law that it is asked of."""

    text: str
    event: Event
    model: SLiSDE
    grid: TimeGrid


@dataclass(frozen=True)
class Drawn:
    """Paths of a proposal: the estimate, the largest excess, and how much of the event it goes to."""

    diagnosis: Diagnosis
    nearest: float
    coverage: float


def sampled(asked: Asked, proposal: Proposal, paths: int, key: PRNGKeyArray) -> Drawn:
    """Return what independent paths of a proposal say, drawn in batches."""
    batches = math.ceil(paths / BATCH)
    size = math.ceil(paths / batches)
    values, log_weights, excess = _batches(sample_proposal, asked, proposal, size, batches, key)
    origin = np.tile(proposal.origin(size), batches)
    return Drawn(
        diagnose(values, log_weights, origin),
        float(excess.max()),
        1.0 if asked.event.watched is None else coverage(excess, log_weights, origin),
    )


def branched(asked: Asked, proposal: Proposal, paths: int, key: PRNGKeyArray) -> Drawn:
    """Return what branching paths of a proposal say, from independent batches."""
    batches = max(LEAST_BATCHES, math.ceil(paths / BRANCHING))
    size = math.ceil(paths / batches)
    values, log_weights, excess = _batches(sample_branching, asked, proposal, size, batches, key)
    return Drawn(
        diagnose(values, log_weights, batches=batches),
        float(excess.max()),
        _guided_coverage(asked, proposal, jax.random.fold_in(key, batches)),
    )


def _guided_coverage(asked: Asked, proposal: Proposal, key: PRNGKeyArray) -> float:
    """Return how far the proposal would go to the plain paths nearest to the event, if these were in it.

    A guided tilt goes to its event and not beside it, so that it is aimed at them first. It is judged with few
    plain paths: with its own share of them no path could be neglected.
    """
    tilt, _ = guided_laws(proposal)
    _, _, excess = _batches(weigh_plain_paths, asked, proposal, BATCH, 1, key)
    sign = 1.0 if asked.event.above else -1.0
    threshold = asked.event.threshold + sign * nearest_level(excess)
    aimed = Proposal.ladder(tilt.aimed_at(scaled(asked.model, threshold)), JUDGED)
    _, log_weights, excess = _batches(weigh_plain_paths, asked, aimed, BATCH, 1, key)
    return coverage(excess, log_weights, np.zeros(BATCH, int))


def _batches(
    sample: Callable[..., WeightedBatch | Branched],
    asked: Asked,
    proposal: Proposal,
    size: int,
    batches: int,
    key: PRNGKeyArray,
) -> list[np.ndarray]:
    """Return values, log-weights and excesses of all paths, batch after batch."""
    keys = [jax.random.fold_in(key, index) for index in range(batches)]
    parts = [
        _batch(sample, proposal, asked.model, asked.grid, asked.event, size, each) for each in keys
    ]
    return [np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(3)]


@eqx.filter_jit
def _batch(
    sample: Callable[..., WeightedBatch | Branched],
    proposal: Proposal,
    model: SLiSDE,
    grid: TimeGrid,
    event: Event,
    paths: int,
    key: PRNGKeyArray,
):
    batch = sample(proposal, model, grid, paths, key=key)
    times = jnp.asarray(grid.times)
    return event.values(batch.sample, times), batch.log_weights, event.excess(batch.sample, times)


@eqx.filter_jit
def tilt_divergence(tilt: AbstractTilt, model: SLiSDE, grid: TimeGrid, key: PRNGKeyArray):
    """Return KL(Q ‖ P) of a tilt, from one batch."""
    noise = draw_noise(model, grid, BATCH, key=key)
    return divergence(tilt, tilt.pace(grid), tilt.draw(model, grid, noise).noise)
