"""Prices with deltas and volatilities."""

import math

import pytest

from slisde.calibration.estimator import Estimator
from slisde.data.surface.market import market_problem
from slisde.experiments.pricing import price_payoffs, price_run
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call
from slisde.functionals.text import read_functional
from tests.data.surface.chains import make_chain
from tests.experiments.untrained import untrained

PATHS = 8_192
MATURITY = 0.5
H = 1e-3


def read(*texts):
    return [read_functional(text.replace("T)", f"maturity={MATURITY})")) for text in texts]


@pytest.fixture(scope="module")
def mixing():
    return untrained(market_problem(make_chain(step=200.0)), readout="mixing")


def test_a_call_has_the_price_of_price_run_and_its_volatility(mixing):
    (call, put), paths = price_payoffs(
        mixing, read("call(strike=1.05, T)", "put(strike=0.95, T)"), PATHS
    )
    assert paths == PATHS
    alone = price_run(mixing, read("call(strike=1.05, T)"), PATHS)
    assert call.price.value == pytest.approx(float(alone.mean[0]), rel=1e-6)
    for payoff in (call, put):
        assert payoff.volatility is not None
        # The untrained readout has a volatility near 0.2; its own motion adds a little.
        assert 0.15 < payoff.volatility.value < 0.3
        assert 0.0 < payoff.volatility.standard_error < 0.02


def test_a_delta_is_the_difference_of_prices_on_the_same_paths(mixing):
    """The price of (sY − K)₊ is s times that at the strike K/s, and the law is smooth."""
    (call,), _ = price_payoffs(mixing, read("call(strike=1.05, T)"), PATHS)
    bumped = price_run(
        mixing, [Call(MATURITY, 1.05 / (1.0 + H)), Call(MATURITY, 1.05 / (1.0 - H))], PATHS
    ).mean
    difference = ((1.0 + H) * bumped[0] - (1.0 - H) * bumped[1]) / (2.0 * H)
    assert call.delta is not None
    assert call.delta.value == pytest.approx(float(difference), abs=2e-3)
    assert 0.0 < call.delta.standard_error < 0.02


def test_deltas_of_parity_add_up(mixing):
    (call, put, forward), _ = price_payoffs(
        mixing, read("call(strike=1.0, T)", "put(strike=1.0, T)", "forward(T)"), PATHS
    )
    assert call.delta is not None
    assert put.delta is not None
    assert forward.delta is not None
    assert call.delta.value - put.delta.value == pytest.approx(forward.delta.value, abs=1e-5)
    assert forward.delta.value == pytest.approx(forward.price.value, rel=1e-6)
    assert forward.volatility is None


@pytest.mark.parametrize(
    ("payoff", "readout", "estimator", "reason"),
    [
        ("digital_above(strike=1.0, T)", "mixing", Estimator.CONDITIONAL, None),
        ("digital_above(strike=1.0, T)", "mixing", Estimator.PATHS, "only the conditional law"),
        ("digital_below(strike=1.0, T)", "martingale", Estimator.CONDITIONAL, "only the condit"),
        ("crosses_above(barrier=1.1, T)", "mixing", Estimator.CONDITIONAL, "crosses the barrier"),
        (
            "up_and_out_call(strike=1.0, barrier=1.2, T)",
            "mixing",
            Estimator.CONDITIONAL,
            "crosses the barrier",
        ),
        ("lookback_call(T)", "martingale", Estimator.HEDGED, None),
        ("asian_put(strike=1.0, T)", "linear", Estimator.PATHS, None),
    ],
)
def test_a_payoff_that_jumps_has_no_delta_unless_its_law_is_smooth(
    payoff, readout, estimator, reason
):
    problem = Problem([Target(Call(MATURITY, 1.0), 0.1)], MATURITY, 1.0)
    fitted = untrained(problem, steps=4, readout=readout)
    (priced,), _ = price_payoffs(fitted, read(payoff), 64, estimator=estimator)
    assert (priced.delta is None) == (reason is not None)
    assert (priced.no_delta is None) == (reason is None)
    assert reason is None or reason in str(priced.no_delta)


def test_a_digitals_delta_is_that_of_its_smooth_expectation(mixing):
    (digital,), _ = price_payoffs(mixing, read("digital_above(strike=1.0, T)"), PATHS)
    above, below = price_run(
        mixing,
        read(
            f"digital_above(strike={1.0 / (1.0 + H)}, T)",
            f"digital_above(strike={1.0 / (1.0 - H)}, T)",
        ),
        PATHS,
    ).mean
    assert digital.delta is not None
    assert digital.delta.value == pytest.approx((above - below) / (2.0 * H), rel=0.01)


def test_the_start_scales_deltas_and_paths_that_start_anywhere_have_none():
    targets = [Target(Call(MATURITY, 2.0), 0.1)]
    doubled = untrained(Problem(targets, MATURITY, 2.0), steps=4, readout="martingale")
    (forward,), _ = price_payoffs(doubled, read("forward(T)"), 64)
    assert forward.delta is not None
    assert forward.delta.value == pytest.approx(forward.price.value / 2.0, rel=1e-6)
    free = untrained(Problem(targets, MATURITY), steps=4)
    (forward,), _ = price_payoffs(free, read("forward(T)"), 64)
    assert forward.delta is None
    assert forward.no_delta == "the model's paths start anywhere"


def test_prices_in_other_units_have_no_volatility():
    problem = Problem([Target(Call(MATURITY, 1.0), 0.05)], MATURITY, 1.0)
    fitted = untrained(problem, steps=4, readout="mixing")
    (call,), _ = price_payoffs(fitted, read("call(strike=1.0, T)"), 64)
    assert call.volatility is None


@pytest.mark.parametrize("payoff", ["call(strike=1.05, T)", "digital_below(strike=0.9, T)"])
def test_a_hedged_delta_has_the_same_mean_and_less_noise(mixing, payoff):
    (plain,), _ = price_payoffs(mixing, read(payoff), PATHS)
    (hedged,), _ = price_payoffs(mixing, read(payoff), PATHS, estimator=Estimator.HEDGED)
    assert plain.delta is not None
    assert hedged.delta is not None
    assert hedged.delta.standard_error < 0.8 * plain.delta.standard_error
    error = math.hypot(plain.delta.standard_error, hedged.delta.standard_error)
    assert hedged.delta.value == pytest.approx(plain.delta.value, abs=4.0 * error)
