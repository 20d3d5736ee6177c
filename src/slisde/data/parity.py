"""Forwards and discounts of many slices at once, from C − P = D (F − K).

A line through the gaps C − P of each slice, in three steps. Least absolute deviations, which stale
quotes cannot drag along, give a start. Pairs far from the line in units of price, not of their
own spread, are left out until none is: mids of wide quotes lie off by a common amount, and so would
tilt the line. Least squares through what is left, weighted by 1/spread², are the answer.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Bool, Float, Int

LEAST_PAIRS = 3
"""Strikes with a call and a put that a line needs; two points fit any line."""
NORMAL_MEDIAN = 0.6745
"""Median of |N(0, 1)|."""
CLIP = 2.5
"""Robust standard deviations from the line at which a pair is left out."""
NARROWEST = 0.05
"""Smallest width, in units of the slice's median."""
ROUNDING = 1e-12
"""Smallest width in units of the strike, where bids and asks are equal."""
FINEST = 0.02
"""Smallest robust deviation, in units of the slice's median width."""
ABSOLUTE_STEPS, CLIP_STEPS = 30, 30


class Pairs(NamedTuple):
    """Strikes with both a call and a put, sorted by slice."""

    slice: Int[np.ndarray, " pair"]
    strike: Float[np.ndarray, " pair"]
    gap: Float[np.ndarray, " pair"]
    """C − P, of the mids."""
    width: Float[np.ndarray, " pair"]
    """How far the gap may be off: the half-spreads of both."""


class Lines(NamedTuple):
    """The line of each slice, NaN where there is none."""

    forward: Float[np.ndarray, " slice"]
    discount: Float[np.ndarray, " slice"]
    forward_se: Float[np.ndarray, " slice"]
    discount_se: Float[np.ndarray, " slice"]
    pairs: Int[np.ndarray, " slice"]


def fit_lines(
    pairs: Pairs, slices: int, discounts: Float[np.ndarray, " slice"] | None = None
) -> Lines:
    """Return forwards and discounts with standard errors.

    Args:
        pairs: of all slices.
        slices: how many slices there are, with pairs or without.
        discounts: known discounts, NaN where unknown; a known one leaves the forward to be found,
            for which one pair is enough.
    """
    known = np.full(slices, np.nan) if discounts is None else discounts
    lines = Lines(*(np.full(slices, np.nan) for _ in range(4)), pairs=np.zeros(slices, np.int64))
    sizes = np.bincount(pairs.slice, minlength=slices)
    wanted = sizes >= np.where(np.isnan(known), LEAST_PAIRS, 1)
    rows = wanted[pairs.slice]
    if rows.any():
        groups = _Groups(sizes[wanted])
        chosen = Pairs(*(column[rows] for column in pairs))
        for whole, part in zip(lines, _fit(chosen, groups, known[wanted]), strict=True):
            whole[wanted] = part
    return lines


class _Groups:
    """Sums and medians over consecutive rows; no group is empty."""

    def __init__(self, sizes: Int[np.ndarray, " group"]):
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.index = np.repeat(np.arange(sizes.size), sizes)

    def sum(self, values: np.ndarray) -> Float[np.ndarray, " group"]:
        return np.add.reduceat(values, self.starts, dtype=float)

    def median(
        self, values: Float[np.ndarray, " row"], inside: Bool[np.ndarray, " row"]
    ) -> Float[np.ndarray, " group"]:
        """Return medians of the rows inside, at least one in each group."""
        rows = pl.DataFrame({"group": self.index, "value": values}).filter(pl.Series(inside))
        return rows.group_by("group").median().sort("group")["value"].to_numpy()


class _Line(NamedTuple):
    """gap = level − slope · (strike − centre), a row per slice."""

    centre: Float[np.ndarray, " group"]
    level: Float[np.ndarray, " group"]
    slope: Float[np.ndarray, " group"]

    def residuals(self, pairs: Pairs, groups: _Groups) -> Float[np.ndarray, " row"]:
        centre, level, slope = (each[groups.index] for each in self)
        return pairs.gap - level + slope * (pairs.strike - centre)


def _fit(pairs: Pairs, groups: _Groups, known: Float[np.ndarray, " group"]) -> Lines:
    inside = np.ones(pairs.gap.size, dtype=bool)
    smallest = np.maximum(
        NARROWEST * groups.median(pairs.width, inside),
        ROUNDING * groups.median(pairs.strike, inside),
    )
    pairs = pairs._replace(width=np.maximum(pairs.width, smallest[groups.index]))
    line = _least_absolute(pairs, groups, known)
    free = np.where(np.isnan(known), 2, 1)
    for _ in range(CLIP_STEPS):
        residuals = line.residuals(pairs, groups)
        closer = _clip(abs(residuals), pairs, groups, inside, free)
        line = _least_squares(pairs, groups, closer / pairs.width**2, known)
        if np.array_equal(closer, inside):
            break
        inside = closer
    return _summary(pairs, groups, line, inside, free)


def _least_absolute(pairs: Pairs, groups: _Groups, known: np.ndarray) -> _Line:
    # A discount near one is the best guess before anything is known.
    level = pairs.gap + np.where(np.isnan(known), 1.0, known)[groups.index] * pairs.strike
    everywhere = np.ones(level.size, dtype=bool)
    residuals = level - groups.median(level, everywhere)[groups.index]
    for _ in range(ABSOLUTE_STEPS):
        residuals = _reweighted(pairs, groups, residuals, known).residuals(pairs, groups)
    return _reweighted(pairs, groups, residuals, known)


def _reweighted(pairs: Pairs, groups: _Groups, residuals: np.ndarray, known: np.ndarray) -> _Line:
    """Return the line of least squares whose weighted squares were absolute values before."""
    weights = 1.0 / (pairs.width * np.maximum(abs(residuals), 1e-6 * pairs.width))
    return _least_squares(pairs, groups, weights, known)


def _clip(
    distance: np.ndarray, pairs: Pairs, groups: _Groups, inside: np.ndarray, free: np.ndarray
) -> Bool[np.ndarray, " row"]:
    """Return which of the pairs inside stay; a slice keeps those it has where few would be left."""
    deviation = groups.median(distance, inside) / NORMAL_MEDIAN
    least = FINEST * groups.median(pairs.width, inside)
    closer = inside & (distance <= CLIP * np.maximum(deviation, least)[groups.index])
    enough = groups.sum(closer) >= free + 2
    return np.where(enough[groups.index], closer, inside)


def _least_squares(pairs: Pairs, groups: _Groups, weights: np.ndarray, known: np.ndarray) -> _Line:
    mass = groups.sum(weights)
    centre = groups.sum(weights * pairs.strike) / mass
    away = pairs.strike - centre[groups.index]
    level = groups.sum(weights * pairs.gap) / mass
    with np.errstate(invalid="ignore", divide="ignore"):  # one strike has no slope
        slope = -groups.sum(weights * away * pairs.gap) / groups.sum(weights * away**2)
    return _Line(centre, level, np.where(np.isnan(known), slope, known))


def _summary(
    pairs: Pairs, groups: _Groups, line: _Line, inside: np.ndarray, free: np.ndarray
) -> Lines:
    """Return forwards and discounts, with White's errors: the widths are no standard deviations."""
    count = groups.sum(inside)
    weights = inside / pairs.width**2
    away = pairs.strike - line.centre[groups.index]
    # One pair and a known discount: the only measure of the error is the pair's width.
    errors = np.where((count > free)[groups.index], line.residuals(pairs, groups), pairs.width)
    correction = count / np.maximum(count - free, 1)
    level_influence = weights * errors / groups.sum(weights)[groups.index]
    with np.errstate(invalid="ignore", divide="ignore"):
        slope_influence = -weights * away * errors / groups.sum(weights * away**2)[groups.index]
        slope_influence = np.where((free > 1)[groups.index], slope_influence, 0.0)
        beyond = line.level / line.slope
        influence = level_influence - beyond[groups.index] * slope_influence
        forward = line.centre + beyond
        found = (line.slope > 0.0) & (forward > 0.0)
        forward_se = np.sqrt(correction * groups.sum(influence**2)) / line.slope
        discount_se = np.sqrt(correction * groups.sum(slope_influence**2))
    return Lines(
        np.where(found, forward, np.nan),
        np.where(found, line.slope, np.nan),
        np.where(found, forward_se, np.nan),
        np.where(found & (free > 1), discount_se, np.nan),
        np.where(found, count, 0).astype(np.int64),
    )
