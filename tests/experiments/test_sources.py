"""A problem by its name: built in, a problem.toml, or a file of quotes with its keys."""

import tomllib
from datetime import timedelta

import pytest

from slisde.errors import ConfigError, ProblemError
from slisde.experiments.build import build_grid, build_model, build_settings
from slisde.experiments.config import dump, load, parse
from slisde.experiments.presets import PRESETS, QUOTES, preset
from slisde.experiments.sources import build_problem
from tests.data.quotes.chains import DAY, SPOT, black_chain, with_spread, write


def problem_keys(**keys):
    return parse({"problem": keys}).problem


@pytest.fixture
def chain(tmp_path):
    return str(write(tmp_path, with_spread(black_chain())))


def test_a_file_of_quotes_becomes_a_surface_of_the_convention(chain):
    said = []
    problem = build_problem(problem_keys(source=chain, quote_date=DAY.isoformat()), said.append)
    assert problem.name == "chain market"
    assert problem.initial_value == 1.0
    assert problem.has_held_out
    whole = build_problem(problem_keys(source=chain, hold_out=False))
    assert not whole.has_held_out
    assert len(whole.targets) == len(problem.targets)


def test_the_keys_of_a_surface_choose_from_the_file(chain):
    chosen = [(DAY + timedelta(days=days)).isoformat() for days in (49, 182)]
    problem = build_problem(problem_keys(source=chain, expiries=chosen))
    maturities = {float(target.functional.maturity) for target in problem.targets}
    assert maturities == {49 / 365, 182 / 365}
    with pytest.raises(ProblemError, match="2031-01-01"):
        build_problem(problem_keys(source=chain, expiries=["2031-01-01"]))
    with pytest.raises(ProblemError, match="always holds strikes out"):
        build_problem(problem_keys(source=chain, convention="paper", hold_out=False, spot=SPOT))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"quote_date": "yesterday"}, "`quote_date` must be a date like 2026-01-30"),
        ({"expiries": ["17/04/2026"]}, "`expiries` must be a date like 2026-01-30"),
    ],
)
def test_a_date_that_is_none_is_said(chain, keys, message):
    with pytest.raises(ConfigError, match=message):
        build_problem(problem_keys(source=chain, **keys))


def test_keys_for_quotes_are_not_ignored_elsewhere():
    with pytest.raises(ConfigError, match="`spot` is for files of quotes, not for demo"):
        build_problem(problem_keys(source="demo", spot=100.0))


def test_observed_maxima_are_for_toy_only(chain):
    for source in ("demo", chain):
        with pytest.raises(ConfigError, match="`monitoring` is for toy, not for"):
            build_problem(problem_keys(source=source, monitoring=64))


@pytest.mark.parametrize("name", ["chains.txt", "dem"])
def test_what_is_no_problem_is_answered_with_what_is(name):
    with pytest.raises(ProblemError, match="there is no problem"):
        build_problem(problem_keys(source=name))


def test_quotes_have_the_presets_of_the_same_names():
    assert QUOTES.keys() == PRESETS.keys()
    assert preset("standard", "demo") != preset("standard", "chain.CSV")


@pytest.mark.parametrize("name", QUOTES)
def test_every_preset_for_quotes_is_a_configuration(name, chain, key):
    config = load(None, [f"problem.source={chain}", f"problem.spot={SPOT}"], preset(name, chain))
    assert parse(tomllib.loads(dump(config))) == config
    build_settings(config.train)
    problem = build_problem(config.problem)
    grid = build_grid(config.grid, problem.horizon, problem.maturities)
    for target in problem.targets:
        maturity = float(target.functional.maturity)
        assert name == "paper" or abs(grid.times - maturity).min() < 1e-12
    build_model(config.model, initial_value=problem.initial_value, key=key)
