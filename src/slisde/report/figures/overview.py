"""Every error in standard errors, a row for each group."""

import numpy as np
import plotly.graph_objects as go

from slisde.functionals.problem import Problem
from slisde.report.figures.hover import hover
from slisde.report.figures.style import (
    axis,
    beyond,
    blank,
    edge,
    maturity_colours,
    row_label,
    rows_axis,
    symbols,
)
from slisde.report.palette import OUTER_BAND
from slisde.report.summary import WITHIN, Summary

ROW = 54
"""Height of a group's row in pixels."""

LEAST = 4.0
"""Standard errors that the axis shows at least."""


def overview(problem: Problem, summary: Summary) -> go.Figure | None:
    """Return the z-scores of all targets, or None where no target has one."""
    z = np.array([row.z for row in summary.rows])
    if not np.any(np.isfinite(z)):
        return None
    groups = problem.groups
    figure = blank(ROW * len(groups) + 70, left=8, right=8)
    end = edge(z, LEAST)
    figure.add_vrect(-WITHIN, WITHIN, fillcolor=OUTER_BAND.light, line_width=0, layer="below")
    for row, group in enumerate(groups):
        row_label(figure, row, group)
    colours = maturity_colours(problem)
    order = {maturity: place for place, maturity in enumerate(colours)}
    for maturity, colour in colours.items():
        chosen = [
            index
            for index, target in enumerate(problem.targets)
            if float(target.functional.maturity) == maturity and np.isfinite(z[index])
        ]
        shift = 0.1 + 0.3 * (order[maturity] / max(len(order) - 1, 1) - 0.5)
        targets = [problem.targets[index] for index in chosen]
        figure.add_scatter(
            x=np.clip(z[chosen], -end, end),
            y=[groups.index(target.group) + shift for target in targets],
            mode="markers",
            marker={
                "color": colour.light,
                "size": 7,
                "line": {"width": 1.5, "color": colour.light},
                "symbol": [
                    beyond(float(z[i]), end, symbol, ("left", "right"))
                    for i, symbol in zip(
                        chosen, symbols([t.held_out for t in targets]), strict=True
                    )
                ],
            },
            text=[hover(summary.rows[index]) for index in chosen],
            hovertemplate="%{text}<extra></extra>",
        )
    limit = 1.06 * end
    figure.update_layout(
        xaxis=axis(title="z = (model − target) / standard error", range=[-limit, limit]),
        yaxis=rows_axis(len(groups)),
    )
    return figure
