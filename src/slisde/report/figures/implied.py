"""What calls, puts and digitals at the horizon say of the law of Y there."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from slisde.functionals.problem import Problem
from slisde.functionals.terminal import Call, DigitalAbove, DigitalBelow, Put
from slisde.report.figures.coordinates import parameters


@dataclass(frozen=True)
class ImpliedLaw:
    """Points of a law, each as its place, half the width it is an average over, and its height."""

    distribution: np.ndarray
    density: np.ndarray


def implied_law(problem: Problem) -> ImpliedLaw:
    """Return the points of the distribution function and of the density that targets imply.

    A digital is a point of the distribution function; the slope between two calls or puts is its
    average between their strikes; differences of neighbouring points are averages of the density.
    """
    curves = [
        _levels(problem, DigitalBelow, lambda value: value),
        _levels(problem, DigitalAbove, lambda value: 1.0 - value),
        _slopes(problem, Put, lambda slope: slope),
        _slopes(problem, Call, lambda slope: 1.0 + slope),
    ]
    return ImpliedLaw(
        np.concatenate(curves), np.concatenate([_differences(curve) for curve in curves])
    )


def _strikes(problem: Problem, kind: type) -> list[tuple[float, float]]:
    found = [
        (parameters(target.functional)["strike"], target.value)
        for target in problem.targets
        if isinstance(target.functional, kind)
        and math.isclose(float(target.functional.maturity), problem.horizon)
    ]
    return sorted(found)


def _levels(problem: Problem, kind: type, distribution) -> np.ndarray:
    points = [(strike, 0.0, distribution(value)) for strike, value in _strikes(problem, kind)]
    return np.array(points, dtype=float).reshape(-1, 3)


def _slopes(problem: Problem, kind: type, distribution) -> np.ndarray:
    points = [
        ((low + high) / 2, (high - low) / 2, distribution((second - first) / (high - low)))
        for (low, first), (high, second) in pairwise(_strikes(problem, kind))
    ]
    return np.array(points, dtype=float).reshape(-1, 3)


def _differences(curve: np.ndarray) -> np.ndarray:
    points = [
        ((left[0] + right[0]) / 2, (right[0] - left[0]) / 2, (right[2] - left[2]) / gap)
        for left, right in pairwise(curve)
        if (gap := right[0] - left[0]) > 0.0
    ]
    return np.array(points, dtype=float).reshape(-1, 3)
