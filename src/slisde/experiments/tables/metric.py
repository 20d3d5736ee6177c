"""What the tables of families show of a record, column by column."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from slisde.experiments.record import Record
from slisde.experiments.sweep.run import score


@dataclass(frozen=True)
class Metric:
    """A column: its head, its unit, where a record has it, and how many decimals are shown."""

    head: str
    unit: float
    of: Callable[[Record], float]
    decimals: int = 2

    @property
    def quantity(self) -> str:
        """The head without its unit."""
        return self.head.partition(" (")[0]


def _held_out_loss(record: Record) -> float:
    return record["metrics"]["published"]["held_out_loss"]


def _far_puts(record: Record) -> float:
    return record["metrics"]["published"]["held_out_groups"]["far_puts"]["mse"]


TOY = (
    Metric("loss (10⁻⁴)", 1e-4, lambda record: record["metrics"]["published"]["loss"]),
    Metric(
        "barrier MAE (10⁻²)",
        1e-2,
        lambda record: record["metrics"]["published"]["groups"]["barrier"]["mae"],
    ),
)
SURFACE = (
    Metric("held-out loss (10⁻⁴)", 1e-4, _held_out_loss),
    Metric("held-out far puts (10⁻⁶)", 1e-6, _far_puts),
)
POPULATION = Metric("population loss (10⁻⁴)", 1e-4, score)
POPULATION_BARRIER = Metric(
    "population barrier MAE (10⁻²)",
    1e-2,
    lambda record: record["metrics"]["population"]["groups"]["barrier"]["mae"],
)
"""Without the noise of 2,048 paths, which alone is about 0.3."""

SMALL_ERRORS = tuple(replace(metric, decimals=3) for metric in (POPULATION, POPULATION_BARRIER))
"""Both where fits are near the noise of their targets."""
