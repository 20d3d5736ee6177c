"""`slisde calibrate CHAIN.csv`: from a file of quotes to a fitted path model."""

import tomllib

import numpy as np
import pytest

from tests.data.quotes.chains import black_chain, with_spread, write

SMALL = (
    *("--preset", "quick", "--steps", "12", "--paths", "32", "--grid", "8"),
    *("--set", "model.latent=8", "--set", "model.noise=2", "--set", "train.late_factor=1"),
)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    strikes = np.arange(3500.0, 6501.0, 250.0)
    quotes = with_spread(black_chain(days=(49, 182), strikes=strikes))
    return str(write(tmp_path_factory.mktemp("chain"), quotes))


def test_a_chain_is_fitted_by_a_martingale_on_its_expiries(slisde, chain, tmp_path):
    run = tmp_path / "run"
    outcome = slisde("calibrate", chain, *SMALL, "--out", str(run), "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json()["steps"] == 12
    config = tomllib.loads((run / "config.toml").read_text())
    assert config["model"]["readout"] == "mixing"
    assert config["grid"]["spacing"] == "maturities"
    assert "chain market" in (run / "report.html").read_text()
    again = slisde("calibrate", chain, *SMALL, "--out", str(run), "--resume", "--json")
    assert again.code == 0, again.err


def test_a_file_that_is_no_chain_is_one_line(slisde, tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text("day,weather\nmonday,rain\n")
    outcome = slisde("calibrate", str(file), *SMALL, "--out", str(tmp_path / "run"))
    assert outcome.code == 2
    assert outcome.err.startswith("slisde: error:")
    assert not (tmp_path / "run").exists()


def test_a_missing_file_is_one_line(slisde, tmp_path):
    outcome = slisde("calibrate", str(tmp_path / "no.csv"), "--out", str(tmp_path / "run"))
    assert outcome.code == 2
    assert "no.csv" in outcome.err
