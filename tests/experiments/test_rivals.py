"""Heston and Bates beside a run: calibrated once, kept, and never fitted to what is held out."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from slisde.baselines.parametric import Parametric, ParametricFit
from slisde.calibration.run import RunDirectory
from slisde.data.bates import Bates
from slisde.data.smile import model_volatility, smile_quotes
from slisde.data.surface.market import market_problem
from slisde.errors import ArgumentError, ProblemError, SlisdeError, StorageError
from slisde.experiments import rivals
from slisde.experiments.rivals import FILE, check_rivals, fit_rivals, kept_rivals
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward
from tests.data.surface.chains import make_chain
from tests.experiments.untrained import untrained

TRUTH = Bates(0.0324, 2.03, 0.04, 0.38, -0.57, 0.11, -0.139, 0.15)


@pytest.fixture
def run(tmp_path):
    fitted = untrained(market_problem(make_chain(step=200.0)), readout="mixing")
    return replace(fitted, run=RunDirectory(tmp_path))


@pytest.fixture
def calibrated(monkeypatch):
    """Let QuantLib find the truth at once, and note what it was shown."""
    pytest.importorskip("QuantLib")
    seen = []

    def calibrate(kind, maturity, strike, implied_vol):
        seen.append((kind, maturity, strike, implied_vol))
        return ParametricFit(kind, {name: getattr(TRUTH, name) for name in kind.names}, 0.0, 1.5)

    monkeypatch.setattr(rivals, "calibrate", calibrate)
    return seen


def test_both_models_see_the_training_quotes_and_price_all(run, calibrated):
    told = []
    heston, bates = fit_rivals(run, told.append)
    quotes = smile_quotes(run.problem)
    assert quotes.held_out.any()
    assert [kind for kind, *_ in calibrated] == list(Parametric)
    for _, maturity, strike, implied_vol in calibrated:
        np.testing.assert_array_equal(maturity, quotes.maturity[~quotes.held_out])
        np.testing.assert_allclose(strike, np.exp(quotes.log_moneyness[~quotes.held_out]))
        np.testing.assert_array_equal(implied_vol, quotes.volatility[~quotes.held_out])
    assert (heston.name, bates.name) == ("Heston", "Bates")
    assert told == ["calibrating heston by QuantLib", "calibrating bates by QuantLib"]
    assert bates.price.shape == quotes.price.shape
    assert np.all(bates.price > 0.0)


def test_what_was_calibrated_is_kept_to_the_bit_and_taken_again(run, calibrated):
    assert kept_rivals(run) == []
    first = fit_rivals(run)
    again = fit_rivals(run)
    assert len(calibrated) == 2
    for before, after in zip(first, again, strict=True):
        assert (before.kind, before.parameters, before.seconds) == (
            after.kind,
            after.parameters,
            after.seconds,
        )
        np.testing.assert_array_equal(before.price, after.price)
    values = json.loads((run.run.root / FILE).read_text())
    quotes = smile_quotes(run.problem)
    np.testing.assert_allclose(
        values["rivals"][0]["implied_vols"], model_volatility(first[0].price, quotes)
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"prices"', '"price"'),
        lambda text: text.replace('"heston"', '"hestom"'),
        lambda text: text.replace('"quotes": "', '"quotes": "0'),
        lambda _: "[1]",
        lambda _: '{"quotes": 1}',
    ],
)
@pytest.mark.usefixtures("calibrated")
def test_a_damaged_file_is_said_and_written_anew_when_asked(run, damage):
    fit_rivals(run)
    file = run.run.root / FILE
    whole = file.read_text()
    file.write_text(damage(whole))
    with pytest.raises(StorageError, match=r"rivals\.json is damaged or of other quotes.*--rivals"):
        kept_rivals(run)
    fit_rivals(run)
    assert file.read_text() == whole


def test_a_problem_that_rivals_cannot_have_is_refused_at_once():
    pytest.importorskip("QuantLib")
    with pytest.raises(ProblemError, match="no target E"):
        check_rivals(Problem([Target(Call(1.0, 1.0), 0.1)], 1.0))
    with pytest.raises(ProblemError, match="heston has 5 parameters: 1 quotes"):
        check_rivals(Problem([Target(Call(1.0, 1.0), 0.1), Target(Forward(1.0), 1.0)], 1.0))
    with pytest.raises(ArgumentError, match="whole days"):
        check_rivals(Problem([Target(Call(0.3, 1.0), 0.1), Target(Forward(0.3), 1.0)], 0.3))


def test_without_quantlib_the_extra_is_named(monkeypatch, run):
    monkeypatch.setitem(sys.modules, "QuantLib", None)
    for function, argument in ((check_rivals, run.problem), (fit_rivals, run)):
        with pytest.raises(SlisdeError, match=r'pip install "slisde\[finance\]"'):
            function(argument)
