"""The day of the quotes: said by the caller or the file, or read off the discounts.

−log D(T) is the integral of the short forward rate from the quote date to T, so it starts at zero on
that day. A forward rate that wanders like a Brownian motion makes it a Gaussian process, and every
weekday before the last expiry has a likelihood.
"""

import math
import re
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Float
from scipy.linalg import solve_triangular

from slisde.data.chain import DAYS_PER_YEAR, DateSource, QuoteDate
from slisde.errors import ProblemError

LONGEST = 120
"""Days before the first expiry that are considered."""
LEVEL, WANDERING = 0.10, 0.005
"""Standard deviation of the forward rate at the start, and of its change over a year."""
NOISE = 2e-5
"""Error of log D that no standard error shows."""
LAG = 1.0
"""Days between a trade and its payment, from which discounts may count: an error of any date."""
LARGEST_ERROR = 7.0
"""Standard error in days beyond which an inferred date is of no use."""
LEAST_SLICES = 3
WEEKEND = 5
EDGE = 0.01
"""Probability of the earliest day considered that says the start is before it."""


FAR, FAR_ERRORS = 5.0, 4.0
"""Days, and standard errors, by which a date has to differ from the inferred one to be doubted."""


def infer(slices: pl.DataFrame) -> QuoteDate | None:
    """Return the date at which the discount curve starts, or None if it does not tell.

    Args:
        slices: root, expiry, discount and its standard error; the root with most of them counts.
    """
    known = slices.filter(pl.col("discount_se").is_finite()).sort("expiry")
    if known.is_empty():
        return None
    known = max(known.partition_by("root"), key=len)
    if known.height < LEAST_SLICES:
        return None
    first: date = known["expiry"][0]
    days = (known["expiry"] - first).dt.total_days().to_numpy().astype(float)
    logs = -np.log(known["discount"].to_numpy())
    errors = np.hypot((known["discount_se"] / known["discount"]).to_numpy(), NOISE)
    before = [n for n in range(LONGEST + 1) if (first - timedelta(days=n)).weekday() < WEEKEND]
    scores = np.array([_likelihood((days + n) / DAYS_PER_YEAR, logs, errors) for n in before])
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    mean = float(weights @ before)
    error = math.sqrt(float(weights @ (np.array(before) - mean) ** 2) + LAG**2)
    if error > LARGEST_ERROR or weights[-1] > EDGE:
        return None
    best = before[int(np.argmin(abs(np.array(before) - mean)))]
    return QuoteDate(first - timedelta(days=best), DateSource.INFERRED, error)


def decide(
    path: Path, argument: date | None, stated: date | None, inferred: QuoteDate | None
) -> tuple[QuoteDate, list[str]]:
    """Return the date by who is to be believed most, and what a person should know about it."""
    named = in_file_name(path.name)
    pointer = (
        inferred and f"the discounts point to {inferred.day} ± {inferred.uncertainty_days:.1f} days"
    )
    told = [(argument, DateSource.ARGUMENT), (stated, DateSource.FILE)]
    for day, source in told:
        if day is not None:
            return QuoteDate(day, source), _doubts(day, stated, inferred, pointer)
    if named is not None:
        if inferred and _far(named, inferred):
            raise ProblemError(
                f"{path} has {named} in its name, but {pointer}: give the quote date."
            )
        checked = f"; {pointer}" if pointer else ", unchecked"
        note = f"the quote date {named} is from the file's name{checked}."
        return QuoteDate(named, DateSource.FILE_NAME), [note]
    if inferred is None:
        raise ProblemError(f"{path} does not say of which day it is: give the quote date.")
    return inferred, [
        f"the file does not say of which day it is; {pointer}: better give the quote date."
    ]


def _doubts(
    day: date, stated: date | None, inferred: QuoteDate | None, pointer: str | None
) -> list[str]:
    doubts = []
    if stated is not None and stated != day:
        doubts.append(f"the quote date was given as {day}, but the file says {stated}.")
    if inferred is not None and _far(day, inferred):
        doubts.append(f"the quote date is {day}, but {pointer}.")
    return doubts


def _far(day: date, inferred: QuoteDate) -> bool:
    return abs((day - inferred.day).days) > max(FAR, FAR_ERRORS * inferred.uncertainty_days)


def _likelihood(
    years: Float[np.ndarray, " slice"],
    logs: Float[np.ndarray, " slice"],
    errors: Float[np.ndarray, " slice"],
) -> float:
    """Return the log-likelihood of −log D at these maturities."""
    shorter, longer = np.minimum.outer(years, years), np.maximum.outer(years, years)
    wandering = WANDERING**2 * shorter**2 * (3.0 * longer - shorter) / 6.0
    covariance = LEVEL**2 * np.outer(years, years) + wandering + np.diag(errors**2)
    factor = np.linalg.cholesky(covariance)
    white = solve_triangular(factor, logs, lower=True)
    return float(-0.5 * white @ white - np.log(np.diag(factor)).sum())


def in_file_name(name: str) -> date | None:
    """Return the only date in a file's name, as in dax_2026-07-02.csv or dax_20260702.csv."""
    found = set()
    for text in re.findall(r"(?<!\d)(\d{4}-\d{2}-\d{2}|(?:19|20)\d{6})(?!\d)", name):
        try:
            found.add(date.fromisoformat(text))
        except ValueError:
            continue
    return found.pop() if len(found) == 1 else None
