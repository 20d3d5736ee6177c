"""The page: figures, tables and words in one file that needs nothing else, not even a network."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import plotly.graph_objects as go
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from slisde.calibration.smile_fit import SmileFit, smile_fit
from slisde.files import write_whole
from slisde.functionals.terminal import Call, Forward, Put
from slisde.report import notation, palette
from slisde.report.content import ReportContent
from slisde.report.figures.comparison import comparison
from slisde.report.figures.densities import densities
from slisde.report.figures.fit import fit
from slisde.report.figures.overview import overview
from slisde.report.figures.paths import paths
from slisde.report.figures.smile import DASHES, smile
from slisde.report.figures.style import maturity_colours
from slisde.report.figures.terminal import terminal
from slisde.report.figures.training import training
from slisde.report.rivals import RivalFit, rival_fits
from slisde.report.summary import WITHIN, Summary, summarise
from slisde.report.verdict import judge, key_figures, remark

WORST = 8
"""Targets in each table of the worst."""

DAYS = 365
"""Days of a year."""


def render(content: ReportContent) -> str:
    """Return the report as one HTML document."""
    summary = summarise(content.estimate)
    smiles = smile_fit(content.estimate) if content.is_market else None
    rivals = [] if smiles is None else rival_fits(content.rivals, smiles.quotes)
    colours = maturity_colours(content.problem)
    drawn = draw(content, summary, smiles, rivals)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals.update(
        short=notation.short,
        measured=notation.measured,
        plus_minus=notation.plus_minus,
        percent=notation.percent,
        days=lambda maturity: round(DAYS * maturity),
    )
    scripts = [_script(get_plotlyjs()), _script(_read("report.js"))]
    return environment.from_string(_read("template.html")).render(
        content=content,
        summary=summary,
        smiles=smiles,
        rivals=rivals,
        models={"This fit": smiles, **{rival.name: rival for rival in rivals}},
        dashes=DASHES,
        remark=remark(smiles, content.convention),
        fitted_groups={
            name: group
            for i, group in enumerate(content.problem.groups)
            if (name := f"fit-{i}") in drawn
        },
        verdict=judge(summary, content.noise_floor, smiles, rivals),
        key_figures=key_figures(summary, content.noise_floor, smiles),
        validated=any(entry.get("validation") is not None for entry in content.history),
        within=WITHIN,
        unit=notation.common_unit(row.mean_error for row in summary.groups),
        worst_by_z=summary.worst_by_z(WORST),
        worst_by_error=summary.worst_by_error(WORST),
        maturities=colours,
        roles=palette.ROLES,
        style=Markup(_read("report.css")),  # noqa: S704 - a file of this package
        figures=drawn,
        figure_data=_data({name: json.loads(str(f.to_json())) for name, f in drawn.items()}),
        night=_data(palette.by_night(list(colours.values()))),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
    )


def write_report(path: Path, content: ReportContent) -> None:
    """Write the report; whoever reads `path` sees the old file or the whole new one."""
    # Names may come from a file system that is not UTF-8, and a report is still due.
    write_whole(path, render(content).encode("utf-8", "replace"))


def draw(
    content: ReportContent,
    summary: Summary,
    smiles: SmileFit | None,
    rivals: Sequence[RivalFit] = (),
) -> dict[str, go.Figure]:
    """Return the figures that can be drawn, by the name of their place on the page."""
    problem = content.problem
    figures = {
        "overview": overview(problem, summary),
        **_smiles(content, smiles, rivals),
        **{
            f"fit-{i}": fit(problem, summary, group)
            for i, group in enumerate(problem.groups)
            if smiles is None or not _in_smiles(content, group)
        },
        "training": training(content),
        "paths": paths(content),
        "densities": densities(content),
        "terminal": None if content.laws else terminal(content),
        "comparison": comparison(content),
    }
    return {name: figure for name, figure in figures.items() if figure is not None}


def _smiles(
    content: ReportContent, smiles: SmileFit | None, rivals: Sequence[RivalFit]
) -> dict[str, go.Figure]:
    if smiles is None:
        return {}
    colours = maturity_colours(content.problem)
    laws = {law.maturity: law for law in content.laws}
    return {
        f"smile-{i}": smile(smiles, laws.get(maturity), maturity, colours[maturity], rivals)
        for i, maturity in enumerate(smiles.maturities)
    }


def _in_smiles(content: ReportContent, group: str) -> bool:
    """Return whether the smiles, and the table of groups for forwards, say all about a group."""
    members = [target for target in content.problem.targets if target.group == group]
    return all(isinstance(target.functional, Call | Put | Forward) for target in members)


def _data(value: object) -> Markup:
    """Return JSON that may stand inside a script element, whatever strings it holds."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - no tag can open or close in it


def _script(source: str) -> Markup:
    # The browser hashes a script after it has made every line end a line feed.
    source = source.replace("\r\n", "\n").replace("</script", "<\\/script")
    return Markup(source)  # noqa: S704 - code of this package and of plotly


def _hash(script: str) -> str:
    """Return the hash by which the page's policy lets a script run, and no other."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def _read(name: str) -> str:
    return files("slisde.report").joinpath(name).read_text(encoding="utf-8")
