"""What the driver of a sweep hears from an engine, whichever it is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from slisde.experiments.sweep.grid import Cell

ATTEMPTS = 3
"""A cell whose worker died this often is given up."""


@dataclass(frozen=True)
class Started:
    """A worker has a cell."""

    cell: Cell


@dataclass(frozen=True)
class Stepped:
    """A cell's training has come to a step."""

    cell: Cell
    step: int
    loss: float


@dataclass(frozen=True)
class Finished:
    """A cell has a result."""

    cell: Cell
    result: dict[str, Any]


@dataclass(frozen=True)
class Lost:
    """A worker died or failed; `final` where the cell is not tried again."""

    cell: Cell
    reason: str
    final: bool


Event = Started | Stepped | Finished | Lost


@runtime_checkable
class Engine(Protocol):
    """What runs cells."""

    def run(self, cells: list[Cell]) -> Iterator[Event]:
        """Yield what happens until every cell is finished or finally lost."""
        ...
