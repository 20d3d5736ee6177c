"""What makes a problem impossible, said in one line before anything runs."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import jax

from slisde.errors import ProblemError
from slisde.functionals.terminal import Call, Put
from slisde.functionals.text import describe

if TYPE_CHECKING:
    from slisde.functionals.base import AbstractFunctional
    from slisde.functionals.problem import Problem, Target

SLACK = 1e-9
"""Values may break monotonicity by this much, for the rounding of a file."""


def check_problem(problem: "Problem") -> None:
    """Raise a `ProblemError` for the first thing that makes the problem impossible."""
    if not problem.targets:
        raise ProblemError(f"{problem.name} has no functionals: there is nothing to fit.")
    if not (math.isfinite(problem.horizon) and problem.horizon > 0):
        raise ProblemError(
            f"the horizon {problem.horizon} of {problem.name} must be finite and positive."
        )
    for index, target in enumerate(problem.targets):
        _check_target(problem, index, target)
    _check_duplicates(problem)
    _check_order(problem.targets, Call, falls=True)
    _check_order(problem.targets, Put, falls=False)
    for group, weight in problem.group_weights.items():
        if not (math.isfinite(weight) and weight > 0):
            raise ProblemError(f"the group `{group}` has the weight {weight}: it must be positive.")
    unknown = set(problem.group_weights) - {target.group for target in problem.targets}
    if unknown:
        raise ProblemError(
            f"{problem.name} weights the group `{min(unknown)}`, which has no target."
        )


def check_maturity(functional: "AbstractFunctional", horizon: float) -> None:
    """Raise unless the functional can be seen on a grid that ends at the horizon."""
    maturity = float(functional.maturity)
    if not 0.0 < maturity <= horizon * (1.0 + 1e-12):
        raise ProblemError(
            f"{describe(functional)} matures outside the grid, which runs from 0 to {horizon:g}."
        )


def _check_target(problem: "Problem", index: int, target: "Target") -> None:
    label = f"target {index + 1}, {describe(target.functional)},"
    if not math.isfinite(target.value):
        raise ProblemError(f"{label} has the value {target.value}: it must be a finite number.")
    if not (math.isfinite(target.weight) and target.weight > 0):
        raise ProblemError(f"{label} has the weight {target.weight}: it must be positive.")
    try:
        check_maturity(target.functional, problem.horizon)
    except ProblemError as error:
        raise ProblemError(f"target {index + 1}, {error}") from None
    error = target.standard_error
    if error is not None and not (math.isfinite(error) and error >= 0):
        raise ProblemError(f"{label} has the standard error {error}: it must not be negative.")
    for side in ("bid", "ask"):
        quote = getattr(target, side)
        if quote is not None and not math.isfinite(quote):
            raise ProblemError(f"{label} has the {side} {quote}: it must be a finite number.")
    if target.bid is not None and target.ask is not None and target.bid > target.ask:
        raise ProblemError(f"{label} has bid {target.bid:g} above ask {target.ask:g}.")


def _check_duplicates(problem: "Problem") -> None:
    seen: dict[object, int] = {}
    for index, target in enumerate(problem.targets):
        leaves, structure = jax.tree.flatten(target.functional)
        identity = (structure, tuple(float(leaf) for leaf in leaves))
        if identity in seen:
            raise ProblemError(
                f"targets {seen[identity] + 1} and {index + 1} are both {describe(target.functional)}: "
                "give each functional once."
            )
        seen[identity] = index


def _check_order(targets: Sequence["Target"], kind: type[Call] | type[Put], *, falls: bool) -> None:
    """Raise when calls of a group rise, or puts fall, in strike: no law has such expectations."""
    curves: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for target in targets:
        if isinstance(target.functional, kind) and target.bid is None and target.ask is None:
            point = (float(target.functional.strike), target.value)
            curve = (target.group, float(target.functional.maturity))
            curves.setdefault(curve, []).append(point)
    for (_, maturity), points in curves.items():
        points.sort()
        for (low, first), (high, second) in pairwise(points):
            change = second - first if falls else first - second
            if change > SLACK:
                word = "rises" if falls else "falls"
                raise ProblemError(
                    f"the {kind.__name__.lower()} of maturity {maturity:g} {word} from {first:g} at "
                    f"strike {low:g} to {second:g} at {high:g}: no law has such values."
                )
