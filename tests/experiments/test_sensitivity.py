"""Sensitivities to quotes, by a refit."""

from datetime import timedelta

import numpy as np
import pytest

from slisde.data.surface.market import market_problem
from slisde.errors import ProblemError
from slisde.experiments import sensitivity
from slisde.experiments.sensitivity import gauss_newton, sensitivities
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward
from slisde.functionals.text import read_functional
from tests.data.surface.chains import DAY, make_chain
from tests.experiments.untrained import untrained

ROWS, WEIGHTS = 5, 40


def test_known_slopes_are_followed_by_the_smallest_change_of_the_weights():
    generator = np.random.default_rng(0)
    slopes = generator.normal(size=(ROWS, WEIGHTS))
    bumps = np.eye(ROWS)[:, :2]
    moves = gauss_newton((slopes, slopes), np.ones(ROWS), bumps)
    np.testing.assert_allclose(moves, np.linalg.pinv(slopes) @ bumps, atol=1e-6)


def test_noisy_slopes_are_followed_less_and_better_than_blindly():
    """A direction that is noise in both halves is left alone."""
    generator = np.random.default_rng(1)
    truth = generator.normal(size=(ROWS, WEIGHTS))
    truth[-1] = truth[0] + 1e-3 * truth[-1]  # hardly told apart, and below the noise
    halves = [truth + 0.05 * generator.normal(size=truth.shape) for _ in range(2)]
    bumps = np.eye(ROWS)[:, :1]
    moves = gauss_newton((halves[0], halves[1]), np.ones(ROWS), bumps)
    blind = np.linalg.pinv(0.5 * (halves[0] + halves[1])) @ bumps
    assert np.linalg.norm(moves) < 0.5 * np.linalg.norm(blind)
    missed, blindly = (np.linalg.norm(truth @ each - bumps) for each in (moves, blind))
    assert missed < blindly


@pytest.fixture(scope="module")
def bumps():
    patch = pytest.MonkeyPatch()
    for name, value in {"PER_EXPIRY": 6, "BATCHES": 4, "CHECKS": 16}.items():
        patch.setattr(sensitivity, name, value)
    expiries = [DAY + timedelta(days=days) for days in (91, 364)]
    problem = market_problem(make_chain(step=400.0, expiries=expiries), expiries=expiries)
    fitted = untrained(problem, steps=8, readout="mixing")
    last = max(fitted.problem.maturities)
    payoffs = [
        Call(last, 1.0),
        Forward(last),
        read_functional(f"asian_put(strike=1, maturity={last})"),
    ]
    told = []
    found = sensitivities(fitted, payoffs, report=lambda *done: told.append(done))
    patch.undo()
    assert told == [(index + 1, 4) for index in range(4)]
    return {bump.group: bump for bump in found}, fitted, last


def test_puts_calls_and_expiries_are_bumped(bumps):
    found, fitted, _ = bumps
    expiries = [f"T = {maturity:.3f}" for maturity in fitted.problem.maturities]
    assert sorted(found) == sorted(["puts", "calls", *expiries])
    assert sum(found[name].quotes for name in expiries) == (
        found["puts"].quotes + found["calls"].quotes
    )


def test_the_refit_moves_a_group_more_than_the_others(bumps):
    for bump in bumps[0].values():
        assert 0.3 < bump.reached.value < 1.2
        assert bump.elsewhere < bump.reached.value
        assert 0.0 < bump.reached.standard_error < 0.2


def test_bumps_add_up_to_a_bump_of_everything(bumps):
    """The step is linear in the bump: sides and expiries are two ways to bump all quotes."""
    found, _, last = bumps
    for payoff in range(3):
        change = {name: bump.changes[payoff].value for name, bump in found.items()}
        sides = change.pop("puts") + change.pop("calls")
        assert sides == pytest.approx(sum(change.values()), rel=0.02, abs=2e-5)
    sides = found["puts"].changes[0].value + found["calls"].changes[0].value
    vega = 0.01 * 0.3989 * last**0.5  # a vol point at the money
    assert sides == pytest.approx(vega, rel=0.2)


def test_a_forward_does_not_move_and_a_call_moves_with_its_own_expiry(bumps):
    found, _, last = bumps
    for bump in found.values():
        assert bump.changes[1].value == pytest.approx(0.0, abs=1e-5)
    own = found[f"T = {last:.3f}"].changes[0]
    assert own.value > 4.0 * own.standard_error > 0.0


def test_a_problem_without_volatilities_has_none():
    fitted = untrained(Problem([Target(Call(0.5, 1.0), 0.1)], 0.5, 1.0), steps=4)
    with pytest.raises(ProblemError, match="units of the forward"):
        sensitivities(fitted, [Call(0.5, 1.0)])
