"""Fit option surfaces by SLiSDE, Heston and Bates; one record a cell in results/surfaces.jsonl.

Finished cells are never run again, so the study can be stopped and started at will. The quotes are read
from the folder that is given and are not kept: a record has figures only.

    python benchmarks/surfaces.py DATA [--seeds 3] [SURFACE …]
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from slisde.experiments.allocation import keep_freed_memory
from slisde.experiments.compilation import keep_compiled_programs

keep_compiled_programs()

from slisde.baselines.parametric import Parametric  # noqa: E402
from slisde.baselines.parametric import calibrate as calibrate_parametric  # noqa: E402
from slisde.calibration.estimate import estimate  # noqa: E402
from slisde.calibration.estimator import Estimator  # noqa: E402
from slisde.calibration.fit import Progress, calibrate  # noqa: E402
from slisde.data.smile import SmileScore, score, smile_quotes  # noqa: E402
from slisde.experiments.config import parse  # noqa: E402
from slisde.experiments.job import prepare  # noqa: E402
from slisde.experiments.machine import describe  # noqa: E402
from slisde.experiments.presets import preset  # noqa: E402
from slisde.experiments.record import Record, append, read  # noqa: E402
from slisde.experiments.sources import build_problem  # noqa: E402
from slisde.functionals.problem import Problem  # noqa: E402

RESULTS = Path(__file__).parents[1] / "results" / "surfaces.jsonl"
PATHS = 2**17
"""Paths behind a score."""

SURFACES: dict[str, dict[str, Any]] = {
    "spx_2026-01-30": {
        "source": "spx_2026-01-30_yahoo.csv",
        "root": "SPX",
        "spot": 6939.03,
        "expiries": ["2026-04-17", "2026-06-18", "2026-09-18", "2026-12-18", "2027-01-15"],
    },
    "dax_2026-07-02": {
        "source": "dax_2026-07-02_eurex.csv",
        "quote_date": "2026-07-02",
        "spot": 25_559.0,
        "expiries": ["2026-08-21", "2026-09-18", "2026-12-18", "2027-03-19", "2027-06-18"],
    },
    "dax_2002-07-05": {
        "source": "dax_2002-07-05_vols.csv",
        "quote_date": "2002-07-05",
        "spot": 4468.17,
        "rates": [0.0357, 0.0349, 0.0341, 0.0355, 0.0359, 0.0368, 0.0386, 0.0401],
        "expiries": [
            "2002-07-18",
            "2002-08-15",
            "2002-09-18",
            "2002-12-17",
            "2003-03-18",
            "2003-06-15",
            "2003-12-11",
            "2004-06-07",
        ],
        "hold_out": False,
    },
}
"""The surfaces of the study; that of 2002 is fitted whole, as QuantLib's own tests do."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, help="folder of the snapshots")
    parser.add_argument("surfaces", nargs="*", default=list(SURFACES), help="names of surfaces")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    keep_freed_memory()
    done = {record["cell"] for record in read(RESULTS)} if RESULTS.exists() else set()
    rivals = [kind.value for kind in Parametric]
    for name in given.surfaces:
        for fitter in [*rivals, *(f"slisde:{seed}" for seed in range(given.seeds))]:
            cell = f"{name}:{fitter}"
            if cell in done:
                continue
            print(cell, file=sys.stderr, flush=True)
            record = run(name, fitter, given.data)
            append(RESULTS, {"cell": cell, "surface": name, **record, "machine": describe()})


def run(name: str, fitter: str, data: Path) -> Record:
    surface = SURFACES[name]
    source = str(data / surface["source"])
    problem = build_problem(parse({"problem": {**surface, "source": source}}).problem)
    kind, _, seed = fitter.partition(":")
    if seed:
        return {"fitter": kind, "seed": int(seed), **_slisde(problem, source, int(seed))}
    return {"fitter": kind, **_parametric(problem, Parametric(kind))}


def _slisde(problem: Problem, source: str, seed: int) -> Record:
    tables = {name: dict(table) for name, table in preset("standard", source).items()}
    tables.setdefault("train", {})["seed"] = seed
    job = prepare(parse(tables), problem)
    began = time.perf_counter()

    def report(progress: Progress) -> None:
        if progress.step % 100 == 0:
            spent = time.perf_counter() - began
            print(f"  step {progress.step}, {spent:.0f} s", file=sys.stderr, flush=True)

    fit = calibrate(
        job.model, problem, job.grid, job.settings, report=report, key=job.keys.training
    )
    seconds = time.perf_counter() - began
    result = estimate(
        fit.model,
        problem,
        job.grid,
        PATHS,
        estimator=Estimator.HEDGED,
        key=job.keys.metrics,
    )
    quotes = smile_quotes(problem)
    noise = 100.0 * result.standard_error[quotes.index] / quotes.vega
    return {
        "seconds": seconds,
        "skipped": fit.skipped,
        "noise": float(np.sqrt(np.mean(noise**2))),
        "settings": tables,
        **_scores(score(result.mean[quotes.index], quotes)),
    }


def _parametric(problem: Problem, kind: Parametric) -> Record:
    quotes = smile_quotes(problem)
    strike, fitted = np.exp(quotes.log_moneyness), ~quotes.held_out
    fit = calibrate_parametric(
        kind, quotes.maturity[fitted], strike[fitted], quotes.volatility[fitted]
    )
    prices = fit.prices(quotes.maturity, strike, quotes.is_call)
    return {
        "seconds": fit.seconds,
        "parameters": dict(fit.parameters),
        **_scores(score(prices, quotes)),
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
