"""The page: complete, self-contained, and safe from the names it prints."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from slisde.errors import SlisdeError
from slisde.report.html import render, write_report
from tests.report.surface import HOSTILE, ONE, TWO, bare, content, guess, hostile, surface

LOADING = {"src", "href", "srcset", "data", "action", "poster", "background", "xlink:href"}


class Page(HTMLParser):
    """The elements of a page, and what its scripts and styles say."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.within: str | None = None
        self.inside: dict[str, list[str]] = {"script": [], "style": [], "h3": [], "h2": []}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in self.inside:
            self.within = tag
            self.inside[tag].append("")

    def handle_endtag(self, tag):
        if tag == self.within:
            self.within = None

    def handle_data(self, data):
        if self.within:
            self.inside[self.within][-1] += data

    def having(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render(content()))


def test_a_report_has_all_its_sections_and_figures(page):
    assert page.inside["h2"] == [
        "Errors at a glance",
        "Fit by group",
        "Worst targets",
        "Against the truth",
        "The law it found",
        "Training",
        "Setup",
    ]
    places = [entry["id"] for entry in page.having("div") if entry.get("class") == "plot"]
    fits = [f"fit-{index}" for index in range(5)]
    assert places == ["overview", *fits, "comparison", "paths", "terminal", "training"]
    assert len(page.having("table")) == 4
    assert len(page.having("details")) == 2


def test_nothing_is_loaded_from_anywhere(page):
    loaded = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in LOADING
    ]
    assert loaded == ["data:,"]
    styles = "".join(page.inside["style"] + [a.get("style") or "" for _, a in page.tags])
    assert not re.search(r"@import|url\(|https?:", styles)


def test_the_policy_names_exactly_the_scripts_of_the_page(page):
    policy = next(
        entry["content"]
        for entry in page.having("meta")
        if entry.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("'sha256-") == 2
    assert "unsafe-eval" not in policy
    kinds = [entry.get("type") for entry in page.having("script")]
    assert kinds == ["application/json", "application/json", None, None]


def test_plotly_is_inlined_once(page):
    assert sum("plotly.js v" in script for script in page.inside["script"]) == 1


def test_hostile_names_stay_text_everywhere():
    found = Page(render(hostile()))
    assert len(found.having("script")) == 4
    assert not found.having("img")
    assert not any("onerror" in attributes for _, attributes in found.tags)
    assert found.inside["h3"] == [HOSTILE]
    # Inside the figures' JSON no tag can even begin, and plotly gets entities, not tags.
    assert not any("<" in script for script in found.inside["script"][:2])
    assert "&lt;img" in found.inside["script"][1]


@pytest.mark.parametrize(
    "given",
    [
        content(estimate=guess(surface(held_out=False))),
        content(estimate=guess(surface(quotes=False))),
        content(comparisons=(), facts={}, versions={}, run="", command="", noise_floor=None),
        bare(ONE, [1.01], [0.04]),
        bare(ONE, [1.0], [0.0]),
        bare(ONE, [np.nan], [np.nan]),
        bare(ONE, [np.inf], [np.nan]),
        bare(TWO, [0.1, 0.0], [0.01, 0.0]),
        content(noise_floor=0.0, history=[{"step": 1, "loss": 1e-3}]),
    ],
    ids=[
        "no held-out",
        "no quotes",
        "no extras",
        "one target",
        "no variance",
        "NaN",
        "infinite",
        "an event no path saw",
        "one step",
    ],
)
def test_a_report_is_written_of_whatever_there_is(given):
    text = render(given)
    found = Page(text)
    assert len([entry for entry in found.having("div") if entry.get("class") == "plot"]) >= 1
    body = text[: text.index("<script")]
    assert not re.search(r"\b(nan|inf|None)\b", body[body.index("<body") :])


def test_the_same_content_gives_the_same_page():
    assert render(content()) == render(content())


def test_a_report_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path):
    file = tmp_path / "report.html"
    file.write_text("old")
    write_report(file, bare(ONE, [1.01], [0.04]))
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [file]


def test_a_directory_that_is_not_there_is_an_error_of_one_line(tmp_path):
    with pytest.raises(SlisdeError, match=r"cannot write .*report\.html"):
        write_report(tmp_path / "absent" / "report.html", bare(ONE, [1.01], [0.04]))


def test_a_name_that_is_no_unicode_does_not_stop_the_report(tmp_path):
    write_report(tmp_path / "report.html", replace(bare(ONE, [1.0], [0.0]), run="caf\udce9"))
