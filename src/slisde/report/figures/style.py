"""What all figures share: a quiet frame, text that cannot be markup, maturities as colours."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from slisde.functionals.problem import Problem
from slisde.report.palette import INK, MUTED, PAGE, RULE, Colour, ramp

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
TEXT_SIZE = 12


def blank(height: int, *, left: int = 56, right: int = 12) -> go.Figure:
    """Return an empty figure of a height and margins; its width is that of the page."""
    figure = go.Figure(layout=go.Layout(template=go.layout.Template()))
    figure.update_layout(
        height=height,
        autosize=True,
        margin={"l": left, "r": right, "t": 26, "b": 44},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": TEXT_SIZE, "color": MUTED.light},
        showlegend=False,
        hovermode="closest",
        hoverlabel={
            "bgcolor": PAGE.light,
            "bordercolor": RULE.light,
            "font": {"family": FONT, "size": TEXT_SIZE, "color": INK.light},
            "align": "left",
        },
    )
    return figure


def axis(title: str = "", **options: Any) -> dict[str, Any]:
    """Return an axis with a faint grid and no box."""
    return {
        "gridcolor": RULE.light,
        "gridwidth": 1,
        "linecolor": RULE.light,
        "zeroline": False,
        "ticks": "",
        "exponentformat": "power",
        "title": {"text": title, "font": {"size": TEXT_SIZE}, "standoff": 8},
        **options,
    }


def logarithmic_axis(**options: Any) -> dict[str, Any]:
    """Return an axis of powers of ten, which plotly writes a quarter larger than other numbers."""
    return axis(type="log", dtick=1, tickfont={"size": 0.8 * TEXT_SIZE}, **options)


def rows_axis(count: int) -> dict[str, Any]:
    """Return a vertical axis of `count` rows from the top, each with a label of its own."""
    return axis(range=[count - 0.4, -0.6], showticklabels=False, showgrid=False, showline=False)


def row_label(figure: go.Figure, row: int, text: str) -> None:
    """Write a row's name above its points: beside them it would take a telephone's whole width."""
    figure.add_annotation(
        text=plain(clipped(text)),
        x=0,
        xref="paper",
        xanchor="left",
        y=row - 0.34,
        showarrow=False,
        bgcolor=PAGE.light,
        borderpad=1,
        font={"color": INK.light, "size": TEXT_SIZE},
    )


def caption(figure: go.Figure, text: str, y: float) -> None:
    """Write what a panel shows above its upper left corner; a rotated axis title reads worse."""
    figure.add_annotation(
        text=plain(text),
        x=0,
        y=y,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        yshift=4,
        showarrow=False,
        font={"size": TEXT_SIZE, "color": MUTED.light},
    )


def plain(text: str) -> str:
    """Return text that plotly shows as it is: it reads some tags and entities as markup."""
    return html.escape(text, quote=False)


def clipped(text: str, length: int = 46) -> str:
    """Return a label that fits a telephone."""
    return text if len(text) <= length else text[: length - 1] + "…"


def maturity_colours(problem: Problem) -> dict[float, Colour]:
    """Return the colour of each maturity, the same in every figure."""
    maturities = sorted({float(target.functional.maturity) for target in problem.targets})
    return dict(zip(maturities, ramp(len(maturities)), strict=True))


def symbols(held_out: Sequence[bool]) -> list[str]:
    """Return a disc for a fitted and an open diamond for a held-out target."""
    return ["diamond-open" if out else "circle" for out in held_out]


def edge(numbers: np.ndarray, least: float, stretch: float = 2.0) -> float:
    """Return where an axis around zero ends, so that one number far out hides no other.

    Args:
        numbers: what is drawn.
        least: the axis reaches at least this far.
        stretch: and at most this many times the ninth decile of the numbers' sizes.
    """
    size = np.abs(numbers[np.isfinite(numbers)])
    if not size.size:
        return least
    return float(max(least, min(size.max(), stretch * np.quantile(size, 0.9))))


def beyond(number: float, end: float, symbol: str, side: tuple[str, str]) -> str:
    """Return the symbol of a number, or a triangle where it lies below or above the axis."""
    if abs(number) <= end:
        return symbol
    return f"triangle-{side[number > 0.0]}"
