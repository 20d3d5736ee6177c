import numpy as np
import pytest

from slisde.data.synthetic import GROUPS, MATURITIES, demo_exotics, demo_problem, true_values
from slisde.errors import ArgumentError, ProblemError
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem_file import read_problem, write_problem
from slisde.functionals.running import RealisedVariance
from slisde.functionals.terminal import Call, Forward, Put
from slisde.functionals.text import write_functional


@pytest.fixture(scope="module")
def problem():
    return demo_problem()


def strikes(problem, group, maturity, held_out=None):
    return [
        float(t.functional.strike)
        for t in problem.targets
        if t.group == group and t.functional.maturity == maturity and held_out in (None, t.held_out)
    ]


def test_the_demo_has_the_papers_five_groups_on_their_intervals(problem):
    sizes = {group: sum(t.group == group for t in problem.targets) for group in problem.groups}
    assert sizes == {"calls": 25, "puts": 25, "far_puts": 20, "far_calls": 20, "digitals": 20}
    intervals = {
        "calls": (0.88, 1.12),
        "puts": (0.88, 1.12),
        "far_puts": (0.60, 0.88),
        "far_calls": (1.08, 1.35),
        "digitals": (0.65, 0.98),
    }
    for group, (low, high) in intervals.items():
        for maturity in MATURITIES:
            chosen = strikes(problem, group, maturity)
            assert chosen[0] == low
            assert chosen[-1] <= high
            np.testing.assert_allclose(np.diff(chosen, 2), 0.0, atol=1e-12)


def test_digitals_have_a_third_of_the_loss_and_the_others_a_sixth_each(problem):
    for held_out in (False, True):
        weights = problem.weights(held_out=held_out)
        for group in problem.groups:
            share = sum(
                w for w, t in zip(weights, problem.targets, strict=True) if t.group == group
            )
            assert share == pytest.approx(1 / 3 if group == "digitals" else 1 / 6)


def test_a_quarter_is_held_out_between_fitted_strikes(problem):
    for group in problem.groups:
        held = [t.held_out for t in problem.targets if t.group == group]
        assert sum(held) == len(held) // 4
        patterns = set()
        for maturity in MATURITIES:
            everything = strikes(problem, group, maturity)
            positions = [everything.index(k) for k in strikes(problem, group, maturity, True)]
            assert positions
            assert min(positions) > 0
            assert max(positions) < len(everything) - 1
            assert np.all(np.diff(positions) > 1)
            patterns.add(tuple(positions))
        assert len(patterns) > 1


def test_no_held_out_call_is_given_away_by_the_put_of_its_strike(problem):
    for maturity in MATURITIES:
        assert strikes(problem, "calls", maturity, True) == strikes(problem, "puts", maturity, True)


def test_maturities_are_nodes_of_every_grid_in_use():
    for steps in (64, 128, 256, 512, 1024):
        assert set(MATURITIES) <= set(TimeGrid.uniform(1.0, steps).times.tolist())


def test_values_lie_within_a_spread_that_widens_away_from_the_money(problem):
    for target in problem.targets:
        assert 0.0 <= target.bid <= target.value <= target.ask
        assert target.ask - target.value >= (9.9e-4 if target.group == "digitals" else 1.9e-5)
    for maturity in MATURITIES:
        far = [
            (t.ask - t.value) / t.value
            for t in problem.targets
            if t.group == "far_puts" and t.functional.maturity == maturity
        ]
        assert np.all(np.diff(far) < 0.0)


def test_calls_and_puts_of_one_strike_obey_parity(problem):
    values = {
        kind: {
            (t.functional.maturity, t.functional.strike): t.value
            for t in problem.targets
            if isinstance(t.functional, kind)
        }
        for kind in (Call, Put)
    }
    shared = values[Call].keys() & values[Put].keys()
    assert len(shared) == 25
    for maturity, strike in shared:
        point = (maturity, strike)
        difference = values[Call][point] - values[Put][point]
        assert difference == pytest.approx(1.0 - float(strike), abs=1e-14)


def test_the_demo_survives_a_file(problem, tmp_path):
    write_problem(tmp_path / "demo.toml", problem)
    again = read_problem(tmp_path / "demo.toml")
    np.testing.assert_array_equal(again.values, problem.values)
    np.testing.assert_array_equal(again.weights(), problem.weights())


def test_the_demo_is_made_anew_with_the_same_numbers(problem):
    np.testing.assert_array_equal(demo_problem().values, problem.values)


def test_simulated_targets_have_their_exact_values(problem):
    chosen = [t for t in problem.targets if t.functional.strike in (0.81, 0.87, 1.0, 1.08)]
    assert {t.group for t in chosen} == set(GROUPS)
    truth = true_values([t.functional for t in chosen], 64, paths=20_000, seed=1)
    exact = np.array([t.value for t in chosen])
    assert np.all(np.abs(truth.mean - exact) <= 4.0 * truth.standard_error)


def test_exotics_have_plausible_true_values():
    plain = [RealisedVariance(1.0), Forward(1.0), Call(1.0, 1.0), Put(1.0, 1.0)]
    exotics = [*demo_exotics(), *plain]
    values, errors = true_values(exotics, 64, paths=10_000)
    names = [write_functional(exotic).partition("(")[0] for exotic in exotics]
    value = dict(zip(names, values, strict=True))
    assert np.all(errors > 0.0)
    assert abs(value["forward"] - 1.0) <= 4.0 * errors[names.index("forward")]
    assert 0.0 < value["up_and_out_call"] < value["call"]
    assert 0.0 < value["down_and_in_put"] < value["put"]
    assert 0.0 < value["asian_call"] < value["call"]
    assert value["running_maximum"] > 1.0
    # The mean variance of the year, its decay from V_0 to θ included, and the jumps' second moment.
    decay = -np.expm1(-2.03) / 2.03
    expected = 0.04 + (0.0324 - 0.04) * decay + 0.11 * (0.15**2 + (np.log(0.88) - 0.01125) ** 2)
    index = names.index("realised_variance")
    assert abs(values[index] - expected) <= 4.0 * errors[index] + 1e-4  # drift² per step: 4e-5
    assert 0.0 < value["lookback_put"] < 0.2


def test_a_seed_repeats_a_simulation_and_another_does_not():
    first, again, other = (
        true_values(demo_exotics(), 16, paths=100, seed=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert np.all(first.mean != other.mean)


def test_what_cannot_be_simulated_is_refused():
    with pytest.raises(ProblemError, match="matures outside the grid"):
        true_values([Forward(2.0)], 16, paths=10)
    with pytest.raises(ArgumentError, match="`paths` must be at least 2"):
        true_values(demo_exotics(), 16, paths=1)
