"""`slisde evaluate` on a chain."""

import pytest

from tests.cli import market_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return market_run.write(tmp_path_factory.mktemp("evaluate") / "run")


def test_volatilities_and_arbitrage_are_said_in_both_forms(slisde, run):
    values = slisde("evaluate", str(run), "--paths", "256", "--json").json()
    scores = values["implied_vol"]
    assert set(scores) == {"fitted", "held_out", "expiries"}
    assert set(scores["held_out"]) == {"rmse", "noise", "inside", "quotes"}
    assert {"maturity", "fitted"} <= set(scores["expiries"][0])
    assert set(values["arbitrage"]) == {"monotone", "convex", "calendar", "checked", "largest"}
    plain = slisde("evaluate", str(run), "--paths", "256").out
    assert "implied volatility, root mean squared error in vol points" in plain
    assert f"{scores['fitted']['rmse']:.3f}" in plain
    assert "arbitrage beyond noise: monotone 0, convex 0, calendar 0" in plain


def test_the_estimator_can_be_chosen_and_a_wrong_one_is_answered(slisde, run, tmp_path):
    losses = {
        name: slisde("evaluate", str(run), "--paths", "256", "--estimator", name, "--json").json()[
            "noise_floor"
        ]
        for name in ("paths", "hedged")
    }
    assert losses["hedged"] < losses["paths"]
    outcome = slisde("evaluate", str(run), "--estimator", "quick")
    assert outcome.code == 2
    assert "'quick' is not one of 'paths', 'conditional', 'hedged'" in outcome.err
    linear = market_run.write(tmp_path / "linear", readout="linear")
    outcome = slisde("evaluate", str(linear), "--paths", "64", "--estimator", "hedged")
    assert outcome.code == 2
    assert "needs a martingale readout" in outcome.err
    assert outcome.err.count("\n") == 1


def test_the_options_choices_are_the_librarys():
    from typing import get_args

    from slisde.calibration.estimator import Estimator
    from slisde.cli.estimator import Choice

    literal = get_args(Choice)[0]
    assert list(get_args(literal)) == [each.value for each in Estimator]
