"""A table as data: numbers stay numbers until a format writes them."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NOT_RUN = "not run yet"


@dataclass(frozen=True)
class Number:
    """A measured or published number, and how many digits of it are written.

    Attributes:
        value: the number, or the mean over seeds.
        form: how value and error are written, as in ".3f" or ".0%".
        unit: what follows the number, as in "×".
        error: standard error of the mean.
        seeds: how many seeds are behind it, where it is ours and seeds matter.
    """

    value: float
    form: str
    unit: str = ""
    error: float | None = None
    seeds: int | None = None

    def __str__(self) -> str:
        text = f"{self.value:{self.form}}{self.unit}"
        if self.error is not None:
            text += f" ± {self.error:{self.form}}{self.unit}"
        if self.seeds is not None:
            text += f" ({self.seeds} seed{'' if self.seeds == 1 else 's'})"
        return text


Cell = str | Number


@dataclass(frozen=True)
class Table:
    """Rows under columns; the first column names the row.

    Attributes:
        title: what is compared.
        columns: the heads.
        rows: as many cells as there are columns in each.
        notes: the protocol, and where published numbers are from; a sentence or more each.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()


def over_seeds(values: Sequence[float], form: str) -> Cell:
    """Return the mean with its standard error over seeds; one seed has no error.

    >>> str(over_seeds([1.0, 3.0], ".1f"))
    '2.0 ± 1.0 (2 seeds)'
    >>> str(over_seeds([1.0], ".1f"))
    '1.0 (1 seed)'
    """
    if not values:
        return NOT_RUN
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
    return Number(statistics.fmean(values), form, error=error, seeds=len(values))


def mean(values: Iterable[float], form: str, unit: str = "") -> Number:
    """Return the mean alone, where its error does not matter.

    >>> str(mean([1.0, 3.0], ".1f", "×"))
    '2.0×'
    """
    return Number(statistics.fmean(values), form, unit)


def published(value: tuple[float, float] | None, form: str) -> Cell:
    """Return a mean and its standard error as the paper has them, nothing where it has none."""
    return "" if value is None else Number(value[0], form, error=value[1])
