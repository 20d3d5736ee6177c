"""What goes into the report of a run."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from slisde.calibration.estimate import Estimate
from slisde.calibration.smile_fit import market_quotes
from slisde.experiments.job import FittedRun
from slisde.experiments.machine import describe
from slisde.experiments.market_law import market_law
from slisde.experiments.rivals import kept_rivals
from slisde.experiments.sampling import simulate_run
from slisde.experiments.sources import is_quotes
from slisde.experiments.truth import exotics
from slisde.report.content import Comparison, ReportContent, Rival, has_quotes

SHOWN_PATHS = 2048


def report_content(
    fitted: FittedRun, result: Estimate, report: Callable[[str], None]
) -> ReportContent:
    """Gather what the report of a fitted run shows."""
    config = fitted.config
    comparisons = [Comparison(*exotic) for exotic in exotics(fitted, report)]
    convention = config.problem.convention if is_quotes(config.problem.source) else ""
    quotes = None
    if convention or has_quotes(fitted.problem):
        quotes = market_quotes(fitted.problem)
    laws, rivals = [], []
    if quotes is not None:
        rivals = [Rival(each.name, each.price) for each in kept_rivals(fitted)]
        report("pricing smiles and densities")
        laws = market_law(fitted, quotes)
    report("drawing paths")
    paths = simulate_run(fitted, SHOWN_PATHS)
    return ReportContent(
        title=f"{config.model.family} fitted to {fitted.problem.name}",
        estimate=result,
        history=fitted.run.read_history(),
        times=np.asarray(fitted.grid.times),
        sample_paths=paths,
        terminal=paths[:, -1],
        noise_floor=result.noise_floor(config.train.paths),
        comparisons=[each for each in comparisons if np.isfinite(each.fitted)],
        laws=laws,
        rivals=rivals,
        convention=convention,
        facts=_pairs(config.model_dump()),
        versions={key: _text(value) for key, value in describe().items()},
        run=fitted.run.root.name,
        command=f"slisde calibrate --config {fitted.run.config_file} --out NEW_DIRECTORY",
    )


def _pairs(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {
        f"{table}.{key}": _text(value)
        for table, values in tables.items()
        for key, value in values.items()
        if value is not None
    }


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
