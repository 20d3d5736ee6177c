"""The market convention on a chain whose smile is known."""

import numpy as np
import pytest

from slisde.data.implied_vol import implied
from slisde.data.surface.market import SPREAD_FLOOR, VEGA_FLOOR, Weighting, market_problem
from slisde.errors import ArgumentError, ProblemError
from slisde.flow.grid import expiry_grid
from slisde.functionals.problem_file import read_problem, write_problem
from slisde.functionals.terminal import Call, Forward
from tests.data.surface.chains import SPOT, forward, make_chain, smile


@pytest.fixture(scope="module")
def chain():
    return make_chain()


@pytest.fixture(scope="module")
def problem(chain):
    return market_problem(chain)


def options(problem):
    return [target for target in problem.targets if target.group != "forwards"]


def columns(problem):
    """Return strikes, maturities, values and kinds of the options."""
    chosen = options(problem)
    return (
        np.array([target.functional.strike for target in chosen]),
        np.array([target.functional.maturity for target in chosen]),
        np.array([target.value for target in chosen]),
        np.array([isinstance(target.functional, Call) for target in chosen]),
    )


def test_targets_are_quotes_out_of_the_money_whose_volatility_is_the_smile(problem):
    strike, maturity, value, is_call = columns(problem)
    assert np.array_equal(is_call, strike >= 1.0)
    levels = strike * np.array([forward(t) for t in maturity]) / SPOT
    assert 0.60 <= levels.min() < 0.61
    assert 1.34 < levels.max() <= 1.35
    volatility = implied(value, strike, maturity, is_call).volatility
    np.testing.assert_allclose(volatility, smile(np.log(strike)), rtol=1e-8)


def test_every_expiry_has_a_forward_of_one_that_is_never_held_out(problem):
    _, maturity, _, _ = columns(problem)
    forwards = [target for target in problem.targets if isinstance(target.functional, Forward)]
    assert [t.functional.maturity for t in forwards] == np.unique(maturity).tolist()
    assert {(t.value, t.group, t.held_out) for t in forwards} == {(1.0, "forwards", False)}
    assert problem.horizon == maturity.max()
    assert problem.initial_value == 1.0
    assert problem.name == "made market"


def test_weighted_squared_errors_are_squared_errors_of_the_volatility(problem):
    strike, maturity, value, is_call = columns(problem)
    vega = implied(value, strike, maturity, is_call).vega
    weight = np.array([target.weight for target in options(problem)])
    np.testing.assert_allclose(weight * np.maximum(vega, VEGA_FLOOR) ** 2, 100.0**2, rtol=1e-6)
    assert (vega < VEGA_FLOOR).any()


def test_a_forward_weighs_as_much_as_the_quote_nearest_to_the_money(problem):
    strike, maturity, _, _ = columns(problem)
    weight = np.array([target.weight for target in options(problem)])
    for target in problem.targets:
        if isinstance(target.functional, Forward):
            here = maturity == target.functional.maturity
            nearest = np.argmin(np.where(here, np.abs(np.log(strike)), np.inf))
            assert target.weight == weight[nearest]


def test_each_quote_counts_alike_and_the_forwards_count_a_tenth_of_all_quotes(problem):
    groups = [target.group for target in problem.targets]
    puts, calls = groups.count("puts"), groups.count("calls")
    assert problem.group_weights["puts"] / problem.group_weights["calls"] == puts / calls
    assert 10 * problem.group_weights["forwards"] == pytest.approx(
        problem.group_weights["puts"] + problem.group_weights["calls"]
    )


def test_every_fourth_strike_is_held_out_between_fitted_ones(problem):
    strike, maturity, _, _ = columns(problem)
    held = np.array([target.held_out for target in options(problem)])
    starts = set()
    for t in np.unique(maturity):
        positions = np.flatnonzero(held[maturity == t])
        assert np.all(np.diff(strike[maturity == t]) > 0.0)
        assert np.all(np.diff(positions) == 4)
        assert positions[0] > 0
        assert positions[-1] < (maturity == t).sum() - 1
        starts.add(positions[0])
    assert len(starts) == 4
    assert held.mean() == pytest.approx(0.25, abs=0.02)


def test_bid_and_ask_are_kept_in_units_of_the_forward(problem):
    assert all(t.bid < t.value < t.ask for t in options(problem))
    one_sided = market_problem(make_chain(two_sided=False))
    assert {(t.bid, t.ask) for t in options(one_sided)} == {(None, None)}


def test_spreads_can_be_the_unit_of_the_errors(chain):
    problem = market_problem(chain, weighting=Weighting.SPREAD)
    sides = np.array([(t.bid, t.ask) for t in options(problem)], dtype=float)
    half = 0.5 * np.diff(sides)[:, 0]
    weight = np.array([t.weight for t in options(problem)])
    scale = weight * np.maximum(half, SPREAD_FLOOR) ** 2
    np.testing.assert_allclose(scale, scale[0], rtol=1e-9)
    with pytest.raises(ProblemError, match=r"made.csv has quotes without bid and ask: use the"):
        market_problem(make_chain(two_sided=False), weighting=Weighting.SPREAD)


def test_without_a_spot_the_range_is_in_units_of_the_forward():
    strike, _, _, _ = columns(market_problem(make_chain(spot=None), moneyness=(0.8, 1.1)))
    assert 0.80 <= strike.min() < 0.81
    assert 1.09 < strike.max() <= 1.10


def test_what_leaves_nothing_to_fit_is_refused(chain):
    with pytest.raises(ProblemError, match="no quote out of the money of 2026-03-06 in the range"):
        market_problem(chain, moneyness=(3.0, 4.0))
    with pytest.raises(ArgumentError, match="`moneyness` must be two positive numbers"):
        market_problem(chain, moneyness=(1.35, 0.6))
    with pytest.raises(ArgumentError, match="`floor` must be positive"):
        market_problem(chain, floor=0.0)


def test_the_problem_survives_a_file_and_its_expiries_fit_on_a_grid(problem, tmp_path):
    write_problem(tmp_path / "market.toml", problem)
    again = read_problem(tmp_path / "market.toml")
    np.testing.assert_array_equal(again.weights(), problem.weights())
    maturities = {float(target.functional.maturity) for target in again.targets}
    assert maturities <= set(expiry_grid(maturities, 64).times.tolist())
