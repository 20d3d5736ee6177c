"""The tables that `slisde table` knows: what each is of, and the records it is made from."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from slisde.errors import SlisdeError, StorageError
from slisde.experiments.record import Record, read
from slisde.experiments.tables import (
    complexity,
    contests,
    families,
    rare,
    readouts,
    structure,
    surfaces,
    tilt,
    timing,
    toy,
    toy_grid,
)
from slisde.experiments.tables.table import Table

Part = tuple[str, Callable[[Sequence[Record]], Table]]
"""The file of records, without its suffix, and the table that is made of them."""
SWEEPS = (
    "families-toy",
    "families-toy-ours",
    "families-toy-quiet",
    "families-toy-quiet-512",
    "families-toy-auto",
    "families-toy-512",
    "families-toy-fine",
    "families-dax",
    "families-spx",
    "ablation",
)
"""Records that `slisde sweep` makes from a grid of that name; `benchmarks/` has a program for others."""


def _families(sweep: str, contest: contests.Contest) -> Part:
    return sweep, partial(families.table, contest)


@dataclass(frozen=True)
class Entry:
    """A name's tables.

    Attributes:
        line: what is compared, in a line.
        parts: one or more tables.
    """

    line: str
    parts: Sequence[Part]


ENTRIES = {
    "toy": Entry(
        "SLiSDE and the baselines on TOY beside tab:toy3-vanilla",
        [
            ("toy", toy.fits),
            _families("families-toy", contests.ON_TOY),
            _families("families-toy-ours", contests.ON_TOY_OURS),
            _families("families-toy-quiet", contests.ON_TOY_QUIET),
            _families("families-toy-quiet-512", contests.ON_TOY_QUIET_LONGER),
            _families("families-toy-auto", contests.ON_TOY_AUTO),
            _families("families-toy-512", contests.ON_TOY_LONGER),
            _families("families-toy-fine", contests.ON_FINE_TOY),
        ],
    ),
    "toy-grid": Entry("TOY's own diffusion on coarse grids", [("toy_grid", toy_grid.true_system)]),
    "toy-ablation": Entry("what helps in training, on TOY", [("toy", toy.ablation)]),
    "recovery": Entry("distances to TOY's true law beside tab:abl-dist", [("toy", toy.recovery)]),
    "dax": Entry(
        "all families on DAX beside tab:dax3-main", [_families("families-dax", contests.ON_DAX)]
    ),
    "spx": Entry(
        "all families on SPX beside tab:spx-full", [_families("families-spx", contests.ON_SPX)]
    ),
    "ablation-noise": Entry(
        "noise types on DAX beside tab:abl-structure", [("ablation", structure.noise)]
    ),
    "ablation-block": Entry(
        "block sizes on DAX beside tab:abl-structure", [("ablation", structure.blocks)]
    ),
    "timing": Entry("training steps beside tab:timing-main", [("performance", timing.steps)]),
    "timing-forward": Entry(
        "forward passes beside tab:timing-full", [("performance", timing.forward)]
    ),
    "complexity": Entry(
        "exponents of a layer's cost beside tab:matrix-complexities",
        [("complexity", complexity.exponents)],
    ),
    "surfaces": Entry(
        "option surfaces by SLiSDE, Heston and Bates",
        [
            ("surfaces", surfaces.held_out),
            ("surfaces", surfaces.whole),
            ("surfaces", surfaces.published_loss),
        ],
    ),
    "tilt-dax": Entry("tilted far tails on DAX beside tab:dax3-girsanov", [("tilt", tilt.arms)]),
    "tilt-controller": Entry("controllers beside tab:abl-kl", [("tilt", tilt.controllers)]),
    "rare": Entry("rare events beside tab:girsanov-estimator", [("rare", rare.short)]),
    "rare-full": Entry("rare events beside tab:girsanov-full", [("rare", rare.full)]),
    "readouts": Entry("readouts and estimators on one surface", [("readouts", readouts.compared)]),
}
"""A new table is a line here."""


def build(name: str, results: Path) -> list[Table]:
    """Return the tables of a name from the records in a folder.

    A part that has not been run yet says so, unless there is nothing else to show.
    """
    entry = find(name)
    known = {study: _records(results / f"{study}.jsonl") for study, _ in entry.parts}
    if all(records is None for records in known.values()):
        study = entry.parts[0][0]
        raise StorageError(
            f"there are no records in {results / f'{study}.jsonl'}. Give their folder by --results, or "
            f"make them by `{maker(study)}` in a source checkout."
        )
    tables = []
    for study, make in entry.parts:
        records = known[study]
        table = make(records or [])
        if records is None:
            table = replace(table, notes=[*table.notes, f"To run it: `{maker(study)}`."])
        tables.append(table)
    return tables


def find_sweeps(name: str) -> list[str]:
    """Return the sweeps behind a name, or say what makes its records instead."""
    studies = [study for study, _ in find(name).parts]
    sweeps = [study for study in dict.fromkeys(studies) if study in SWEEPS]
    if not sweeps:
        raise SlisdeError(
            f"the records of `{name}` are made by `{maker(studies[0])}`, not by a sweep."
        )
    return sweeps


def maker(study: str) -> str:
    """Return the command that makes the records of a study."""
    if study in SWEEPS:
        return f"slisde sweep configs/{study}.toml"
    return f"python benchmarks/{study}.py"


def find(name: str) -> Entry:
    """Return the entry of a name, or say which name could have been meant."""
    if name in ENTRIES:
        return ENTRIES[name]
    close = difflib.get_close_matches(name, ENTRIES, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"Choose among {', '.join(ENTRIES)}."
    raise SlisdeError(f"there is no table `{name}`. {hint}")


def _records(path: Path) -> list[Record] | None:
    """Return the records of a file, None where there is no such file."""
    try:
        records = read(path)
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise StorageError(f"{path} is not a file of records: it is not text.") from None
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}.") from None
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
