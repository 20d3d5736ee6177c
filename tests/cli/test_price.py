"""`slisde price` on a chain."""

import pytest

from slisde.experiments import sensitivity
from slisde.experiments.pricing import Measured
from slisde.experiments.sensitivity import GroupBump
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call
from tests.cli import market_run

CALL = "call(strike=1.0, maturity=0.5)"
BARRIER = "up_and_out_call(strike=1.0, barrier=1.2, maturity=0.5)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return market_run.write(tmp_path_factory.mktemp("price") / "run")


def test_prices_come_with_deltas_and_volatilities_or_a_reason(slisde, run):
    values = slisde("price", str(run), CALL, BARRIER, "--paths", "512", "--json").json()
    assert values["estimator"] == "conditional"
    call, barrier = values["prices"]
    assert 0.4 < call["delta"] < 0.7
    assert 0.1 < call["implied_vol"] < 0.3
    assert call["delta_standard_error"] > 0.0
    assert call["implied_vol_standard_error"] > 0.0
    assert call["no_delta"] is None
    assert barrier["delta"] is None
    assert barrier["implied_vol"] is None
    assert barrier["no_delta"] == "the payoff jumps where a path crosses the barrier"


def test_a_person_reads_the_same(slisde, run):
    out = slisde("price", str(run), CALL, BARRIER, "--paths", "512").out
    first, second, reason = out.splitlines()
    assert first.startswith(CALL)
    assert first.count("±") == 3
    assert " delta 0." in first
    assert " vol 0." in first
    assert second.endswith("no delta")
    assert reason == "no delta: the payoff jumps where a path crosses the barrier."


def test_a_hedge_makes_the_error_smaller(slisde, run):
    errors = [
        slisde("price", str(run), CALL, "--paths", "512", "--estimator", name, "--json").json()[
            "prices"
        ][0]["standard_error"]
        for name in ("paths", "conditional", "hedged")
    ]
    assert errors == sorted(errors, reverse=True)


def test_sensitivities_follow_where_they_are_wanted(slisde, run, monkeypatch):
    bump = GroupBump(
        "puts", 7, Measured(0.9, 0.01), 0.1, [Measured(2e-4, 1e-5), Measured(-3e-4, 2e-5)]
    )
    monkeypatch.setattr(sensitivity, "sensitivities", lambda *_, **__: [bump])
    arguments = ("price", str(run), CALL, BARRIER, "--paths", "512", "--sensitivity")
    (found,) = slisde(*arguments, "--json").json()["sensitivity"]
    assert found["group"] == "puts"
    assert (found["reached"], found["elsewhere"], found["quotes"]) == (0.9, 0.1, 7)
    assert found["changes"][1] == {"payoff": BARRIER, "change": -3e-4, "standard_error": 2e-5}
    lines = slisde(*arguments).out.splitlines()
    assert any(line.split() == ["puts", "7", "0.90", "±", "0.01", "0.10"] for line in lines)
    assert lines[lines.index(f"{BARRIER} changes by") + 1].split()[1:] == [
        "-0.000300",
        "±",
        "2e-05",
    ]


def test_a_run_without_quotes_has_no_sensitivities(slisde, tmp_path):
    problem = Problem([Target(Call(0.5, 1.0), 0.1)], 0.5, 1.0, name="expectations")
    run = market_run.write(tmp_path / "run", problem=problem)
    outcome = slisde("price", str(run), CALL, "--sensitivity")
    assert (outcome.code, outcome.out) == (2, "")
    assert "expectations is not in units of the forward" in outcome.err
