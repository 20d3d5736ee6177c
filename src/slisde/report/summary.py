"""The numbers of a report: each target, each group and the whole fit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slisde.calibration.estimate import Estimate
from slisde.functionals.problem import Target
from slisde.functionals.text import describe

WITHIN = 2.0
"""Standard errors up to which an error counts as noise."""

SLACK = 1e-12
"""A value on its bid or ask counts as inside, whatever the rounding."""


@dataclass(frozen=True)
class TargetRow:
    """One target and what the model says to it."""

    name: str
    group: str
    held_out: bool
    value: float
    estimate: float
    standard_error: float
    error: float
    z: float
    bid: float | None
    ask: float | None

    @property
    def quoted(self) -> bool:
        """Whether a bid or an ask is known."""
        return self.bid is not None or self.ask is not None

    @property
    def inside(self) -> bool:
        """Whether the estimate respects the bid and the ask that are known."""
        return self.outside_by <= SLACK

    @property
    def outside_by(self) -> float:
        """How far the estimate is below the bid or above the ask, zero between them."""
        low = -math.inf if self.bid is None else self.bid
        high = math.inf if self.ask is None else self.ask
        return float(np.max([low - self.estimate, self.estimate - high, 0.0]))


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share, NaN of nothing."""
        return self.count / self.total if self.total else math.nan


@dataclass(frozen=True)
class GroupRow:
    """The errors of one group; a mean over no target is NaN."""

    name: str
    fitted: int
    held_out: int
    mean_error: float
    largest_error: float
    held_out_mean_error: float
    within: Share
    inside: Share


@dataclass(frozen=True)
class Summary:
    """The whole fit in a few numbers.

    Attributes:
        rows: every target, in the problem's order.
        groups: every group, in order of appearance.
        paths: the fresh paths behind the estimates.
        loss: eq:calib-loss of those paths.
        noise: what Monte-Carlo noise alone adds to it.
        misfit: the debiased loss and its standard error.
        held_out_misfit: the same of the held-out targets, where there are any.
        target_noise: what the uncertainty of the prescribed values adds, zero where unknown.
        everything: all targets together, as one group.
    """

    rows: Sequence[TargetRow]
    groups: Sequence[GroupRow]
    paths: int
    loss: float
    noise: float
    misfit: tuple[float, float]
    held_out_misfit: tuple[float, float] | None
    target_noise: float
    everything: GroupRow

    def worst_by_z(self, count: int) -> list[TargetRow]:
        """Return the targets that noise explains least."""
        known = [row for row in self.rows if math.isfinite(row.z)]
        return sorted(known, key=lambda row: -abs(row.z))[:count]

    def worst_by_error(self, count: int) -> list[TargetRow]:
        """Return the targets with the largest errors, those without a finite estimate first."""
        return sorted(
            self.rows, key=lambda row: -abs(row.error) if math.isfinite(row.error) else -math.inf
        )[:count]


def summarise(estimate: Estimate) -> Summary:
    """Return the numbers that a report prints."""
    problem = estimate.problem
    rows = [
        _target_row(*parts)
        for parts in zip(
            problem.targets,
            estimate.mean.tolist(),
            estimate.standard_error.tolist(),
            estimate.z_score.tolist(),
            strict=True,
        )
    ]
    known = np.array([target.standard_error or 0.0 for target in problem.targets])
    return Summary(
        rows=rows,
        groups=[_group_row(name, [r for r in rows if r.group == name]) for name in problem.groups],
        paths=estimate.paths,
        loss=estimate.loss(),
        noise=estimate.noise_floor(),
        misfit=estimate.debiased_loss(),
        held_out_misfit=estimate.debiased_loss(held_out=True) if problem.has_held_out else None,
        target_noise=float(problem.weights() @ known**2),
        everything=_group_row("all", rows),
    )


def _target_row(target: Target, mean: float, error: float, z: float) -> TargetRow:
    return TargetRow(
        name=describe(target.functional),
        group=target.group,
        held_out=target.held_out,
        value=target.value,
        estimate=mean,
        standard_error=error,
        error=mean - target.value,
        z=z,
        bid=target.bid,
        ask=target.ask,
    )


def _group_row(name: str, rows: Sequence[TargetRow]) -> GroupRow:
    fitted = [abs(row.error) for row in rows if not row.held_out]
    held_out = [abs(row.error) for row in rows if row.held_out]
    scored = [row for row in rows if math.isfinite(row.z)]
    quoted = [row for row in rows if row.quoted]
    return GroupRow(
        name=name,
        fitted=len(fitted),
        held_out=len(held_out),
        mean_error=_mean(fitted),
        largest_error=float(np.max([*fitted, *held_out])),
        held_out_mean_error=_mean(held_out),
        within=Share(sum(abs(row.z) <= WITHIN for row in scored), len(scored)),
        inside=Share(sum(row.inside for row in quoted), len(quoted)),
    )


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers)) if numbers else math.nan
