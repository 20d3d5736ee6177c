"""Everything a report shows, gathered before anything is drawn or written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from slisde.calibration.estimate import Estimate
from slisde.calibration.smile_fit import ExpiryLaw
from slisde.functionals.problem import Problem
from slisde.functionals.terminal import Call, Put


class Comparison(NamedTuple):
    """A price of the fitted model beside the same price of the known truth."""

    label: str
    fitted: float
    fitted_se: float
    true: float
    true_se: float


class Rival(NamedTuple):
    """Another model fitted to the same quotes: its prices, in the order of `smile_quotes`."""

    name: str
    price: Float[np.ndarray, " quote"]


@dataclass(frozen=True)
class ReportContent:
    """What one report is made of.

    Args:
        title: the heading, in the user's words.
        estimate: the hard functionals on fresh paths; it carries the problem.
        history: one mapping per training step with `step` and `loss`, and at some steps
            `validation`, `validation_se` and `seconds`; what is absent or None is not drawn.
        times: the times of the nodes.
        sample_paths: simulated paths; the bands are quantiles of all, the first few are drawn.
        terminal: values of Y at the problem's horizon.
        noise_floor: the loss that noise alone gives a training batch, where known.
        comparisons: prices that were never fitted, beside the truth.
        laws: the law at every expiry of a problem in units of the forward.
        rivals: other models beside the fit of a market.
        convention: how quotes were made a problem, where they were.
        facts: the configuration, as pairs to print.
        versions: what ran it, as pairs to print.
        run: the name of the run.
        command: what to type to repeat it.
    """

    title: str
    estimate: Estimate
    history: Sequence[Mapping[str, int | float | None]]
    times: Float[np.ndarray, " node"]
    sample_paths: Float[np.ndarray, "path node"]
    terminal: Float[np.ndarray, " sample"]
    noise_floor: float | None = None
    comparisons: Sequence[Comparison] = ()
    laws: Sequence[ExpiryLaw] = ()
    rivals: Sequence[Rival] = ()
    convention: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    run: str = ""
    command: str = ""

    @property
    def problem(self) -> Problem:
        """What was fitted."""
        return self.estimate.problem

    @property
    def is_market(self) -> bool:
        """Whether volatilities are shown: the options are quotes and not just expectations."""
        return bool(self.convention) or has_quotes(self.problem)


def has_quotes(problem: Problem) -> bool:
    """Return whether any call or put of a problem has a bid or an ask."""
    return any(
        isinstance(target.functional, Call | Put)
        and not (target.bid is None and target.ask is None)
        for target in problem.targets
    )
