"""The fit in plain words: what a reader should know before looking at any figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from slisde.calibration.smile_fit import SmileFit
from slisde.data.model_arbitrage import NOISE
from slisde.data.smile import WHOLE
from slisde.data.surface.convention import Convention
from slisde.report.notation import percent, plus_minus, short
from slisde.report.rivals import RivalFit
from slisde.report.summary import WITHIN, Summary

ALL_BUT_A_FEW = 0.95
"""The share that counts as nearly all: as many as noise alone leaves within two standard errors."""

OVERFITTED = 2.0
"""Held-out errors this many times the fitted ones deserve a warning."""

UNITS = {
    Convention.MARKET: "strikes and undiscounted prices are in units of the forward",
    Convention.PAPER: "strikes and undiscounted prices are in units of the spot",
    Convention.AS_PUBLISHED: "strikes and prices, which are discounted, are in units of the spot",
}


class Tone(StrEnum):
    """How the verdict is coloured."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"


@dataclass(frozen=True)
class Verdict:
    """A headline, the sentences under it and the figures beside them."""

    tone: Tone
    headline: str
    sentences: list[str]


@dataclass(frozen=True)
class Figure:
    """One number of the header with its name and what to hold it against."""

    name: str
    value: str
    note: str


def judge(
    summary: Summary,
    noise_floor: float | None,
    smiles: SmileFit | None = None,
    rivals: Sequence[RivalFit] = (),
) -> Verdict:
    """Return the verdict on a fit.

    Args:
        summary: the numbers.
        noise_floor: the loss that noise alone gives a training batch, where known.
        smiles: the fit in volatilities, of a problem that has them.
        rivals: other models beside it.
    """
    tone, headline = _headline(summary, noise_floor)
    sentences = [
        _misfit(summary, noise_floor),
        _volatilities(smiles),
        _rivals(smiles, rivals),
        _quotes(summary),
        _held_out(summary),
        _unscored(summary),
    ]
    return Verdict(tone, headline, [sentence for sentence in sentences if sentence])


def key_figures(
    summary: Summary, noise_floor: float | None, smiles: SmileFit | None = None
) -> list[Figure]:
    """Return the numbers of the header, those first that decide."""
    value, error = summary.misfit
    everything = summary.everything
    inside, within = everything.inside, everything.within
    held_out = f"held out {short(everything.held_out_mean_error)}" if everything.held_out else ""
    floor = "" if noise_floor is None else f"noise of a training batch {short(noise_floor, 2)}"
    figures = [
        Figure("Inside bid–ask", percent(inside.value), f"{inside.count} of {inside.total} quotes"),
        Figure("Within 2 s.e.", percent(within.value), f"{within.count} of {within.total} targets"),
        Figure("Mean absolute error", short(everything.mean_error), held_out)
        if smiles is None
        else _volatility(smiles),
        Figure("Debiased loss", plus_minus(value, error), floor),
        Figure("Loss", short(summary.loss), f"{short(summary.noise, 2)} from noise alone"),
    ]
    return figures if inside.total else figures[1:]


def remark(smiles: SmileFit | None, convention: str) -> str:
    """Return what is said under the smiles: the convention, and the arbitrage of the fit."""
    if smiles is None:
        return ""
    units = _units(smiles, convention)
    arbitrage = smiles.arbitrage
    if not arbitrage.count:
        return units + (
            f"The fitted surface has no static arbitrage: none of {arbitrage.checked:,} "
            "combinations of prices breaks monotonicity, convexity or the order of expiries "
            f"by more than {NOISE:g} standard errors."
        )
    counts = ", ".join(f"{kind} {count}" for kind, count in arbitrage.found.items())
    return units + (
        f"The fitted surface has static arbitrage beyond {NOISE:g} standard errors in "
        f"{arbitrage.count:,} of {arbitrage.checked:,} combinations of prices ({counts}); "
        f"the largest is worth {short(arbitrage.largest, 2)} forwards."
    )


def _units(smiles: SmileFit, convention: str) -> str:
    """Return what strikes and prices are in units of, where that is known."""
    if convention:
        return f"Convention {convention}: {UNITS[Convention(convention)]}. "
    if set(smiles.quotes.unit.tolist()) == {WHOLE.price}:
        return f"{UNITS[Convention.MARKET].capitalize()}. "
    return ""


def _volatility(smiles: SmileFit) -> Figure:
    fitted, held_out = (smiles.of(None, held_out=choice) for choice in (False, True))
    if held_out is None or fitted is None:
        only = fitted or held_out
        value = math.nan if only is None else only.rmse
        return Figure("Implied volatility", f"{short(value)} points", "root mean squared error")
    return Figure(
        "Implied volatility, held out",
        f"{short(held_out.rmse)} points",
        f"root mean squared error; fitted {short(fitted.rmse)}",
    )


def _headline(summary: Summary, noise_floor: float | None) -> tuple[Tone, str]:
    value, error = summary.misfit
    inside = summary.everything.inside
    if not all(math.isfinite(row.estimate) for row in summary.rows):
        return Tone.POOR, "The model's expectations are not finite."
    if value <= 2.0 * error or value <= summary.target_noise:
        return Tone.GOOD, "The model meets its targets: what is left is noise."
    if inside.total and inside.value >= ALL_BUT_A_FEW:
        return Tone.GOOD, "The model reprices the quotes."
    if noise_floor is None:
        return Tone.FAIR, "A misfit remains that noise does not explain."
    if value <= noise_floor:
        return Tone.FAIR, "Close: the misfit is smaller than the noise of a training batch."
    return Tone.POOR, "The model does not meet its targets yet."


def _misfit(summary: Summary, noise_floor: float | None) -> str:
    value, error = summary.misfit
    if not math.isfinite(value):
        return ""
    paths = f"{summary.paths:,}"
    if value <= 2.0 * error:
        visible = (max(value, 0.0) + 2.0 * error) ** 0.5
        return (
            f"On {paths} fresh paths no misfit can be told from Monte-Carlo noise; "
            f"a weighted root-mean-square error above {short(visible, 2)} would have shown."
        )
    sentence = (
        f"On {paths} fresh paths a weighted root-mean-square error of {short(value**0.5, 2)} "
        "remains once noise is taken out"
    )
    if summary.target_noise > 0.0:
        sentence += f"; the targets themselves are known to {short(summary.target_noise**0.5, 2)}"
    if noise_floor is not None and noise_floor > 0.0:
        sentence += (
            f". The misfit is {short(value / noise_floor, 2)} times what noise alone adds to the "
            "loss of a training batch"
        )
    return sentence + "."


def _volatilities(smiles: SmileFit | None) -> str:
    fitted = None if smiles is None else smiles.of(None, held_out=False)
    if smiles is None or fitted is None or not math.isfinite(fitted.rmse):
        return ""
    noise = smiles.noise_of(None, held_out=False)
    return (
        f"Implied volatilities are off by {short(fitted.rmse, 2)} vol points, "
        f"of which noise alone makes {short(noise, 2)}."
    )


def _rivals(smiles: SmileFit | None, rivals: Sequence[RivalFit]) -> str:
    """Return the errors of all models on held-out quotes, or on fitted ones where none are."""
    if smiles is None or not rivals:
        return ""
    for held_out, kind in ((True, "held-out"), (False, "fitted")):
        ours = smiles.of(None, held_out=held_out)
        theirs = [(rival.name, rival.of(None, held_out=held_out)) for rival in rivals]
        if ours is not None:
            others = [f"{name} by {short(found.rmse, 2)}" for name, found in theirs if found]
            return (
                f"On {kind} quotes this fit errs by {short(ours.rmse, 2)}, "
                f"{' and '.join(others)} vol points."
            )
    return ""


def _quotes(summary: Summary) -> str:
    quoted = [row for row in summary.rows if row.quoted]
    outside = [row for row in quoted if not row.inside]
    if not quoted:
        return ""
    if not outside:
        return f"All {len(quoted)} quoted values lie between bid and ask."
    near = sum(row.outside_by <= WITHIN * row.standard_error for row in outside)
    how_many = {0: "none", len(outside): "all"}.get(near, f"{near} of them")
    return (
        f"{len(outside)} of {len(quoted)} quoted values lie outside bid and ask, "
        f"{how_many} by less than two standard errors."
    )


def _held_out(summary: Summary) -> str:
    everything = summary.everything
    if not everything.held_out or not everything.mean_error:
        return ""
    ratio = everything.held_out_mean_error / everything.mean_error
    if not math.isfinite(ratio):
        return ""
    sentence = f"Held-out targets are missed {short(ratio, 2)} times as far as fitted ones"
    return sentence + (": the fit may not generalise." if ratio > OVERFITTED else ".")


def _unscored(summary: Summary) -> str:
    count = sum(math.isfinite(row.estimate) and math.isnan(row.z) for row in summary.rows)
    if not count:
        return ""
    targets = "One target has" if count == 1 else f"{count} targets have"
    return f"{targets} no z-score, because no path moved the functional."
