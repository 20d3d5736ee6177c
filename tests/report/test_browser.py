"""The page in a real browser, at the width of a desk and of a telephone."""

from pathlib import Path

import pytest

from slisde.report.html import write_report
from tests.report.browser import Browser, missing
from tests.report.surface import HOSTILE, ONE, bare, content, hostile

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

SETTLED = "[...document.querySelectorAll('.plot')].every(p => p.querySelector('.main-svg'))"
DRAWN = """
return [...document.querySelectorAll('.plot')].map(p => ({
  name: p.id,
  marks: p.querySelectorAll('.scatterlayer .point, .scatterlayer .js-line, .js-fill').length,
  width: p.querySelector('.main-svg').getBoundingClientRect().width,
  room: p.clientWidth,
}));
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    write_report(file, content())
    return file


def visit(browser: Browser, file: Path, width: int, scheme: str = "light") -> None:
    browser.resize(width, phone=width < 500)
    browser.prefer(scheme)
    browser.console(), browser.requested()
    browser.open(file)
    browser.wait_for(SETTLED)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_report_is_drawn_without_a_complaint_or_a_request(browser, report, width, scheme):
    visit(browser, report, width, scheme)
    drawn = browser.run(DRAWN)
    assert len(drawn) == 10
    for figure in drawn:
        assert figure["marks"] > 0, figure
        assert abs(figure["width"] - figure["room"]) <= 1, figure
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.console() == []
    assert {url for url in browser.requested() if not url.startswith("data:")} == {
        report.resolve().as_uri()
    }


def test_figures_follow_the_window(browser, report):
    visit(browser, report, 1280)
    browser.resize(700)
    browser.wait_for(
        "[...document.querySelectorAll('.plot')].every("
        "p => Math.abs(p.querySelector('.main-svg').clientWidth - p.clientWidth) <= 1)"
    )
    assert browser.run("return document.documentElement.scrollWidth") <= 700


def test_night_falls_on_an_open_page(browser, report):
    visit(browser, report, 1280)
    label = "getComputedStyle(document.querySelector('#training .xtick text')).fill"
    by_day = browser.run(f"return {label}")
    browser.prefer("dark")
    browser.wait_for(f"{label} !== '{by_day}'")


def test_paper_gets_the_whole_width_of_every_figure(browser, report, tmp_path):
    visit(browser, report, 1280, "dark")
    browser.run(
        "addEventListener('beforeprint', () => { window.onPaper = "
        "[...document.querySelectorAll('.plot')].map("
        "p => p.querySelector('.main-svg').clientWidth - p.clientWidth); })"
    )
    browser.printed(tmp_path / "report.pdf")
    assert all(abs(excess) <= 1 for excess in browser.run("return window.onPaper"))
    browser.wait_for("!document.body.classList.contains('printing')")
    assert browser.console() == []


def test_hostile_names_run_nothing(browser, tmp_path):
    write_report(tmp_path / "report.html", hostile())
    visit(browser, tmp_path / "report.html", 390)
    assert HOSTILE in browser.run("return document.querySelector('h1').textContent")
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    assert browser.console() == []


def test_the_least_report_is_drawn_too(browser, tmp_path):
    write_report(tmp_path / "report.html", bare(ONE, [1.0], [0.0]))
    visit(browser, tmp_path / "report.html", 390)
    assert browser.console() == []
