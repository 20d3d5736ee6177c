"""How well a fitted model fits: what `slisde evaluate` and a run's metrics say."""

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from slisde.calibration.estimate import BATCHES, Estimate, estimate
from slisde.calibration.estimator import Estimator
from slisde.calibration.smile_fit import SmileFit, smile_fit
from slisde.errors import ArgumentError
from slisde.experiments.job import FittedRun
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel

PATHS = 32_768
LARGEST_BATCH = 4096


def sample(
    model: AbstractPathModel,
    problem: Problem,
    grid: TimeGrid,
    paths: int,
    *,
    estimator: Estimator = Estimator.CONDITIONAL,
    report: Callable[[int, int], None] | None = None,
    key: PRNGKeyArray,
) -> Estimate:
    """Return estimates over at least `paths` paths, in batches that fit into memory."""
    whole, batches = whole_batches(paths)
    return estimate(
        model,
        problem,
        grid,
        whole,
        batches=batches,
        estimator=estimator,
        report=report,
        key=key,
    )


def whole_batches(paths: int) -> tuple[int, int]:
    """Return at least `paths` paths and the number of equal batches they make."""
    if paths < 1:
        raise ArgumentError("paths", paths, "must be at least 1", "it is a count")
    batches = max(BATCHES, math.ceil(paths / LARGEST_BATCH))
    return math.ceil(paths / batches) * batches, batches


def evaluate_run(
    fitted: FittedRun,
    paths: int = PATHS,
    *,
    estimator: Estimator = Estimator.CONDITIONAL,
    seed: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> tuple[Estimate, dict[str, Any]]:
    """Return estimates of a fitted run on fresh paths, and what is said of them."""
    key = fitted.keys.metrics if seed is None else jax.random.key(seed)
    result = sample(
        fitted.model,
        fitted.problem,
        fitted.grid,
        paths,
        estimator=estimator,
        report=report,
        key=key,
    )
    return result, summary(result)


def summary(result: Estimate) -> dict[str, Any]:
    """Return losses with their errors, the noise floor, and the errors of every group.

    Problems in units of the forward also have errors in vol points and the arbitrage of the fit.
    """
    problem = result.problem
    debiased, debiased_error = result.debiased_loss()
    values: dict[str, Any] = {
        "problem": problem.name,
        "paths": result.paths,
        "loss": result.loss(),
        "loss_se": result.loss_error(),
        "debiased_loss": debiased,
        "debiased_loss_se": debiased_error,
        "noise_floor": result.noise_floor(),
    }
    if problem.has_held_out:
        held_out, held_out_error = result.debiased_loss(held_out=True)
        values |= {
            "held_out_loss": result.loss(held_out=True),
            "held_out_debiased_loss": held_out,
            "held_out_debiased_loss_se": held_out_error,
            "held_out_noise_floor": result.noise_floor(held_out=True),
        }
    fit = smile_fit(result)
    if fit is not None:
        values |= {"implied_vol": _implied_vol(fit), "arbitrage": _arbitrage(fit)}
    values["groups"] = {group: _group(result, group) for group in problem.groups}
    return values


def _implied_vol(fit: SmileFit) -> dict[str, Any]:
    expiries = [{"maturity": each, **_scores(fit, each)} for each in fit.maturities]
    return {**_scores(fit, None), "expiries": expiries}


def _scores(fit: SmileFit, maturity: float | None) -> dict[str, Any]:
    values = {}
    for name, held_out in (("fitted", False), ("held_out", True)):
        score = fit.of(maturity, held_out=held_out)
        if score is not None:
            values[name] = {
                "rmse": score.rmse,
                "noise": fit.noise_of(maturity, held_out=held_out),
                "inside": score.inside,
                "quotes": score.quotes,
            }
    return values


def _arbitrage(fit: SmileFit) -> dict[str, Any]:
    arbitrage = fit.arbitrage
    counts = {kind.value: count for kind, count in arbitrage.found.items()}
    return {**counts, "checked": arbitrage.checked, "largest": arbitrage.largest}


def _group(result: Estimate, group: str) -> dict[str, Any]:
    targets = result.problem.targets
    error = np.abs(result.mean - result.problem.values)
    fitted = np.array([t.group == group and not t.held_out for t in targets])
    held_out = np.array([t.group == group and t.held_out for t in targets])
    values: dict[str, Any] = {"targets": int(fitted.sum()), "held_out": int(held_out.sum())}
    for prefix, chosen in (("", fitted), ("held_out_", held_out)):
        if chosen.any():
            values[f"{prefix}mae"] = float(error[chosen].mean())
            values[f"{prefix}max_error"] = float(error[chosen].max())
    quoted = np.array([t.bid is not None and t.ask is not None for t in targets])
    members = (fitted | held_out) & quoted
    if members.any():
        inside = [
            t.bid is None or t.ask is None or t.bid <= mean <= t.ask
            for t, mean in zip(targets, result.mean, strict=True)
        ]
        values["inside_bid_ask"] = float(np.array(inside)[members].mean())
    return values
