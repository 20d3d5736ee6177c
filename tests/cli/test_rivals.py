"""`--rivals` of `slisde report` and `slisde calibrate`."""

import json
import sys

import pytest

from slisde.baselines.parametric import Parametric, ParametricFit
from slisde.experiments import rivals
from tests.cli import small_run
from tests.cli.test_calibrate_quotes import SMALL, chain

__all__ = ["chain"]

PARAMETERS = dict(
    zip(Parametric.HESTON.names, (0.04, 2.0, 0.4, -0.6, 0.04), strict=True),
    jump_mean=-0.1,
    jump_deviation=0.1,
    jump_intensity=0.1,
)


@pytest.fixture
def quick(monkeypatch):
    pytest.importorskip("QuantLib")
    monkeypatch.setattr(
        rivals,
        "calibrate",
        lambda kind, *_: ParametricFit(
            kind, {name: PARAMETERS[name] for name in kind.names}, 0.0, 0.1
        ),
    )


@pytest.mark.usefixtures("quick")
def test_a_fit_takes_them_along_and_a_report_makes_them_anew(slisde, chain, tmp_path):
    run = tmp_path / "run"
    kept, page = run / "rivals.json", run / "report.html"
    outcome = slisde("calibrate", chain, *SMALL, "--out", str(run), "--rivals", "--json")
    assert outcome.code == 0, outcome.err
    models = [each["model"] for each in json.loads(kept.read_text())["rivals"]]
    assert models == ["heston", "bates"]
    assert "Other models" in page.read_text()
    before = kept.read_text()
    kept.unlink()
    outcome = slisde("report", str(run), "--rivals", "--json")
    assert outcome.code == 0, outcome.err
    assert kept.read_text() == before
    assert "Other models" in page.read_text()


def test_a_fit_without_quantlib_or_quotes_ends_before_it_begins(
    slisde, chain, tmp_path, monkeypatch
):
    run = tmp_path / "run"
    outcome = slisde(*small_run.write(tmp_path), "--out", str(run), "--rivals")
    assert outcome.code == 2
    assert outcome.err.startswith("slisde: error: ")
    assert outcome.err.count("\n") == 1
    monkeypatch.setitem(sys.modules, "QuantLib", None)
    outcome = slisde("calibrate", chain, *SMALL, "--out", str(run), "--rivals")
    assert outcome.code == 2
    assert 'pip install "slisde[finance]"' in outcome.err
    assert not run.exists()
