"""Fit option surfaces by SLiSDE, Heston and Bates; one record a cell in results/surfaces.jsonl.

Finished cells are never run again, so the study can be stopped and started at will. The quotes are read
from the folder that is given and are not kept: a record has figures only.

    python benchmarks/surfaces.py DATA [--seeds 3] [SURFACE …]
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Float

from slisde.experiments.allocation import keep_freed_memory
from slisde.experiments.compilation import keep_compiled_programs

keep_compiled_programs()

from slisde.baselines.parametric import Parametric, ParametricFit  # noqa: E402
from slisde.baselines.parametric import calibrate as calibrate_parametric  # noqa: E402
from slisde.calibration.estimate import estimate  # noqa: E402
from slisde.calibration.estimator import Estimator  # noqa: E402
from slisde.calibration.fit import Progress, calibrate  # noqa: E402
from slisde.data.smile import SmileScore, score, smile_quotes, units  # noqa: E402
from slisde.data.surface.weights import weighted_by_vega  # noqa: E402
from slisde.experiments.config import parse  # noqa: E402
from slisde.experiments.job import prepare  # noqa: E402
from slisde.experiments.machine import describe  # noqa: E402
from slisde.experiments.presets import preset  # noqa: E402
from slisde.experiments.record import Record  # noqa: E402
from slisde.experiments.studied_surfaces import SURFACES, source, studied_problem  # noqa: E402
from slisde.experiments.study import run_missing  # noqa: E402
from slisde.functionals.problem import Problem  # noqa: E402
from slisde.functionals.terminal import Call, DigitalBelow, Forward, Put  # noqa: E402

RESULTS = Path(__file__).parents[1] / "results" / "surfaces.jsonl"
PATHS = 2**19
"""Paths behind a score."""

STEP = 1e-4
"""Half the width of the put spread by which Heston's and Bates' models price a digital."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, help="folder of the snapshots")
    parser.add_argument("surfaces", nargs="*", default=list(SURFACES), help="names of surfaces")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    keep_freed_memory()
    rivals = [kind.value for kind in Parametric]
    fitters = [*rivals, *(f"slisde:{seed}" for seed in range(given.seeds))]
    cells = {
        f"{name}:{fitter}": partial(run, name, fitter, given.data)
        for name in given.surfaces
        for fitter in fitters
    }
    run_missing(RESULTS, cells, report=partial(print, file=sys.stderr, flush=True))


def run(name: str, fitter: str, data: Path) -> Record:
    problem = studied_problem(name, data)
    kind, _, seed = fitter.partition(":")
    if seed:
        fit = {"seed": int(seed), **_slisde(problem, source(name, data), int(seed))}
    else:
        fit = _parametric(problem, Parametric(kind))
    return {"surface": name, "fitter": kind, **fit, "machine": describe()}


def _slisde(problem: Problem, file: str, seed: int) -> Record:
    tables = {name: dict(table) for name, table in preset("standard", file).items()}
    tables.setdefault("train", {})["seed"] = seed
    trained = problem
    if set(problem.forwards.values()) != {1.0}:
        tables.setdefault("model", {})["growth"] = True
        trained = weighted_by_vega(problem)
    job = prepare(parse(tables), trained)
    began = time.perf_counter()

    def report(progress: Progress) -> None:
        if progress.step % 100 == 0:
            spent = time.perf_counter() - began
            print(f"  step {progress.step}, {spent:.0f} s", file=sys.stderr, flush=True)

    fit = calibrate(
        job.model, trained, job.grid, job.settings, report=report, key=job.keys.training
    )
    seconds = time.perf_counter() - began
    result = estimate(
        fit.model,
        problem,
        job.grid,
        PATHS,
        estimator=Estimator.HEDGED if fit.model.is_martingale else Estimator.CONDITIONAL,
        key=job.keys.metrics,
    )
    quotes = smile_quotes(problem)
    noise = 100.0 * result.standard_error[quotes.index] / quotes.vega
    return {
        "seconds": seconds,
        "skipped": fit.skipped,
        "paths": PATHS,
        "noise": float(np.sqrt(np.mean(noise**2))),
        "settings": tables,
        **_losses(result.mean, problem),
        **_scores(score(result.mean[quotes.index], quotes)),
    }


def _parametric(problem: Problem, kind: Parametric) -> Record:
    quotes = smile_quotes(problem)
    strike, fitted = np.exp(quotes.log_moneyness), ~quotes.held_out
    fit = calibrate_parametric(
        kind, quotes.maturity[fitted], strike[fitted], quotes.volatility[fitted]
    )
    prices = quotes.unit * fit.prices(quotes.maturity, strike, quotes.is_call)
    return {
        "seconds": fit.seconds,
        "parameters": dict(fit.parameters),
        **_losses(_expectations(fit, problem), problem),
        **_scores(score(prices, quotes)),
    }


def _expectations(fit: ParametricFit, problem: Problem) -> Float[np.ndarray, " target"]:
    """Return a parametric model's values of all targets, which are options, digitals and forwards."""
    known, means = units(problem), np.zeros(len(problem.targets))
    for index, target in enumerate(problem.targets):
        functional = target.functional
        maturity, (forward, unit) = float(functional.maturity), known[float(functional.maturity)]
        if isinstance(functional, Forward):
            means[index] = forward
        elif isinstance(functional, DigitalBelow):
            ends = float(functional.strike) / forward + np.array([-STEP, STEP])
            low, high = fit.prices(np.full(2, maturity), ends, np.zeros(2, bool)).tolist()
            means[index] = unit / forward * (high - low) / (2.0 * STEP)
        elif isinstance(functional, Call | Put):
            strike = np.array([float(functional.strike) / forward])
            call = np.array([isinstance(functional, Call)])
            means[index] = unit * fit.prices(np.array([maturity]), strike, call)[0]
    return means


def _losses(means: Float[np.ndarray, " target"], problem: Problem) -> Record:
    """Return what tab:dax3-main has: the held-out loss, and that of the far puts alone."""
    far = np.array([t.held_out and t.group == "far_puts" for t in problem.targets])
    if not far.any():
        return {}
    squares = (means - problem.values) ** 2
    return {
        "held_out_loss": float(problem.weights(held_out=True) @ squares),
        "far_put_loss": float(squares[far].mean()),
        "left_out": int(smile_quotes(problem).left_out.size),
    }


def _scores(scores: list[SmileScore]) -> Record:
    """Return the scores over all expiries by name, and those of single ones as a list."""

    def as_record(each: SmileScore) -> Record:
        return {"quotes": each.quotes, "rmse": each.rmse, "inside": each.inside}

    whole = {
        "held_out" if each.held_out else "fitted": as_record(each)
        for each in scores
        if each.maturity is None
    }
    single = [
        {"maturity": each.maturity, "held_out": each.held_out, **as_record(each)}
        for each in scores
        if each.maturity is not None
    ]
    return {**whole, "expiries": single}


if __name__ == "__main__":
    main()
