"""Prices that were never fitted, beside the truth."""

import numpy as np
import plotly.graph_objects as go

from slisde.report.content import ReportContent
from slisde.report.figures.style import axis, blank, plain, row_label, rows_axis
from slisde.report.notation import plus_minus
from slisde.report.palette import ACCENT, MUTED

ROW = 48
"""Height of a comparison's row in pixels."""


def comparison(content: ReportContent) -> go.Figure | None:
    """Return differences from the truth with error bars, or None where there is no truth."""
    entries = content.comparisons
    if not entries:
        return None
    true = np.array([entry.true for entry in entries])
    relative = bool(np.all(true != 0.0))
    scale = np.abs(true) / 100.0 if relative else np.ones(len(true))
    difference = (np.array([entry.fitted for entry in entries]) - true) / scale
    error = np.array([np.hypot(entry.fitted_se, entry.true_se) for entry in entries]) / scale
    figure = blank(ROW * len(entries) + 70, left=8, right=8)
    figure.add_vline(0.0, line={"color": MUTED.light, "width": 1})
    for row, entry in enumerate(entries):
        row_label(figure, row, entry.label)
    figure.add_scatter(
        x=difference,
        y=np.arange(len(entries)) + 0.1,
        mode="markers",
        marker={"color": ACCENT.light, "size": 8},
        error_x={"array": 2.0 * error, "color": ACCENT.light, "thickness": 1.5, "width": 0},
        text=[
            f"<b>{plain(entry.label)}</b><br>fitted {plus_minus(entry.fitted, entry.fitted_se)}"
            f"<br>true {plus_minus(entry.true, entry.true_se)}"
            for entry in entries
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    title = "fitted − true, in per cent of the true price" if relative else "fitted − true"
    figure.update_layout(
        xaxis=axis(title=title, rangemode="tozero"),
        yaxis=rows_axis(len(entries)),
    )
    return figure
