"""Scores in volatilities, on a chain whose smile is known."""

from dataclasses import replace

import numpy as np
import pytest

from slisde.data.smile import model_volatility, score, smile_quotes
from slisde.data.surface.market import market_problem
from slisde.data.surface.paper import paper_problem
from slisde.data.surface.published import EXPIRIES as PUBLISHED
from slisde.data.surface.published import as_published_problem
from slisde.errors import ArgumentError, ProblemError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Forward
from tests.data.surface.chains import DAY, SPOT, black_price, forward, make_chain, smile


@pytest.fixture(scope="module")
def problem():
    return market_problem(make_chain())


@pytest.fixture(scope="module")
def quotes(problem):
    return smile_quotes(problem)


def prices(quotes, shift):
    """Return the prices of a smile that is moved by a volatility."""
    deviation = (smile(quotes.log_moneyness) + shift) * np.sqrt(quotes.maturity)
    sign = np.where(quotes.is_call, 1.0, -1.0)
    return black_price(np.exp(quotes.log_moneyness), 1.0, deviation, sign)


def test_quotes_carry_the_smile_and_what_lies_around_it(problem, quotes):
    assert [problem.targets[i].value for i in quotes.index] == quotes.price.tolist()
    np.testing.assert_allclose(quotes.volatility, smile(quotes.log_moneyness), rtol=1e-8)
    assert np.all(quotes.bid_volatility < quotes.volatility)
    assert np.all(quotes.volatility < quotes.ask_volatility)
    h = 1e-5
    by_differences = (prices(quotes, h) - prices(quotes, -h)) / (2.0 * h)
    np.testing.assert_allclose(quotes.vega, by_differences, rtol=1e-4, atol=1e-9)
    assert quotes.held_out.tolist() == [problem.targets[i].held_out for i in quotes.index]


def test_a_smile_that_is_two_points_off_scores_two_points_everywhere(quotes):
    scores = score(prices(quotes, 0.02), quotes)
    assert [s.rmse for s in scores] == pytest.approx([2.0] * len(scores), rel=1e-6)
    assert sum(s.quotes for s in scores if s.maturity is None) == quotes.price.size
    assert sum(s.quotes for s in scores if s.maturity is not None) == quotes.price.size
    assert {(s.maturity, s.held_out) for s in scores} == {
        (maturity, held_out)
        for maturity in (None, *np.unique(quotes.maturity).tolist())
        for held_out in (False, True)
    }


def test_the_quotes_themselves_score_perfectly_and_lie_inside(quotes):
    for entry in score(quotes.price, quotes):
        assert entry.rmse < 1e-8
        assert entry.inside == 1.0
    assert {s.inside for s in score(quotes.ask + 1e-9, quotes)} == {0.0}


def test_fitted_and_held_out_quotes_are_told_apart(quotes):
    mixed = np.where(quotes.held_out, prices(quotes, 0.01), quotes.price)
    fitted, held_out = score(mixed, quotes)[:2]
    assert (fitted.held_out, held_out.held_out) == (False, True)
    assert fitted.rmse < 1e-8
    assert held_out.rmse == pytest.approx(1.0, rel=1e-6)


def test_one_sided_quotes_have_no_share_inside():
    quotes = smile_quotes(market_problem(make_chain(two_sided=False)))
    assert np.all(np.isnan(quotes.bid_volatility))
    assert {s.inside for s in score(quotes.price, quotes)} == {None}


def test_a_price_of_nothing_has_no_volatility_and_one_above_its_bound_cannot_be_scored(quotes):
    nothing = np.where(np.arange(quotes.price.size) % 2 == 0, 0.0, -1e-6)
    assert np.all(model_volatility(nothing, quotes) == 0.0)
    broken = np.where(np.arange(quotes.price.size) == 0, 2.0, quotes.price)
    assert np.isnan(score(broken, quotes)[0].rmse)


def test_in_units_of_the_spot_the_smile_is_the_same():
    problem = paper_problem(make_chain())
    quotes = smile_quotes(problem)
    assert quotes.left_out.size > 0
    assert {float(problem.targets[i].functional.maturity) for i in quotes.left_out} < set(
        problem.forwards
    )
    np.testing.assert_allclose(quotes.volatility, smile(quotes.log_moneyness), rtol=1e-7)
    np.testing.assert_allclose(
        quotes.forward, [forward(maturity) / SPOT for maturity in quotes.maturity]
    )
    moved = quotes.unit * prices(quotes, 0.02)
    assert [s.rmse for s in score(moved, quotes)] == pytest.approx([2.0] * 12, rel=1e-6)
    assert {s.inside for s in score(quotes.price, quotes)} == {1.0}
    h = 1e-5
    by_differences = quotes.unit * (prices(quotes, h) - prices(quotes, -h)) / (2.0 * h)
    np.testing.assert_allclose(quotes.vega, by_differences, rtol=1e-4)


def test_the_paper_and_the_market_give_a_strike_one_volatility(quotes):
    other = smile_quotes(paper_problem(make_chain()))
    places = np.round(np.stack([quotes.maturity, quotes.log_moneyness], axis=1), 9).tolist()
    known = dict(zip(map(tuple, places), quotes.volatility.tolist(), strict=True))
    pairs = [
        (known[place], volatility)
        for place, volatility in zip(
            map(tuple, np.round(np.stack([other.maturity, other.log_moneyness], 1), 9).tolist()),
            other.volatility.tolist(),
            strict=True,
        )
        if place in known
    ]
    assert len(pairs) > 200
    np.testing.assert_allclose(*np.transpose(pairs), rtol=1e-7)


def test_prices_that_were_not_undiscounted_have_the_volatility_of_the_price_over_the_discount():
    chain = make_chain(expiries=PUBLISHED, low=0.9, high=1.05)
    problem = as_published_problem(chain, spot=SPOT)
    quotes = smile_quotes(problem)
    np.testing.assert_allclose(
        quotes.unit / quotes.forward, [problem.discounts[t] for t in quotes.maturity]
    )
    # Days are counted from after the prices: what is right is the total variance.
    days = {
        t: (expiry - DAY).days
        for t, expiry in zip(sorted(problem.forwards), PUBLISHED, strict=True)
    }
    right = np.array([days[t] / 365.0 / t for t in quotes.maturity.tolist()]) ** 0.5
    # Between the quotes, which are 25 apart, prices were interpolated; quoted ones stand as they are.
    level = np.exp(quotes.log_moneyness) * quotes.forward * SPOT
    out = (
        (quotes.is_call == (quotes.log_moneyness >= 0.0))
        & (level % 25.0 < 1e-6)
        & (level > 3650.0)
        & (level < 4150.0)
    )
    assert out.sum() >= 10
    np.testing.assert_allclose(
        quotes.volatility[out], (right * smile(quotes.log_moneyness))[out], rtol=1e-6
    )
    # Levels beyond the quotes that were filled with zero have no volatility.
    filled = [i for i, t in enumerate(problem.targets) if t.value == 0.0 and t.group != "digitals"]
    assert filled
    assert set(filled) <= set(quotes.left_out.tolist())


def test_a_smile_needs_options_with_forwards(quotes):
    without = replace(paper_problem(make_chain()), forwards={})
    with pytest.raises(ProblemError, match="made paper is not in units of the forward"):
        smile_quotes(without)
    bare = Problem([Target(Forward(1.0), 1.0)], 1.0)
    with pytest.raises(ProblemError, match="has no calls or puts"):
        smile_quotes(bare)
    with pytest.raises(ArgumentError, match="`prices` must have the shape"):
        score(quotes.price[1:], quotes)


def test_a_problem_without_held_out_quotes_has_scores_of_fitted_ones_only(problem):
    fitted = replace(problem, targets=[replace(t, held_out=False) for t in problem.targets])
    quotes = smile_quotes(fitted)
    assert {s.held_out for s in score(quotes.price, quotes)} == {False}
