"""Weights that make the loss of any convention one of volatilities."""

from dataclasses import replace

import numpy as np

from slisde.data.implied_vol import POINTS
from slisde.data.smile import smile_quotes
from slisde.functionals.problem import Problem


def weighted_by_vega(problem: Problem) -> Problem:
    """Return the same targets with weights by which a unit of error is a vol point.

    The squared error of a call or a put is divided by its squared vega, as in the `market` convention.
    Digitals, and prices that say nothing of the volatility, count a vol point for an error of 0.01.

    Args:
        problem: one that knows the forward of every maturity of its calls and puts.
    """
    quotes = smile_quotes(problem)
    unit = np.ones(len(problem.targets))
    unit[quotes.index] = quotes.vega
    targets = [
        replace(target, weight=weight)
        for target, weight in zip(problem.targets, ((POINTS / unit) ** 2).tolist(), strict=True)
    ]
    return replace(problem, targets=targets)
