"""Some paths of the model, and bands that hold half and nine tenths of them."""

import numpy as np
import plotly.graph_objects as go

from slisde.report.content import ReportContent
from slisde.report.figures.style import axis, blank, caption
from slisde.report.palette import ACCENT, INNER_BAND, OUTER_BAND, STRAND

DRAWN = 50
"""Paths drawn; the bands are quantiles of all paths given."""

NODES = 256
"""Nodes drawn at most: a screen has no more room."""


def paths(content: ReportContent) -> go.Figure | None:
    """Return the figure of the paths, or None where there is none to draw."""
    whole = content.sample_paths[np.all(np.isfinite(content.sample_paths), axis=1)]
    if not len(whole):
        return None
    nodes = np.unique(np.linspace(0, len(content.times) - 1, NODES).round().astype(int))
    # A screen resolves less than float32, which halves the file.
    times = content.times[nodes].astype(np.float32)
    values = whole[:, nodes].astype(np.float32)
    figure = blank(400)
    levels = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0).astype(np.float32)
    for low, high, colour in ((0, 4, OUTER_BAND), (1, 3, INNER_BAND)):
        figure.add_scatter(
            x=np.concatenate([times, times[::-1]]),
            y=np.concatenate([levels[high], levels[low][::-1]]),
            fill="toself",
            fillcolor=colour.light,
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
        )
    drawn = values[:DRAWN]
    ends = np.full((len(drawn), 1), np.nan, np.float32)
    # One trace with gaps: fifty traces would be fifty entries to hover over and to style.
    figure.add_scatter(
        x=np.tile(np.append(times, np.float32(np.nan)), len(drawn)),
        y=np.concatenate([drawn, ends], axis=1).ravel(),
        mode="lines",
        line={"color": STRAND.light, "width": 0.6},
        opacity=0.55,
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=times,
        y=levels[2],
        mode="lines",
        line={"color": ACCENT.light, "width": 2},
        customdata=levels.T,
        hovertemplate=(
            "t = %{x:.3g}<br>median %{y:.4g}"
            "<br>half in %{customdata[1]:.4g} … %{customdata[3]:.4g}"
            "<br>90 % in %{customdata[0]:.4g} … %{customdata[4]:.4g}<extra></extra>"
        ),
    )
    figure.update_layout(xaxis=axis(title="time", showgrid=False), yaxis=axis(nticks=6))
    caption(figure, f"Y, {len(drawn)} of {len(whole)} paths", 1.0)
    return figure
