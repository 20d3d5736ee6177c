"""`slisde price` on a chain."""

import pytest

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
