"""The tables that `slisde table` knows: what each is of, and the records it is made from."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from slisde.errors import SlisdeError, StorageError
from slisde.experiments.record import Record, read
from slisde.experiments.tables import readouts, surfaces, tilt, timing, toy
from slisde.experiments.tables.table import Table


@dataclass(frozen=True)
class Entry:
    """A name's tables.

    Attributes:
        line: what is compared, in a line.
        study: the file of records, without its suffix; `benchmarks/` has a program of that name.
        tables: functions of the records.
    """

    line: str
    study: str
    tables: Sequence[Callable[[Sequence[Record]], Table]]


ENTRIES = {
    "toy": Entry("SLiSDE on TOY beside tab:toy3-vanilla", "toy", [toy.fits]),
    "toy-ablation": Entry("what helps in training, on TOY", "toy", [toy.ablation]),
    "recovery": Entry("distances to TOY's true law beside tab:abl-dist", "toy", [toy.recovery]),
    "timing": Entry("training steps beside tab:timing-main", "performance", [timing.steps]),
    "timing-forward": Entry(
        "forward passes beside tab:timing-full", "performance", [timing.forward]
    ),
    "surfaces": Entry(
        "option surfaces by SLiSDE, Heston and Bates",
        "surfaces",
        [surfaces.held_out, surfaces.whole, surfaces.published_loss],
    ),
    "tilt-dax": Entry("tilted far tails on DAX beside tab:dax3-girsanov", "tilt", [tilt.arms]),
    "tilt-controller": Entry("controllers beside tab:abl-kl", "tilt", [tilt.controllers]),
    "readouts": Entry("readouts and estimators on one surface", "readouts", [readouts.compared]),
}
"""A new table is a line here."""


def build(name: str, results: Path) -> list[Table]:
    """Return the tables of a name from the records in a folder."""
    entry = find(name)
    records = _records(results / f"{entry.study}.jsonl", entry.study)
    return [table(records) for table in entry.tables]


def find(name: str) -> Entry:
    """Return the entry of a name, or say which name could have been meant."""
    if name in ENTRIES:
        return ENTRIES[name]
    close = difflib.get_close_matches(name, ENTRIES, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"Choose among {', '.join(ENTRIES)}."
    raise SlisdeError(f"there is no table `{name}`. {hint}")


def _records(path: Path, study: str) -> list[Record]:
    try:
        records = read(path)
    except UnicodeDecodeError:
        raise StorageError(f"{path} is not a file of records: it is not text.") from None
    except OSError as error:
        raise StorageError(
            f"cannot read {path}: {error.strerror}. Give the folder of the records by --results, or "
            f"make them by `python benchmarks/{study}.py` in a source checkout."
        ) from None
    return [_Placed(record, f"{path}, line {line},") for line, record in enumerate(records, 1)]


class _Placed(Record):
    """A record that says where it stands when a table asks for what it does not have."""

    def __init__(self, values: Record, place: str):
        super().__init__({key: _placed(value, place) for key, value in values.items()})
        self.place = place

    def __missing__(self, key: str) -> NoReturn:
        raise SlisdeError(f"{self.place} has no `{key}`: is it a record of this table?")


def _placed(value: Any, place: str) -> Any:
    return _Placed(value, place) if isinstance(value, dict) else value
