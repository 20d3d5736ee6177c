"""The fit of one group: values above, errors below on a scale of their own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from slisde.functionals.problem import Problem
from slisde.report.figures.coordinates import Line, lines, natural_axis
from slisde.report.figures.hover import hover
from slisde.report.figures.style import (
    axis,
    blank,
    caption,
    logarithmic_axis,
    maturity_colours,
    symbols,
)
from slisde.report.palette import ACCENT, MUTED
from slisde.report.summary import Summary, TargetRow

BARS = 2.0
"""Error bars reach this many standard errors to each side."""

DECADES = 100.0
"""Values that span a larger ratio are drawn on a logarithmic axis."""

SPREAD = 0.5
"""Share of the gap between neighbours over which maturities at one strike are set apart."""

VALUES, ERRORS = "y", "y2"


@dataclass(frozen=True)
class _Drawn:
    """A line with the numbers to draw, as arrays in its order."""

    line: Line
    rows: list[TargetRow]
    total_error: np.ndarray
    colour: str

    def numbers(self, name: str) -> np.ndarray:
        return np.array([getattr(row, name) for row in self.rows], dtype=float)


def fit(problem: Problem, summary: Summary, group: str) -> go.Figure:
    """Return the figure of a group."""
    places = [index for index, target in enumerate(problem.targets) if target.group == group]
    targets = [problem.targets[index] for index in places]
    rows = [summary.rows[index] for index in places]
    name = natural_axis(targets)
    colours = maturity_colours(problem)
    drawn = [
        _Drawn(
            line,
            [rows[member] for member in line.members],
            np.array([_total(rows[i], targets[i].standard_error) for i in line.members]),
            ACCENT.light if line.maturity is None else colours[line.maturity].light,
        )
        for line in lines(targets, name)
    ]
    logarithmic = _spans_decades(rows)
    figure = blank(430)
    for entry, shift in zip(drawn, _shifts(drawn), strict=True):
        _draw_values(figure, entry, logarithmic=logarithmic)
        _draw_errors(figure, entry, shift)
    figure.add_hline(0.0, line={"color": MUTED.light, "width": 1}, yref=ERRORS)
    values_axis = logarithmic_axis if logarithmic else axis
    figure.update_layout(
        xaxis=axis(title=name, anchor=ERRORS, showgrid=False, domain=[0.0, 1.0]),
        yaxis=values_axis(domain=[0.5, 1.0], nticks=5),
        yaxis2=axis(domain=[0.0, 0.38], anchor="x", nticks=5),
    )
    caption(figure, "value, log scale" if logarithmic else "value", 1.0)
    caption(figure, "model − target", 0.38)
    return figure


def _draw_values(figure: go.Figure, entry: _Drawn, *, logarithmic: bool) -> None:
    x, values, means = entry.line.x, entry.numbers("value"), entry.numbers("estimate")
    _draw_quotes(figure, entry, x, VALUES, offset=np.zeros(len(x)))
    figure.add_scatter(
        x=x,
        y=values,
        yaxis=VALUES,
        mode="lines+markers",
        line={"color": entry.colour, "width": 1},
        marker={
            "symbol": "line-ew-open",
            "size": 9,
            "color": entry.colour,
            "line": {"width": 1.5, "color": entry.colour},
        },
        hoverinfo="skip",
    )
    reach = BARS * entry.numbers("standard_error")
    # A bar that reaches below zero has no end on a logarithmic axis.
    below = np.minimum(reach, 0.9 * means) if logarithmic else reach
    _draw_model(figure, entry, x, means, VALUES, {"array": reach, "arrayminus": below})


def _draw_errors(figure: go.Figure, entry: _Drawn, shift: float) -> None:
    x = entry.line.x + shift
    _draw_quotes(figure, entry, x, ERRORS, offset=entry.numbers("value"))
    bars = {"array": BARS * entry.total_error}
    _draw_model(figure, entry, x, entry.numbers("error"), ERRORS, bars)


def _draw_model(
    figure: go.Figure, entry: _Drawn, x: np.ndarray, y: np.ndarray, yaxis: str, bars: dict
) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        yaxis=yaxis,
        mode="markers",
        marker={
            "color": entry.colour,
            "size": 7,
            "symbol": symbols([row.held_out for row in entry.rows]),
            "line": {"width": 1.5, "color": entry.colour},
        },
        error_y={**bars, "color": entry.colour, "thickness": 1, "width": 0},
        text=[hover(row) for row in entry.rows],
        hovertemplate="%{text}<extra></extra>",
    )


def _draw_quotes(
    figure: go.Figure, entry: _Drawn, x: np.ndarray, yaxis: str, offset: np.ndarray
) -> None:
    """Draw bid to ask as pale bars, where both are known."""
    bid, ask = entry.numbers("bid") - offset, entry.numbers("ask") - offset
    both = np.isfinite(bid) & np.isfinite(ask)
    if not np.any(both):
        return
    gap = np.full(both.sum(), np.nan)
    figure.add_scatter(
        x=np.stack([x[both], x[both], gap], axis=1).ravel(),
        y=np.stack([bid[both], ask[both], gap], axis=1).ravel(),
        yaxis=yaxis,
        mode="lines",
        line={"color": entry.colour, "width": 6},
        opacity=0.28,
        hoverinfo="skip",
    )


def _total(row: TargetRow, known: float | None) -> float:
    return float(np.hypot(row.standard_error, known or 0.0))


def _spans_decades(rows: Sequence[TargetRow]) -> bool:
    numbers = np.array([[row.value, row.estimate] for row in rows])
    return bool(np.all(numbers > 0.0) and numbers.max() > DECADES * numbers.min())


def _shifts(drawn: Sequence[_Drawn]) -> np.ndarray:
    """Return how far each line's errors are set aside, so that bars at one strike do not hide."""
    places = np.unique(np.concatenate([entry.line.x for entry in drawn]))
    if len(drawn) == 1 or len(places) == 1:
        return np.zeros(len(drawn))
    gap = SPREAD * float(np.median(np.diff(places)))
    return gap * (np.arange(len(drawn)) / (len(drawn) - 1) - 0.5)
