"""The report of a chain: smiles, densities, and what is said of them."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slisde.calibration.smile_fit import SmileFit, smile_fit
from slisde.report.figures.densities import densities
from slisde.report.figures.smile import ERRORS, smile
from slisde.report.html import render, write_report
from slisde.report.palette import ACCENT, FAIR, MUTED
from slisde.report.summary import summarise
from slisde.report.verdict import judge, key_figures, remark
from tests.report.browser import Browser, missing
from tests.report.market import STRIKES, chain, content, law, model, rivals
from tests.report.test_browser import DRAWN, visit
from tests.report.test_figures import known
from tests.report.test_html import Page


def fitted(**options) -> SmileFit:
    found = smile_fit(model(chain(**options)))
    assert found is not None
    return found


def traces(figure: Any, **wanted) -> list[Any]:
    """Return the traces whose marks or lines have a colour, on an axis."""
    return [
        trace
        for trace in figure.data
        if (trace.yaxis or "y") == wanted.get("yaxis", "y")
        and wanted["colour"] in (trace.marker.color, trace.line.color)
    ]


def test_a_report_of_a_chain_has_smiles_densities_and_a_table_by_expiry():
    page = Page(render(content()))
    assert page.inside["h2"][:3] == ["Smiles", "Errors at a glance", "Worst targets"]
    places = [entry["id"] for entry in page.having("div") if entry.get("class") == "plot"]
    assert places == ["smile-0", "smile-1", "overview", "paths", "densities", "training"]
    assert page.inside["h3"] == ["T = 0.250 91 days", "T = 1.000 365 days"]


def test_groups_that_are_no_smile_keep_their_figures():
    page = Page(render(content(estimate=model(chain(extra=True)))))
    places = [entry["id"] for entry in page.having("div") if entry.get("class") == "plot"]
    assert "fit-3" in places
    assert "fit-0" not in places
    assert "barriers" in page.inside["h3"]


@pytest.mark.parametrize(
    "given",
    [
        content(estimate=model(chain(held_out=False))),
        content(estimate=model(chain(two_sided=False))),
        content(laws=(), convention=""),
        content(estimate=replace(model(chain()), mean=np.zeros(52))),
        content(estimate=replace(model(chain()), mean=np.full(52, np.nan))),
    ],
    ids=["no held-out", "one-sided", "no laws", "worthless", "NaN"],
)
def test_a_report_is_written_of_whatever_smiles_there_are(given):
    text = render(given)
    body = text[: text.index("<script")]
    assert not re.search(r"\b(nan|inf|None)\b", body[body.index("<body") :])
    assert 'id="smile-1"' in body


def test_a_smile_shows_quotes_by_kind_and_the_model_with_its_band():
    figure = known(smile(fitted(), law(0.25), 0.25, ACCENT))
    for colour, count in ((MUTED, 19), (FAIR, 6)):
        bars, mids = traces(figure, colour=colour.light)
        assert len(mids.x) == count
        assert len(bars.x) == 3 * count
    (line,) = traces(figure, colour=ACCENT.light)
    np.testing.assert_allclose(line.x, STRIKES)
    first, last = figure.layout.yaxis.range
    assert first < 100 * 0.161 < 100 * 0.255 < last


def test_errors_are_in_vol_points_and_held_out_ones_have_a_mark_of_their_own():
    figure = known(smile(fitted(), None, 1.0, ACCENT))
    (ours,) = traces(figure, colour=ACCENT.light, yaxis=ERRORS)
    np.testing.assert_allclose(ours.y, 0.2, rtol=1e-5)
    assert set(ours.marker.symbol) == {"circle"}
    _, theirs = traces(figure, colour=FAIR.light, yaxis=ERRORS)
    assert set(theirs.marker.symbol) == {"diamond-open"}
    assert "held out" in theirs.text[0]
    assert "held out" not in ours.text[0]


def test_one_sided_quotes_are_points_without_bars():
    figure = known(smile(fitted(two_sided=False), None, 1.0, ACCENT))
    assert len(traces(figure, colour=MUTED.light)) == 1


def test_an_error_beyond_the_axis_is_a_triangle_on_its_edge():
    estimate = model(chain(held_out=False))
    mean = estimate.mean.copy()
    mean[2] *= 50.0
    found = smile_fit(replace(estimate, mean=mean))
    assert found is not None
    figure = known(smile(found, None, 0.25, ACCENT))
    (ours,) = traces(figure, colour=ACCENT.light, yaxis=ERRORS)
    assert ours.marker.symbol[0] == "triangle-up"
    assert figure.layout.yaxis2.range[1] < 3.0


def test_densities_are_drawn_as_far_as_they_can_be_seen():
    figure = known(densities(content()))
    assert len(figure.data) == 2
    low, high = figure.layout.xaxis.range
    assert 0.4 < low < 0.6
    assert 1.6 < high < 2.0
    assert densities(content(laws=())) is None


def test_the_header_and_the_verdict_speak_of_volatilities():
    estimate = model(chain())
    summary, found = summarise(estimate), fitted()
    names = [figure.name for figure in key_figures(summary, None, found)]
    assert "Implied volatility, held out" in names
    assert "Mean absolute error" not in names
    sentences = " ".join(judge(summary, None, found).sentences)
    assert "Implied volatilities are off by 0.20 vol points" in sentences


def test_the_remark_names_the_convention_and_counts_arbitrage():
    clean = remark(fitted(), "market")
    assert clean.startswith("Convention market: strikes and undiscounted prices")
    assert "no static arbitrage" in clean
    estimate = model(chain())
    broken = estimate.batch_means.copy()
    broken[:, 10] += 0.02
    found = smile_fit(replace(estimate, mean=broken[0], batch_means=broken))
    assert found is not None
    assert "static arbitrage beyond 4 standard errors in" in remark(found, "")
    assert remark(None, "paper") == ""


@pytest.mark.parametrize(
    ("convention", "units"),
    [
        ("market", "strikes and undiscounted prices are in units of the forward."),
        ("paper", "strikes and undiscounted prices are in units of the spot."),
        ("as-published", "strikes and prices, which are discounted, are in units of the spot."),
    ],
)
def test_the_remark_has_the_units_of_the_convention(convention, units):
    assert remark(fitted(), convention).startswith(f"Convention {convention}: {units} The fitted")


def test_without_a_convention_the_remark_has_the_units_where_they_are_the_forward():
    whole = fitted()
    assert remark(whole, "").startswith("Strikes and undiscounted prices are in units of the forw")
    other = replace(whole, quotes=replace(whole.quotes, unit=1.02 * whole.quotes.unit))
    assert remark(other, "").startswith("The fitted surface")


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_smiles_are_drawn_without_a_complaint_at_a_desk_and_on_a_telephone(tmp_path):
    file = tmp_path / "report.html"
    write_report(file, content(rivals=rivals(chain())))
    with Browser(tmp_path) as browser:
        for width in (1280, 390):
            visit(browser, file, width)
            drawn = browser.run(DRAWN)
            assert [figure["name"] for figure in drawn][:2] == ["smile-0", "smile-1"]
            assert all(figure["marks"] > 0 for figure in drawn), drawn
            assert browser.run("return document.documentElement.scrollWidth") <= width
            assert browser.console() == []
