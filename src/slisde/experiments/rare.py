"""Rare events of a fitted run: a tilt trained in stages, then an estimate beside plain Monte Carlo."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.experiments.job import FittedRun
from slisde.experiments.rare_event import decided_at, read_event
from slisde.experiments.rare_store import TiltStore
from slisde.experiments.rare_verdict import (
    Verdict,
    certain,
    judge,
    never_paid,
    not_rare,
    unreached,
)
from slisde.flow.grid import TimeGrid
from slisde.girsanov.diagnosis import Diagnosis, diagnose
from slisde.girsanov.event import Event
from slisde.girsanov.log_ratio import divergence
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.proposal import Proposal, sample_proposal
from slisde.girsanov.tilt import Driver, Tilt, check_tiltable, make_tilt, sample_tilted
from slisde.girsanov.training import Round, TiltSettings, train_tilt
from slisde.model.stack import SLiSDE

STREAM = 2**32 - 6
"""Folded into the run's key for rare events."""
BATCH = 2048
REFERENCE = 0.1
"""Share of the paths that the reference law draws: weights are at most its inverse."""
COST = 1.3
"""Plain paths that are drawn for each tilted one, the bound of what a tilted path costs."""
RARE = 0.1
"""Share of plain paths in the event from which on a tilt is not worth its training."""
QUANTILE = 1.96


@dataclass(frozen=True)
class Rare:
    """What is known of a rare event.

    Attributes:
        event: its text.
        is_price: whether it is a payoff, whose expectation is no probability.
        value: the probability or price.
        standard_error: its standard error.
        interval: 95 %, from zero to three over n where no path was in the event.
        plain: plain Monte Carlo at equal cost.
        tilted: the tilted estimate, None where there is none.
        kl: divergence of the tilt.
        training_paths: paths that the tilt was trained with, now or earlier.
        reused: whether the tilt was found in the run.
        verdict: what to do with it.
    """

    event: str
    is_price: bool
    value: float
    standard_error: float
    interval: tuple[float, float]
    plain: Diagnosis
    tilted: Diagnosis | None
    kl: float | None
    training_paths: int
    reused: bool
    verdict: Verdict


def rare_event(
    fitted: FittedRun,
    text: str,
    paths: int,
    *,
    driver: Driver | None = None,
    covariance: bool = False,
    settings: TiltSettings | None = None,
    retrain: bool = False,
    seed: int | None = None,
    report: Callable[[str], None] | None = None,
) -> Rare:
    """Return the probability of an event, or the price of a payoff, under a fitted run's model.

    Args:
        fitted: the run.
        text: the event, as `read_event` takes it.
        paths: fresh paths of the estimate.
        driver: which noise is tilted, all of it by default.
        covariance: whether the initial state's scales are tilted, too.
        settings: how the tilt is trained.
        retrain: train even where the run has a tilt for this event.
        seed: of the paths; the run's own by default.
        report: called with what is being done.
    """
    if paths < 2:
        raise ArgumentError("paths", paths, "must be at least 2", "an error needs two paths")
    model, grid = check_tiltable(fitted.model), fitted.grid
    horizon = float(grid.times[-1])
    event = read_event(text, horizon)
    report = (lambda _: None) if report is None else report
    settings = TiltSettings() if settings is None else settings
    driver = Driver.ALL if driver is None else driver
    key = jax.random.fold_in(fitted.keys.metrics, STREAM) if seed is None else jax.random.key(seed)
    plain_key, training_key, weights_key, key = jax.random.split(key, 4)

    report("plain Monte Carlo")
    plain, nearest = _sampled(
        Proposal((), 1.0), model, grid, event, math.ceil(COST * paths), plain_key
    )
    known = _without_tilt(event, plain)
    if known is not None:
        return _untilted(text, event, plain, known)

    untrained = make_tilt(
        model,
        driver=driver,
        covariance=covariance,
        until=min(1.0, decided_at(event, horizon)),
        key=weights_key,
    )
    store = TiltStore(fitted.run, text, {"driver": driver.value, "covariance": covariance})
    found = None if retrain else store.read(untrained)
    if found is not None:
        tilt, training_paths = found[0], int(found[1]["training_paths"])
    else:

        def told(seen: Round) -> None:
            report(
                f"training, probability {seen.probability:.1e}, {seen.share:.0%} of paths reach it"
            )

        trained = train_tilt(untrained, model, grid, event, settings, report=told, key=training_key)
        tilt, training_paths = trained.tilt, trained.paths
        if not trained.reached:
            threshold = float(event.threshold)
            sign = 1.0 if event.above else -1.0
            best = max(seen.nearest for seen in trained.rounds)
            verdict = unreached(
                plain, threshold + sign * nearest, threshold + sign * best, threshold
            )
            return _untilted(text, event, plain, verdict, training_paths)
        store.save(tilt, {"training_paths": training_paths})

    report("estimating")
    tilted, _ = _sampled(Proposal((tilt,), REFERENCE), model, grid, event, paths, key)
    spread = QUANTILE * tilted.standard_error
    return Rare(
        text,
        event.payoff is not None,
        tilted.value,
        tilted.standard_error,
        (max(0.0, tilted.value - spread), tilted.value + spread),
        plain,
        tilted,
        float(_divergence(tilt, model, grid, key)),
        training_paths,
        found is not None,
        judge(tilted, plain),
    )


def _without_tilt(event: Event, plain: Diagnosis) -> Verdict | None:
    """Return the verdict where plain Monte Carlo says it all."""
    if plain.hit_rate == 1.0 and event.watched is not None:
        return certain(plain)
    if plain.hit_rate >= RARE:
        return not_rare(plain)
    if event.watched is None and plain.hit_rate == 0.0:
        return never_paid(plain)
    return None


def _untilted(
    text: str, event: Event, plain: Diagnosis, verdict: Verdict, training_paths: int = 0
) -> Rare:
    spread = QUANTILE * plain.standard_error
    low, high = max(0.0, plain.value - spread), plain.value + spread
    is_price = event.payoff is not None
    if not is_price and plain.hit_rate in (0.0, 1.0):
        bound = 3.0 / plain.paths  # 95 %: (1 − p)ⁿ = 0.05 at p ≈ 3 / n
        low, high = (0.0, bound) if plain.hit_rate == 0.0 else (1.0 - bound, 1.0)
    return Rare(
        text,
        is_price,
        plain.value,
        plain.standard_error,
        (low, high),
        plain,
        None,
        None,
        training_paths,
        False,
        verdict,
    )


def _sampled(
    proposal: Proposal,
    model: SLiSDE,
    grid: TimeGrid,
    event: Event,
    paths: int,
    key: PRNGKeyArray,
) -> tuple[Diagnosis, float]:
    """Return the estimate of a proposal in batches, and the largest excess of all paths."""
    batches = math.ceil(paths / BATCH)
    size = math.ceil(paths / batches)
    parts = [
        _batch(
            proposal.tilts, proposal.reference, model, grid, event, size, jax.random.fold_in(key, i)
        )
        for i in range(batches)
    ]
    values, log_weights, origin, excess = (
        np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(4)
    )
    return diagnose(values, log_weights, origin), float(excess.max())


@eqx.filter_jit
def _batch(
    tilts: tuple[Tilt, ...],
    reference: float,
    model: SLiSDE,
    grid: TimeGrid,
    event: Event,
    paths: int,
    key: PRNGKeyArray,
):
    batch = sample_proposal(Proposal(tilts, reference), model, grid, paths, key=key)
    times = jnp.asarray(grid.times)
    values, excess = event.values(batch.sample, times), event.excess(batch.sample, times)
    return values, batch.log_weights, batch.origin, excess


@eqx.filter_jit
def _divergence(tilt: Tilt, model: SLiSDE, grid: TimeGrid, key: PRNGKeyArray):
    noise = draw_noise(model, grid, BATCH, key=key)
    return divergence(tilt, tilt.pace(grid), sample_tilted(tilt, model, grid, noise).noise)
