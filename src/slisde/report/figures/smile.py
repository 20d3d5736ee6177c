"""The smile of one expiry: volatilities above, errors below on a scale of their own."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from slisde.calibration.smile_fit import ExpiryLaw, SmileFit
from slisde.data.implied_vol import POINTS
from slisde.report.figures.style import axis, beyond, blank, caption, edge, symbols
from slisde.report.notation import ABSENT
from slisde.report.palette import FAIR, INK, INNER_BAND, MUTED, Colour
from slisde.report.rivals import RivalFit

MARGIN = 0.12
"""Room above and below the quotes, as a share of their range."""

LEAST = 0.5
"""Vol points that the axis of errors shows at least."""

STRETCH = 4.0
"""Errors up to this many times the ninth decile are drawn in their place."""

DASHES = ("6 3", "1.5 2.5")
"""Lines of other models, in pixels: the first is dashed, the second dotted."""

VOLATILITIES, ERRORS = "y", "y2"


def smile(
    fit: SmileFit,
    law: ExpiryLaw | None,
    maturity: float,
    colour: Colour,
    rivals: Sequence[RivalFit] = (),
) -> go.Figure:
    """Return the figure of an expiry; its model line needs the law."""
    rows = np.flatnonzero(fit.quotes.maturity == maturity)
    figure = blank(430)
    if law is not None:
        _draw_model(figure, law, colour)
    low, high = (
        POINTS * (side - fit.quotes.volatility)
        for side in (fit.volatility.low, fit.volatility.high)
    )
    ordered = rows[np.argsort(fit.quotes.log_moneyness[rows])]
    strike = np.exp(fit.quotes.log_moneyness[ordered])
    _draw_band(figure, strike, low[ordered], high[ordered], ERRORS)
    for held_out, market in ((False, MUTED), (True, FAIR)):
        chosen = rows[fit.quotes.held_out[rows] == held_out]
        _draw_quotes(figure, fit, chosen, market)
    _draw_rivals(figure, fit, ordered, rivals)
    end = edge(np.concatenate([fit.error[rows], low[rows], high[rows]]), LEAST, STRETCH)
    _draw_errors(figure, fit, rows, end, colour)
    figure.add_hline(0.0, line={"color": MUTED.light, "width": 1}, yref=ERRORS)
    figure.update_layout(
        xaxis=axis(title="strike / forward", anchor=ERRORS, showgrid=False, domain=[0.0, 1.0]),
        yaxis=axis(domain=[0.46, 1.0], nticks=5, ticksuffix=" %", range=_range(fit, rows, law)),
        yaxis2=axis(domain=[0.0, 0.36], anchor="x", nticks=5, range=[-1.1 * end, 1.1 * end]),
    )
    caption(figure, "implied volatility", 1.0)
    caption(figure, "model − mid, vol points", 0.36)
    return figure


def _draw_model(figure: go.Figure, law: ExpiryLaw, colour: Colour) -> None:
    low, high = POINTS * law.volatility.low, POINTS * law.volatility.high
    _draw_band(figure, law.strike, low, high, VOLATILITIES)
    figure.add_scatter(
        x=law.strike,
        y=POINTS * law.volatility.middle,
        mode="lines",
        line={"color": colour.light, "width": 2},
        hoverinfo="skip",
    )


def _draw_rivals(
    figure: go.Figure, fit: SmileFit, rows: Int[np.ndarray, " row"], rivals: Sequence[RivalFit]
) -> None:
    """Draw thin lines through the strikes of the quotes, in both panels."""
    strike = np.exp(fit.quotes.log_moneyness[rows])
    for index, rival in enumerate(rivals):
        for yaxis, offset in ((VOLATILITIES, 0.0), (ERRORS, fit.quotes.volatility[rows])):
            figure.add_scatter(
                x=strike,
                y=POINTS * (rival.volatility[rows] - offset),
                yaxis=yaxis,
                mode="lines",
                line={
                    "color": INK.light,
                    "width": 1,
                    "dash": DASHES[index % len(DASHES)].replace(" ", "px,") + "px",
                },
                hoverinfo="skip",
            )


def _draw_quotes(
    figure: go.Figure, fit: SmileFit, rows: Int[np.ndarray, " row"], colour: Colour
) -> None:
    """Draw mids, and bid to ask where both are known."""
    if not rows.size:
        return
    quotes = fit.quotes
    strike = np.exp(quotes.log_moneyness[rows])
    low, high = quotes.bid_volatility[rows], quotes.ask_volatility[rows]
    both = np.isfinite(low) & np.isfinite(high)
    if both.any():
        middle = quotes.volatility[rows][both]
        for yaxis, offset in ((VOLATILITIES, 0.0), (ERRORS, middle)):
            gap = np.full(both.sum(), np.nan)
            figure.add_scatter(
                x=np.stack([strike[both], strike[both], gap], axis=1).ravel(),
                y=POINTS * np.stack([low[both] - offset, high[both] - offset, gap], axis=1).ravel(),
                yaxis=yaxis,
                mode="lines",
                line={"color": colour.light, "width": 3},
                opacity=0.4,
                hoverinfo="skip",
            )
    figure.add_scatter(
        x=strike,
        y=POINTS * quotes.volatility[rows],
        mode="markers",
        marker={
            "color": colour.light,
            "size": 4,
            "symbol": symbols(quotes.held_out[rows].tolist()),
            "line": {"width": 1, "color": colour.light},
        },
        text=_words(fit, rows),
        hovertemplate="%{text}<extra></extra>",
    )


def _draw_errors(
    figure: go.Figure, fit: SmileFit, rows: Int[np.ndarray, " row"], end: float, colour: Colour
) -> None:
    quotes = fit.quotes
    for held_out, mark in ((False, colour), (True, FAIR)):
        chosen = rows[quotes.held_out[rows] == held_out]
        symbol = symbols([held_out])[0]
        figure.add_scatter(
            x=np.exp(quotes.log_moneyness[chosen]),
            y=np.clip(fit.error[chosen], -end, end),
            yaxis=ERRORS,
            mode="markers",
            marker={
                "color": mark.light,
                "size": 5,
                "symbol": [
                    beyond(each, end, symbol, ("down", "up")) for each in fit.error[chosen].tolist()
                ],
                "line": {"width": 1, "color": mark.light},
            },
            text=_words(fit, chosen),
            hovertemplate="%{text}<extra></extra>",
        )


def _draw_band(
    figure: go.Figure, x: np.ndarray, low: np.ndarray, high: np.ndarray, yaxis: str
) -> None:
    known = np.isfinite(low) & np.isfinite(high)
    figure.add_scatter(
        x=np.concatenate([x[known], x[known][::-1]]),
        y=np.concatenate([high[known], low[known][::-1]]),
        yaxis=yaxis,
        fill="toself",
        fillcolor=INNER_BAND.light,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
    )


def _words(fit: SmileFit, rows: Int[np.ndarray, " row"]) -> list[str]:
    """Return what is said of quotes that are pointed at."""
    quotes, band = fit.quotes, fit.volatility
    columns = (
        np.exp(quotes.log_moneyness),
        quotes.bid_volatility,
        quotes.volatility,
        quotes.ask_volatility,
        band.low,
        band.middle,
        band.high,
    )
    words = []
    for row, numbers in zip(rows.tolist(), np.stack(columns)[:, rows].T.tolist(), strict=True):
        kind = "call" if quotes.is_call[row] else "put"
        bid, mid, ask, low, middle, high = (_percent(number) for number in numbers[1:])
        words.append(
            f"<b>{kind} at {numbers[0]:.4f} forwards</b>"
            + (" (held out)" if quotes.held_out[row] else "")
            + f"<br>bid {bid}, mid {mid}, ask {ask}"
            + f"<br>model {middle}, between {low} and {high}"
        )
    return words


def _percent(volatility: float) -> str:
    return f"{POINTS * volatility:.2f} %" if np.isfinite(volatility) else ABSENT


def _range(
    fit: SmileFit, rows: Int[np.ndarray, " row"], law: ExpiryLaw | None
) -> list[float] | None:
    """Return an axis for mids and model; a bid of nothing, of volatility zero, would flatten both."""
    quoted = fit.quotes.volatility[rows]
    shown = [quoted[np.isfinite(quoted)]]
    if law is not None:
        line = law.volatility.middle
        shown.append(line[np.isfinite(line) & (line > 0.0)])
    numbers = POINTS * np.concatenate(shown)
    if not numbers.size:
        return None
    low, high = float(numbers.min()), float(numbers.max())
    margin = MARGIN * (high - low) or 1.0
    return [low - margin, high + margin]
