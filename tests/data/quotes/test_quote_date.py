"""The quote date: who says it, and what the discounts say."""

import math
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from slisde.data.chain import DateSource
from slisde.data.quote_date import decide, in_file_name, infer
from slisde.errors import ProblemError

DAYS = (9, 37, 65, 100, 191, 282, 373)


def discounts(start: date, rates, days=DAYS, error=1e-5) -> pl.DataFrame:
    values = [math.exp(-rate * each / 365) for each, rate in zip(days, rates, strict=True)]
    return pl.DataFrame(
        {
            "root": "ODAX",
            "expiry": [start + timedelta(days=each) for each in days],
            "discount": values,
            "discount_se": error,
        }
    )


@pytest.mark.parametrize("level", [0.005, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("slope", [-0.005, 0.0, 0.005])
def test_the_date_is_where_the_discounts_start(level, slope):
    start = date(2026, 2, 25)
    rates = [level + slope * each / 365 for each in DAYS]
    found = infer(discounts(start, rates))
    if found is None:
        assert level == 0.005  # a low rate does not tell a date
        return
    assert abs((found.day - start).days) <= max(2.0, 2.0 * found.uncertainty_days)
    assert found.day.weekday() < 5


def test_the_error_is_what_it_says():
    generator = np.random.default_rng(5)
    scores = []
    for _ in range(60):
        start = date(2026, 2, 25) + timedelta(days=int(generator.integers(0, 3)))
        curve = 0.03 + 0.005 * generator.standard_normal() * np.array(DAYS) / 365
        table = discounts(start, curve)
        noisy = table["discount"] + 2e-5 * pl.Series(generator.standard_normal(len(DAYS)))
        found = infer(table.with_columns(discount=noisy, discount_se=pl.lit(2e-5)))
        assert found is not None
        scores.append((found.day - start).days / found.uncertainty_days)
    assert np.std(scores) < 1.5
    assert np.max(np.abs(scores)) < 4.0


def test_discounts_of_one_tell_nothing():
    assert infer(discounts(date(2026, 2, 25), [0.0] * len(DAYS))) is None
    assert infer(discounts(date(2026, 2, 25), [0.02, 0.02], DAYS[:2])) is None
    assert infer(discounts(date(2026, 2, 25), [0.02] * len(DAYS), error=0.02)) is None


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("dax_2026-07-02_eurex.csv", date(2026, 7, 2)),
        ("20260702.parquet", date(2026, 7, 2)),
        ("dax_2026-02_lseg.csv", None),
        ("dax_2026-07-02_to_2026-07-09.csv", None),
        ("chain_12345678.csv", None),
        ("chain_2026-13-02.csv", None),
    ],
)
def test_a_name_has_a_date_or_not(name, day):
    assert in_file_name(name) == day


NAMED, PLAIN = Path("dax_2026-03-02.csv"), Path("dax.csv")
START = date(2026, 2, 25)


@pytest.fixture
def inferred():
    found = infer(discounts(START, [0.02] * len(DAYS)))
    assert found is not None
    return found


def test_the_argument_goes_before_the_file_and_the_file_before_its_name(inferred):
    day, notes = decide(NAMED, START, date(2026, 2, 24), inferred)
    assert (day.day, day.source) == (START, DateSource.ARGUMENT)
    assert "the file says 2026-02-24" in notes[0]
    day, notes = decide(NAMED, None, START, inferred)
    assert (day.day, day.source, notes) == (START, DateSource.FILE, [])
    day, notes = decide(NAMED, None, None, inferred)
    assert (day.day, day.source) == (date(2026, 3, 2), DateSource.FILE_NAME)
    assert "file's name" in notes[0]
    day, notes = decide(PLAIN, None, None, inferred)
    assert day is inferred
    assert len(notes) == 1


def test_a_date_far_from_the_discounts_is_doubted_or_refused(inferred):
    _, notes = decide(PLAIN, date(2026, 3, 31), None, inferred)
    assert "but the discounts point to" in notes[0]
    with pytest.raises(ProblemError, match="give the quote date"):
        decide(Path("dax_2026-04-30.csv"), None, None, inferred)


def test_a_file_that_says_nothing_needs_a_date():
    with pytest.raises(ProblemError, match="does not say of which day"):
        decide(PLAIN, None, None, None)
