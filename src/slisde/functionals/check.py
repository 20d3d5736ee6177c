"""What makes a problem impossible, said in one line before anything runs."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import jax

from slisde.errors import ProblemError
from slisde.functionals.terminal import Call, Put

if TYPE_CHECKING:
    from slisde.functionals.problem import Problem, Target

SLACK = 1e-9
"""Values may break monotonicity by this much, for the rounding of a file."""


def check_problem(problem: "Problem") -> None:
    """Raise a `ProblemError` for the first thing that makes the problem impossible."""
    if not problem.targets:
        raise ProblemError(f"{problem.name} has no functionals: there is nothing to fit.")
    for index, target in enumerate(problem.targets):
        _check_target(problem, index, target)
    _check_duplicates(problem)
    _check_order(problem.targets, Call, falls=True)
    _check_order(problem.targets, Put, falls=False)
    unknown = set(problem.group_weights) - {target.group for target in problem.targets}
    if unknown:
        raise ProblemError(
            f"{problem.name} weights the group `{min(unknown)}`, which has no target."
        )


def describe(target: "Target") -> str:
    """Return a target as a user would write it, as in `Call(maturity=0.5, strike=1.0)`."""
    fields = {
        name: value
        for name, value in vars(target.functional).items()
        if isinstance(value, int | float) and name != "temperature"
    }
    arguments = ", ".join(f"{name}={value:g}" for name, value in fields.items())
    return f"{type(target.functional).__name__}({arguments})"


def _check_target(problem: "Problem", index: int, target: "Target") -> None:
    label = f"target {index + 1}, {describe(target)},"
    if not math.isfinite(target.value):
        raise ProblemError(f"{label} has the value {target.value}: it must be a finite number.")
    if not (math.isfinite(target.weight) and target.weight > 0):
        raise ProblemError(f"{label} has the weight {target.weight}: it must be positive.")
    maturity = float(target.functional.maturity)
    if not 0.0 < maturity <= problem.horizon * (1.0 + 1e-12):
        raise ProblemError(
            f"{label} matures outside the grid, which runs from 0 to {problem.horizon:g}."
        )
    if target.bid is not None and target.ask is not None and target.bid > target.ask:
        raise ProblemError(f"{label} has bid {target.bid:g} above ask {target.ask:g}.")


def _check_duplicates(problem: "Problem") -> None:
    seen: dict[object, int] = {}
    for index, target in enumerate(problem.targets):
        leaves, structure = jax.tree.flatten(target.functional)
        identity = (structure, tuple(float(leaf) for leaf in leaves))
        if identity in seen:
            raise ProblemError(
                f"targets {seen[identity] + 1} and {index + 1} are both {describe(target)}: "
                "give each functional once."
            )
        seen[identity] = index


def _check_order(targets: Sequence["Target"], kind: type[Call] | type[Put], *, falls: bool) -> None:
    """Raise when calls rise, or puts fall, in strike: no law on paths has such expectations."""
    by_maturity: dict[float, list[tuple[float, float]]] = {}
    for target in targets:
        if isinstance(target.functional, kind) and target.bid is None and target.ask is None:
            point = (float(target.functional.strike), target.value)
            by_maturity.setdefault(float(target.functional.maturity), []).append(point)
    for maturity, points in by_maturity.items():
        points.sort()
        for (low, first), (high, second) in pairwise(points):
            change = second - first if falls else first - second
            if change > SLACK:
                word = "rises" if falls else "falls"
                raise ProblemError(
                    f"the {kind.__name__.lower()} of maturity {maturity:g} {word} from {first:g} at "
                    f"strike {low:g} to {second:g} at {high:g}: no law has such values."
                )
