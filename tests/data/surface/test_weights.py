"""Errors in vol points, whatever the units."""

import numpy as np
import pytest

from slisde.data.smile import score, smile_quotes
from slisde.data.surface.paper import paper_problem
from slisde.data.surface.weights import weighted_by_vega
from tests.data.surface.chains import make_chain


def test_the_weighted_error_of_a_small_change_is_that_of_the_volatility():
    problem = paper_problem(make_chain())
    weighted = weighted_by_vega(problem)
    quotes = smile_quotes(problem)
    weight = np.array([target.weight for target in weighted.targets])
    moved = quotes.price + 1e-6 * quotes.unit
    points = np.sqrt(weight[quotes.index]) * (moved - quotes.price)
    for entry in score(moved, quotes):
        rows = quotes.held_out == entry.held_out
        if entry.maturity is not None:
            rows &= quotes.maturity == entry.maturity
        assert entry.rmse == pytest.approx(np.sqrt(np.mean(points[rows] ** 2)), rel=1e-3)


def test_digitals_and_what_has_no_volatility_count_a_point_for_a_hundredth():
    problem = paper_problem(make_chain())
    weighted = weighted_by_vega(problem)
    quotes = smile_quotes(problem)
    others = set(range(len(problem.targets))) - set(quotes.index.tolist())
    assert set(quotes.left_out.tolist()) < others
    assert {weighted.targets[i].weight for i in others} == {100.0**2}
    np.testing.assert_array_equal(weighted.values, problem.values)
    assert weighted.group_weights == problem.group_weights
