"""The law of Y at the horizon beside what the targets say of it."""

import numpy as np
import plotly.graph_objects as go

from slisde.report.content import ReportContent
from slisde.report.figures.implied import ImpliedLaw, implied_law
from slisde.report.figures.style import axis, blank, caption
from slisde.report.palette import ACCENT, INNER_BAND, POOR

TAIL = 0.001
"""Share of the samples left out at each side of the figure."""

BINS = 80


def terminal(content: ReportContent) -> go.Figure | None:
    """Return density and distribution function, or None where there is no finite sample."""
    samples = np.sort(content.terminal[np.isfinite(content.terminal)])
    if not len(samples):
        return None
    implied = implied_law(content.problem)
    low, high = _range(samples, implied)
    figure = blank(400)
    _draw_density(figure, samples, low, high)
    places = np.linspace(low, high, 400)
    figure.add_scatter(
        x=places,
        y=np.searchsorted(samples, places, side="right") / len(samples),
        yaxis="y2",
        mode="lines",
        line={"color": ACCENT.light, "width": 2, "simplify": False},
        hovertemplate="P(Y ≤ %{x:.4g}) = %{y:.4f}<extra>model</extra>",
    )
    _draw_implied(figure, implied)
    figure.update_layout(
        xaxis=axis(title="Y at the horizon", anchor="y2", showgrid=False, range=[low, high]),
        yaxis=axis(domain=[0.56, 1.0], rangemode="tozero", nticks=4),
        yaxis2=axis(domain=[0.0, 0.44], anchor="x", range=[-0.03, 1.05], tickvals=[0, 0.5, 1]),
    )
    caption(figure, "density", 1.0)
    caption(figure, "distribution function", 0.44)
    return figure


def _draw_density(figure: go.Figure, samples: np.ndarray, low: float, high: float) -> None:
    counts, edges = np.histogram(samples, _bins(samples, low, high), (low, high))
    # Divided by all samples, so that the tails left out are not spread over the rest.
    density = counts / (len(samples) * np.diff(edges))
    figure.add_scatter(
        x=edges,
        y=np.append(density, density[-1]),
        mode="lines",
        line={"color": ACCENT.light, "width": 1, "shape": "hv"},
        fill="tozeroy",
        fillcolor=INNER_BAND.light,
        hovertemplate="density %{y:.3g} at %{x:.4g}<extra>model</extra>",
    )


def _draw_implied(figure: go.Figure, implied: ImpliedLaw) -> None:
    for points, yaxis, word in (
        (implied.density, "y", "density"),
        (implied.distribution, "y2", "P(Y ≤ x)"),
    ):
        if not len(points):
            continue
        figure.add_scatter(
            x=points[:, 0],
            y=points[:, 2],
            yaxis=yaxis,
            mode="markers",
            marker={
                "color": POOR.light,
                "size": 7,
                "symbol": "circle-open",
                "line": {"width": 1.5, "color": POOR.light},
            },
            error_x={"array": points[:, 1], "color": POOR.light, "thickness": 1, "width": 0},
            hovertemplate=f"{word} %{{y:.4f}} at %{{x:.4g}}<extra>targets</extra>",
        )


def _bins(samples: np.ndarray, low: float, high: float) -> int:
    """Return the number of bins by the rule of Freedman and Diaconis, within reason."""
    quartiles = np.quantile(samples, [0.25, 0.75])
    width = 2.0 * float(quartiles[1] - quartiles[0]) / len(samples) ** (1 / 3)
    return int(np.clip((high - low) / width, 10, BINS)) if width > 0.0 else BINS


def _range(samples: np.ndarray, implied: ImpliedLaw) -> tuple[float, float]:
    low, high = (float(q) for q in np.quantile(samples, [TAIL, 1.0 - TAIL]))
    places = np.concatenate([implied.distribution[:, 0], [low, high]])
    low, high = float(places.min()), float(places.max())
    margin = 0.02 * (high - low) or 0.5 * max(abs(low), 1.0)
    return low - margin, high + margin
