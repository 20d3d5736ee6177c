"""Where a target stands on a horizontal axis, and which targets form one line."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from slisde.functionals.base import AbstractFunctional
from slisde.functionals.problem import Target


@dataclass(frozen=True)
class Line:
    """Targets that differ only in the coordinate of the axis, in its order.

    Attributes:
        maturity: their common maturity, or None where the maturity is the coordinate.
        members: their places among the given targets.
        x: their coordinates.
    """

    maturity: float | None
    members: list[int]
    x: np.ndarray


def parameters(functional: AbstractFunctional) -> dict[str, float]:
    """Return the numbers of a functional by name."""
    return {
        name: float(value)
        for name, value in vars(functional).items()
        if isinstance(value, int | float | np.generic | jax.Array) and name != "temperature"
    }


def natural_axis(targets: Sequence[Target]) -> str:
    """Return what distinguishes the targets of a group: strike, barrier or maturity."""
    for name in ("strike", "barrier"):
        if all(name in parameters(target.functional) for target in targets):
            return name
    return "maturity"


def lines(targets: Sequence[Target], name: str) -> list[Line]:
    """Return the lines that the targets form over the axis `name`, by maturity."""
    members: dict[object, list[int]] = {}
    for index, target in enumerate(targets):
        numbers = parameters(target.functional)
        others = tuple(sorted((key, value) for key, value in numbers.items() if key != name))
        kind = jax.tree.structure(target.functional)
        members.setdefault((kind, others), []).append(index)
    found = [_line(targets, indices, name) for indices in members.values()]
    return sorted(found, key=lambda line: line.maturity or 0.0)


def _line(targets: Sequence[Target], indices: list[int], name: str) -> Line:
    numbers = {index: parameters(targets[index].functional) for index in indices}
    ordered = sorted(indices, key=lambda index: numbers[index][name])
    maturity = None if name == "maturity" else numbers[ordered[0]]["maturity"]
    return Line(maturity, ordered, np.array([numbers[index][name] for index in ordered]))
