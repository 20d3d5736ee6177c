"""Rare events of a fitted run: a tilt fitted or trained, then an estimate beside plain Monte Carlo."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
from jaxtyping import PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.experiments.job import FittedRun
from slisde.experiments.rare_event import read_event
from slisde.experiments.rare_sampling import Asked, Drawn, branched, sampled, tilt_divergence
from slisde.experiments.rare_store import TiltStore
from slisde.experiments.rare_verdict import (
    Verdict,
    certain,
    judge,
    never_paid,
    not_rare,
    unreached,
)
from slisde.girsanov.course import TiltSettings
from slisde.girsanov.diagnosis import Diagnosis
from slisde.girsanov.event import Event
from slisde.girsanov.guide_fit import PATHS as GUIDE_PATHS
from slisde.girsanov.guide_fit import fit_guide
from slisde.girsanov.guided import GuidedTilt, make_guided
from slisde.girsanov.law import AbstractTilt
from slisde.girsanov.proposal import (
    Proposal,
)
from slisde.girsanov.tilt import Driver, check_tiltable, make_tilt
from slisde.girsanov.training import Round, train_tilt
from slisde.girsanov.walk import check_walkable
from slisde.model.stack import SLiSDE

STREAM = 2**32 - 6
"""Folded into the run's key for rare events."""
COST = {Driver.LAST: 1.3, Driver.ALL: 1.3, Driver.GUIDED: 2.0}
"""Plain paths that are drawn for each tilted one, bounds of what a tilted path costs."""
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
        coverage: share of the plain paths nearest to the event that tilted paths go to.
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
    coverage: float | None
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
        driver: which noise is tilted and how; by default `best_driver`.
        covariance: whether the initial state's scales are tilted, too, which a guide does not do.
        settings: how the tilt is trained; a guide is fitted instead.
        retrain: train even where the run has a tilt for this event.
        seed: of the paths; the run's own by default.
        report: called with what is being done.
    """
    if paths < 2:
        raise ArgumentError("paths", paths, "must be at least 2", "an error needs two paths")
    model, grid = check_tiltable(fitted.model), fitted.grid
    event = read_event(text, float(grid.times[-1]))
    asked = Asked(text, event, model, grid)
    report = (lambda _: None) if report is None else report
    settings = TiltSettings() if settings is None else settings
    if driver is None:
        driver = Driver.ALL if covariance else best_driver(model, event)
    key = jax.random.fold_in(fitted.keys.metrics, STREAM) if seed is None else jax.random.key(seed)
    plain_key, training_key, weights_key, key = jax.random.split(key, 4)

    report("plain Monte Carlo")
    plain = sampled(asked, Proposal((), 1.0), math.ceil(COST[driver] * paths), plain_key)
    known = _without_tilt(event, plain.diagnosis)
    if known is not None:
        return _untilted(asked, plain.diagnosis, known)

    untrained = _untrained(asked, driver, covariance, weights_key)
    store = TiltStore(fitted.run, text, untrained, driver=driver.value, covariance=covariance)
    kept = None if retrain else _kept(store)
    made = kept or _made(asked, untrained, settings, report, training_key)
    if made.missed_by is not None:
        verdict = _unreached(event, plain, made.missed_by)
        return _untilted(asked, plain.diagnosis, verdict, made.paths)
    if kept is None:
        store.save(made.tilt, {"training_paths": made.paths})

    report("estimating")
    estimate = branched if isinstance(made.tilt, GuidedTilt) else sampled
    tilted = estimate(asked, Proposal.ladder(made.tilt), paths, key)
    if tilted.diagnosis.hit_rate == 0.0 and event.watched is not None:
        verdict = _unreached(event, plain, tilted.nearest)
        return _untilted(asked, plain.diagnosis, verdict, made.paths)
    kl = float(tilt_divergence(made.tilt, model, grid, key))
    return _answer(asked, plain, tilted, kl, made.paths, kept is not None)


@dataclass(frozen=True)
class _Made:
    """A tilt, the paths that it took, and the largest excess of those where training missed the event."""

    tilt: AbstractTilt
    paths: int
    missed_by: float | None = None


def _kept(store: TiltStore) -> _Made | None:
    """Return the tilt that the run has for this event."""
    found = store.read()
    return None if found is None else _Made(found[0], int(found[1]["training_paths"]))


def best_driver(model: SLiSDE, event: Event) -> Driver:
    """Return `guided` where the model and the event allow it, else `all`."""
    try:
        check_walkable(model)
    except ArgumentError:
        return Driver.ALL
    return Driver.ALL if event.watched is None else Driver.GUIDED


def _untrained(asked: Asked, driver: Driver, covariance: bool, key: PRNGKeyArray) -> AbstractTilt:
    if driver is Driver.GUIDED:
        if covariance:
            raise ArgumentError(
                "covariance", True, "must be false with a guided tilt", "nothing of it is trained"
            )
        return make_guided(asked.model, asked.grid, asked.event)
    horizon = float(asked.grid.times[-1])
    until = min(1.0, asked.event.maturity / horizon)
    return make_tilt(asked.model, driver=driver, covariance=covariance, until=until, key=key)


def _made(
    asked: Asked,
    tilt: AbstractTilt,
    settings: TiltSettings,
    report: Callable[[str], None],
    key: PRNGKeyArray,
) -> _Made:
    """Return the tilt fitted to plain paths where it is guided, trained where it is not."""

    def told(seen: Round) -> None:
        report(f"training, probability {seen.probability:.1e}, {seen.share:.0%} of paths reach it")

    if isinstance(tilt, GuidedTilt):
        report("fitting what is expected of plain paths")
        return _Made(fit_guide(tilt, asked.model, asked.grid, asked.event, key=key), GUIDE_PATHS)
    found = train_tilt(tilt, asked.model, asked.grid, asked.event, settings, report=told, key=key)
    nearest = None if found.reached else max(seen.nearest for seen in found.rounds)
    return _Made(found.tilt, found.paths, nearest)


def _unreached(event: Event, plain: Drawn, missed_by: float) -> Verdict:
    threshold, sign = float(event.threshold), 1.0 if event.above else -1.0
    return unreached(
        plain.diagnosis,
        threshold + sign * plain.nearest,
        threshold + sign * missed_by,
        threshold,
    )


def _answer(
    asked: Asked, plain: Drawn, tilted: Drawn, kl: float, training_paths: int, reused: bool
) -> Rare:
    found = tilted.diagnosis
    spread = QUANTILE * found.standard_error
    return Rare(
        asked.text,
        asked.event.payoff is not None,
        found.value,
        found.standard_error,
        (max(0.0, found.value - spread), found.value + spread),
        plain.diagnosis,
        found,
        kl,
        tilted.coverage,
        training_paths,
        reused,
        judge(found, plain.diagnosis, tilted.coverage),
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


def _untilted(asked: Asked, plain: Diagnosis, verdict: Verdict, training_paths: int = 0) -> Rare:
    spread = QUANTILE * plain.standard_error
    low, high = max(0.0, plain.value - spread), plain.value + spread
    is_price = asked.event.payoff is not None
    if not is_price and plain.hit_rate in (0.0, 1.0):
        bound = 3.0 / plain.paths  # 95 %: (1 − p)ⁿ = 0.05 at p ≈ 3 / n
        low, high = (0.0, bound) if plain.hit_rate == 0.0 else (1.0 - bound, 1.0)
    return Rare(
        asked.text,
        is_price,
        plain.value,
        plain.standard_error,
        (low, high),
        plain,
        None,
        None,
        None,
        training_paths,
        False,
        verdict,
    )
