"""The loss of the training batches on its way to the noise floor."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from slisde.report.content import ReportContent
from slisde.report.figures.style import axis, blank, caption, logarithmic_axis
from slisde.report.notation import short
from slisde.report.palette import ACCENT, FAIR, INK, INNER_BAND, MUTED

POINTS = 240
"""Steps are gathered into at most this many bins, each drawn as a median and a band."""


def training(content: ReportContent) -> go.Figure | None:
    """Return the loss curve, or None where no finite loss was kept."""
    steps, losses = _column(content.history, "step", "loss")
    positive = losses > 0.0
    steps, losses = steps[positive], losses[positive]
    if not len(steps):
        return None
    figure = blank(400)
    middle, low, median, high = _binned(steps, losses)
    _draw_band(figure, middle, low, high)
    figure.add_scatter(
        x=middle,
        y=median,
        mode="lines" if len(middle) > 1 else "markers",
        line={"color": ACCENT.light, "width": 2},
        hovertemplate="step %{x:.0f}<br>loss %{y:.3e}<extra></extra>",
    )
    floor = content.noise_floor
    at, validation, error = _column(content.history, "step", "validation", "validation_se")
    tops = validation + 2.0 * error
    drawn = [low.min(), *tops[tops > 0.0], *validation[validation > 0.0]]
    drawn += [floor] if floor else []
    bottom, top = min(drawn) / 2.0, max(high.max(), *drawn) * 1.6
    _draw_validation(figure, at, validation, error, bottom)
    if floor:
        _draw_floor(figure, floor)
    figure.update_layout(
        xaxis=axis(title="step", showgrid=False, range=[0.0, 1.02 * steps[-1]]),
        yaxis=logarithmic_axis(range=[np.log10(bottom), np.log10(top)]),
    )
    caption(figure, "loss, log scale", 1.0)
    return figure


def _draw_band(figure: go.Figure, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor=INNER_BAND.light,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
    )


def _draw_validation(
    figure: go.Figure, at: np.ndarray, value: np.ndarray, error: np.ndarray, bottom: float
) -> None:
    """Draw the validation loss; a debiased one may be negative, then only its upper end shows."""
    shown = value > 0.0
    below = np.minimum(2.0 * error[shown], np.maximum(value[shown] - bottom, 0.0))
    figure.add_scatter(
        x=at[shown],
        y=value[shown],
        mode="markers",
        marker={"color": FAIR.light, "size": 7},
        error_y={
            "array": 2.0 * error[shown],
            "arrayminus": below,
            "color": FAIR.light,
            "thickness": 1,
            "width": 0,
        },
        hovertemplate="step %{x:.0f}<br>validation %{y:.3e}<extra></extra>",
    )
    limit = value + 2.0 * error
    only = ~shown & (limit > 0.0)
    figure.add_scatter(
        x=at[only],
        y=limit[only],
        mode="markers",
        marker={"color": FAIR.light, "size": 8, "symbol": "triangle-down-open"},
        hovertemplate="step %{x:.0f}<br>validation below %{y:.3e}<extra></extra>",
    )


def _draw_floor(figure: go.Figure, floor: float) -> None:
    figure.add_hline(floor, line={"color": INK.light, "width": 1.5, "dash": "dash"})
    figure.add_annotation(
        text=f"noise floor {short(floor, 2)}",
        x=0,  # early on, where the curve is far above
        xref="x domain",
        xanchor="left",
        xshift=4,
        y=np.log10(floor),
        yanchor="top",
        yshift=-3,
        showarrow=False,
        font={"color": MUTED.light},
    )


def _column(history: Sequence[Mapping[str, int | float | None]], *names: str) -> list[np.ndarray]:
    """Return the named columns of the entries that have a finite first and second of them.

    A later column may be missing, as the error of a validation that has none; it is then zero.
    """
    kept = []
    for entry in history:
        numbers = [entry.get(name) for name in names]
        values = [np.nan if number is None else float(number) for number in numbers]
        if np.all(np.isfinite(values[:2])):
            kept.append([*values[:2], *np.nan_to_num(values[2:], posinf=0.0, neginf=0.0)])
    return list(np.array(kept, dtype=float).reshape(-1, len(names)).T)


def _binned(steps: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the middle step, the 10 %, 50 % and 90 % quantile of the losses of each bin."""
    parts = min(POINTS, len(steps))
    bins = list(zip(np.array_split(steps, parts), np.array_split(losses, parts), strict=True))
    middle = np.array([part.mean() for part, _ in bins])
    quantiles = np.array([np.quantile(part, [0.1, 0.5, 0.9]) for _, part in bins])
    return middle, *quantiles.T
