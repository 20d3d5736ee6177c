"""The densities of Y at the expiries."""

import plotly.graph_objects as go

from slisde.report.content import ReportContent
from slisde.report.figures.style import axis, blank, caption, maturity_colours

SMALL = 0.01
"""Heights below this share of a density's peak do not widen the figure."""


def densities(content: ReportContent) -> go.Figure | None:
    """Return a curve for each expiry, or None where no law is known."""
    if not content.laws:
        return None
    colours = maturity_colours(content.problem)
    figure = blank(400)
    ends = []
    for law in content.laws:
        figure.add_scatter(
            x=law.place,
            y=law.density,
            mode="lines",
            line={"color": colours[law.maturity].light, "width": 2},
            customdata=2.0 * law.density_error,
            hovertemplate=(
                f"T = {law.maturity:.4g}<br>density %{{y:.4g}} ± %{{customdata:.2g}}"
                "<br>at %{x:.4g} forwards<extra></extra>"
            ),
        )
        ends += law.place[law.density > SMALL * law.density.max()][[0, -1]].tolist()
    figure.update_layout(
        xaxis=axis(title="Y = S / forward", showgrid=False, range=[min(ends), max(ends)]),
        yaxis=axis(rangemode="tozero", nticks=5),
    )
    caption(figure, "density at each expiry", 1.0)
    return figure
