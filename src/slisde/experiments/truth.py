"""What is known of the truth behind a built-in problem, beside a fitted model."""

from collections.abc import Callable
from typing import NamedTuple

from slisde.data.synthetic import EXOTICS, demo_exotics, true_values
from slisde.experiments.job import FittedRun
from slisde.experiments.metrics import recovery
from slisde.experiments.pricing import price_run
from slisde.experiments.sources import toy_truth

EXOTIC_PATHS = 32_768


class Exotic(NamedTuple):
    """The price of a payoff that was never fitted, and the true one."""

    payoff: str
    fitted: float
    fitted_se: float
    true: float
    true_se: float


def exotics(fitted: FittedRun, report: Callable[[str], None] = lambda _: None) -> list[Exotic]:
    """Return prices of path-dependent payoffs beside the truth; the demo's is known."""
    if fitted.config.problem.source != "demo":
        return []
    functionals = demo_exotics()
    report("pricing exotics under the fitted model")
    ours = price_run(fitted, functionals, EXOTIC_PATHS)
    report("pricing exotics under the true model")
    theirs = true_values(functionals, fitted.grid.steps)
    columns = (ours.mean, ours.standard_error, theirs.mean, theirs.standard_error)
    return [
        Exotic(payoff, *(float(number) for number in numbers))
        for payoff, *numbers in zip(EXOTICS, *columns, strict=True)
    ]


def recovery_of(fitted: FittedRun) -> dict[str, float]:
    """Return distances of the fitted law to TOY's, empty for other problems (tab:abl-dist)."""
    if fitted.config.problem.source != "toy":
        return {}
    truth = toy_truth(fitted.config.problem.monitoring)
    return recovery(fitted.model, truth, fitted.grid, key=fitted.keys.recovery)
