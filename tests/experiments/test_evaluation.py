"""What is said of a fit, in prices and in volatilities."""

import json
from dataclasses import replace

import numpy as np
import pytest

from slisde.calibration.estimator import Estimator
from slisde.data.surface.market import market_problem
from slisde.data.surface.paper import paper_problem
from slisde.errors import ArgumentError
from slisde.experiments.evaluation import evaluate_run
from tests.data.surface.chains import make_chain
from tests.experiments.untrained import untrained

PATHS = 8_192


@pytest.fixture(scope="module")
def problem():
    return market_problem(make_chain(step=200.0))


@pytest.fixture(scope="module")
def mixing(problem):
    return untrained(problem, readout="mixing")


@pytest.fixture(scope="module")
def values(mixing):
    return evaluate_run(mixing, PATHS)[1]


def test_a_market_is_scored_in_vol_points_overall_and_by_expiry(problem, values):
    scores = values["implied_vol"]
    expiries = sorted({float(target.functional.maturity) for target in problem.targets})
    assert [entry["maturity"] for entry in scores["expiries"]] == expiries
    for name in ("fitted", "held_out"):
        parts = [entry[name] for entry in scores["expiries"]]
        whole = scores[name]
        assert whole["quotes"] == sum(part["quotes"] for part in parts)
        squares = sum(part["quotes"] * part["rmse"] ** 2 for part in parts)
        assert whole["rmse"] == pytest.approx((squares / whole["quotes"]) ** 0.5)
        assert 0.0 <= whole["inside"] <= 1.0
        assert whole["noise"] > 0.0
    assert json.loads(json.dumps(values, allow_nan=False)) == values


def test_an_untrained_martingale_is_far_from_the_smile_and_free_of_arbitrage(values):
    assert values["implied_vol"]["fitted"]["rmse"] > 1.0
    arbitrage = values["arbitrage"]
    assert arbitrage["checked"] > 100
    kinds = ("monotone", "convex", "calendar", "largest")
    assert [arbitrage[kind] for kind in kinds] == [0, 0, 0, 0.0]


def test_a_readout_without_the_martingale_property_has_arbitrage(problem):
    linear = untrained(problem, readout="linear")
    assert sum(evaluate_run(linear, PATHS)[1]["arbitrage"][kind] for kind in ("convex", "calendar"))


def test_estimators_agree_within_their_errors_and_differ_in_them(mixing):
    results = {each: evaluate_run(mixing, PATHS, estimator=each)[0] for each in Estimator}
    reference = results[Estimator.CONDITIONAL]
    seen = reference.mean > 1e-3  # of rarer payoffs, few paths would have to tell the error
    for result in results.values():
        error = np.hypot(result.standard_error, reference.standard_error)
        assert np.all((np.abs(result.mean - reference.mean) <= 5.0 * error + 1e-7)[seen])
    noise = [np.sum(results[each].variance) for each in Estimator]
    assert noise == sorted(noise, reverse=True)


def test_only_problems_with_forwards_have_volatilities():
    paper = untrained(paper_problem(make_chain(step=200.0)), readout="mixing")
    assert evaluate_run(paper, 256)[1]["implied_vol"]["held_out"]["rmse"] > 0.0
    unknown = replace(paper, problem=replace(paper.problem, forwards={}))
    values = evaluate_run(unknown, 256)[1]
    assert "implied_vol" not in values
    assert "arbitrage" not in values


def test_a_hedge_needs_a_martingale(problem):
    with pytest.raises(ArgumentError, match="needs a martingale readout"):
        evaluate_run(untrained(problem, readout="linear"), 64, estimator=Estimator.HEDGED)
