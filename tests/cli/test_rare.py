"""`slisde rare` as scripts and people see it."""

import pytest

from tests.cli import market_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return market_run.write(tmp_path_factory.mktemp("rare") / "run")


def test_scripts_find_the_promised_keys(slisde, run):
    arguments = ("rare", str(run), "--event", "terminal > 1.05", "--paths", "256", "--json")
    values = slisde(*arguments).json()
    promised = "probability standard_error plain ess kl mean_weight hit_rate verdict"
    assert values.keys() >= set(promised.split())
    assert values["verdict"] == "not rare"
    assert values["plain"]["probability"] == values["probability"]
    assert values["ess"] is None


def test_a_tilted_answer_is_shown_beside_the_plain_one(slisde, run):
    arguments = ("rare", str(run), "--event", "terminal < 0.6", "--paths", "2048")
    lines = slisde(*arguments).out.splitlines()
    names = "probability plain tilt hit coverage effective mean verdict"
    assert [line.split()[0] for line in lines] == names.split()
    values = slisde(*arguments, "--json").json()
    assert values["reused"] is True
    assert values["hit_rate"] > 0.15
    assert 0.0 < values["probability"] < 0.1
    assert abs(values["mean_weight"] - 1.0) <= 4.0 * values["mean_weight_error"] < 0.4
    assert f"{values['probability']:.4g}" in lines[0]


def test_a_person_reads_the_verdict(slisde, run):
    out = slisde("rare", str(run), "--event", "terminal > 0.01", "--paths", "256").out
    assert out.startswith("probability  1 ± 0")
    assert "verdict      certain: all of 512 plain paths are in the event" in out


@pytest.mark.parametrize(
    ("event", "message"),
    [("terminal", "is not an event"), ("terminal[7] > 1", "matures outside the grid")],
)
def test_a_wrong_event_is_one_line(slisde, run, event, message):
    outcome = slisde("rare", str(run), "--event", event)
    assert outcome.code == 2
    assert outcome.err.startswith("slisde: error:")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
