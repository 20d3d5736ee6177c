"""The paper's five groups on a chain whose smile is known."""

import numpy as np
import pytest

from slisde.data.surface.groups import GROUPS
from slisde.data.surface.paper import paper_problem
from slisde.errors import ProblemError
from tests.data.surface.chains import SPOT, black_price, forward, make_chain, smile

STEP = 25.0


@pytest.fixture(scope="module")
def chain():
    return make_chain(step=STEP)


@pytest.fixture(scope="module")
def problem(chain):
    return paper_problem(chain)


def members(problem, group, maturity=None):
    return [
        target
        for target in problem.targets
        if target.group == group and maturity in (None, target.functional.maturity)
    ]


def strikes(targets):
    return np.array([target.functional.strike for target in targets])


def maturities(problem):
    return sorted({target.functional.maturity for target in problem.targets})


def test_the_groups_have_the_published_sizes_ranges_and_weights(problem):
    assert problem.name == "made paper"
    assert problem.initial_value == 1.0
    assert problem.group_weights == {name: group.weight for name, group in GROUPS.items()}
    assert len(maturities(problem)) == 5
    assert problem.horizon == maturities(problem)[-1]
    for maturity in maturities(problem):
        counts = {name: len(members(problem, name, maturity)) for name in GROUPS}
        # 0.88 is a put and 1.08 to 1.12 are calls already, where a level snaps to the same strike.
        assert counts["calls"] == counts["puts"] == 25
        assert counts["far_puts"] == 19
        assert 11 <= counts["far_calls"] <= 14
        assert counts["digitals"] == 12
        for name, group in GROUPS.items():
            chosen = strikes(members(problem, name, maturity))
            slack = 0.011 if name == "digitals" else 0.5 * STEP / SPOT + 1e-12
            assert chosen.min() >= group.low - slack
            assert chosen.max() <= group.high + slack


def test_strikes_are_quoted_and_nearest_to_the_levels(problem):
    quoted = np.arange(0.5 * SPOT, 1.5 * SPOT + 1.0, STEP) / SPOT
    for name in ("calls", "puts", "far_puts", "far_calls"):
        for strike in strikes(members(problem, name)):
            assert np.abs(quoted - strike).min() < 1e-12
            assert np.abs(GROUPS[name].levels - strike).min() <= 0.5 * STEP / SPOT + 1e-12


def test_prices_are_undiscounted_in_units_of_the_spot_and_obey_parity(problem):
    for maturity in maturities(problem):
        level = forward(maturity) / SPOT
        for name, sign in (("calls", 1.0), ("puts", -1.0), ("far_puts", -1.0), ("far_calls", 1.0)):
            chosen = members(problem, name, maturity)
            strike = strikes(chosen)
            deviation = smile(np.log(strike / level)) * np.sqrt(maturity)
            expected = black_price(strike, level, deviation, sign)
            np.testing.assert_allclose([t.value for t in chosen], expected, rtol=1e-9, atol=1e-14)
            assert all(t.bid < t.value < t.ask for t in chosen)


def test_digitals_are_slopes_of_the_puts(problem):
    for maturity in maturities(problem):
        level = forward(maturity) / SPOT
        chosen = members(problem, "digitals", maturity)
        middle, h = strikes(chosen), 1e-4
        puts = [
            black_price(k, level, smile(np.log(k / level)) * np.sqrt(maturity), -1.0)
            for k in (middle - h, middle + h)
        ]
        exact = (puts[1] - puts[0]) / (2.0 * h)
        # A slope over 2h is the slope at its middle up to h²/6 of the density's derivative, which
        # is at most 0.25 over the variance of a normal law.
        allowed = 0.013**2 / 6.0 * 0.25 / (0.15**2 * maturity)
        np.testing.assert_allclose([t.value for t in chosen], exact, atol=allowed)


def test_calls_and_puts_of_a_strike_are_held_out_together(problem):
    for maturity in maturities(problem):
        calls, puts = (members(problem, name, maturity) for name in ("calls", "puts"))
        assert np.array_equal(strikes(calls), strikes(puts))
        assert [t.held_out for t in calls] == [t.held_out for t in puts]


@pytest.mark.parametrize("step", [STEP, 45.0, 110.0, 200.0])
def test_no_strike_is_both_fitted_and_held_out_and_no_functional_is_repeated(step):
    problem = paper_problem(make_chain(step=step))
    options = [target for target in problem.targets if target.group != "digitals"]
    decided = {}
    for target, strike in zip(options, strikes(options).tolist(), strict=True):
        place = (target.functional.maturity, strike)
        assert decided.setdefault(place, target.held_out) == target.held_out


def test_a_quarter_of_every_group_is_held_out_inside_and_not_in_rows(problem):
    for name in GROUPS:
        everything = members(problem, name)
        assert np.mean([t.held_out for t in everything]) == pytest.approx(0.25, abs=0.06)
        for maturity in maturities(problem):
            chosen = sorted(members(problem, name, maturity), key=lambda t: t.functional.strike)
            positions = np.flatnonzero([t.held_out for t in chosen])
            assert positions.size > 0
            assert positions[0] > 0
            assert positions[-1] < len(chosen) - 1
            assert np.all(np.diff(positions) > 1)


def test_no_digital_is_made_of_a_put_that_is_a_target(problem):
    quoted = np.arange(0.5 * SPOT, 1.5 * SPOT + 1.0, STEP) / SPOT
    for maturity in maturities(problem):
        puts = np.concatenate(
            [strikes(members(problem, name, maturity)) for name in ("puts", "far_puts")]
        )
        free = quoted[np.abs(quoted[:, None] - puts).min(axis=1) > 1e-9]
        for middle in strikes(members(problem, "digitals", maturity)):
            sums = free[:, None] + free
            assert np.abs(sums - 2.0 * middle).min() < 1e-9


def test_only_strikes_inside_the_quoted_range_are_used():
    narrow = paper_problem(make_chain(step=STEP, low=0.85, high=1.10))
    assert strikes(narrow.targets).min() >= 0.85
    assert strikes(narrow.targets).max() <= 1.10
    assert members(narrow, "far_puts")
    assert {t.group for t in narrow.targets} == set(narrow.group_weights)


def test_sparse_quotes_give_each_strike_once():
    sparse = paper_problem(make_chain(step=200.0))
    for maturity in maturities(sparse):
        chosen = strikes(members(sparse, "calls", maturity))
        assert np.all(np.diff(chosen) > 0.04)
        assert chosen.size == 5


def test_a_spot_is_needed_and_can_be_given():
    without = make_chain(spot=None)
    with pytest.raises(
        ProblemError, match="does not have the level of the underlying: give `spot`"
    ):
        paper_problem(without)
    given = paper_problem(without, spot=2.0 * SPOT)
    assert strikes(given.targets).max() <= 1.5 / 2.0
    with pytest.raises(ProblemError, match=r"the spot of made.csv is -1: it must be positive"):
        paper_problem(without, spot=-1.0)
