"""A grid of configurations as TOML.

preset = "standard"              # what the cells begin with; paper by default
seeds = 3

[base]                           # configuration keys of all cells
problem.source = "toy"

[vary]                           # every combination of these …
"train.learning_rate" = [1e-3, 3e-3]

[[rows]]                         # … with each of these
name = "SLiSDE"
model = { family = "slisde", layers = 2 }
vary = { "model.latent" = [32, 64] }
"""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slisde.errors import ConfigError, SlisdeError
from slisde.experiments.config import Config, Tables, parse, read_tables
from slisde.experiments.job import check
from slisde.experiments.presets import preset
from slisde.experiments.sources import BUILT_IN, build_problem
from slisde.functionals.problem import Problem
from slisde.functionals.problem_file import problem_text

KEYS = ("extends", "preset", "seeds", "base", "vary", "rows")
SEEDS = 7
"""As in the paper."""
LONGEST_CHAIN = 8
"""Grids that extend each other."""
LATER_KEYS = {
    "model": {
        "reversion": 0.0,
        "multiplicative_scale": 1.0,
        "norm_epsilon": 1e-6,
        "offset_unit": "step",
        "initial_scale": 1.0,
    },
    "train": {"beta2": 0.999},
}
"""Keys younger than the first records, and what they were before there was a choice."""


@dataclass(frozen=True)
class Cell:
    """One fit of a sweep.

    Attributes:
        row: the name of its row.
        varied: the keys that tell it from the others of its row.
        config: the whole configuration, its seed included.
        problem: the targets as TOML, so that a worker needs no file.
    """

    row: str
    varied: Mapping[str, Any]
    config: Config
    problem: str

    @property
    def name(self) -> str:
        """What a person calls it."""
        return f"{self.configuration}, seed {self.config.train.seed}"

    @property
    def configuration(self) -> str:
        """The same without the seed."""
        values = [f"{key.partition('.')[2]}={_shown(value)}" for key, value in self.varied.items()]
        return ", ".join([self.row, *values])

    @property
    def digest(self) -> str:
        """What identifies its record: a hash of the configuration and of the targets of a file.

        Built-in targets come from the program, and their last digits from the processor. Younger keys count
        where they change something, so that a newer program knows the records of an older one.
        """
        tables = self.config.model_dump()
        for table, keys in LATER_KEYS.items():
            for key, before in keys.items():
                if tables[table][key] == before:
                    del tables[table][key]
        source = tables["problem"]["source"] = Path(tables["problem"]["source"]).name
        targets = None if source in BUILT_IN else self.problem
        text = json.dumps([tables, targets], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Impossible:
    """A cell that no fit can be made of, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Sweep:
    """All cells of a grid, in the order in which they run: seed by seed, so that rows grow alike."""

    name: str
    cells: list[Cell]
    impossible: list[Impossible]


def read_sweep(path: Path, *, seeds: int | None = None, data: Path | None = None) -> Sweep:
    """Return the cells of a grid, or say what is wrong with the file.

    Args:
        path: the grid.
        seeds: how many seeds, instead of the file's own number.
        data: folder of the problems' files; the grid's own by default.
    """
    grid = _extended(path)
    count = grid.get("seeds", SEEDS) if seeds is None else seeds
    folder = path.parent if data is None else data
    cells: list[Cell] = []
    impossible: list[Impossible] = []
    problems: dict[str, Problem] = {}
    for row, varied, tables in _configurations(grid, folder):
        try:
            config = parse(tables)
            problem = _problem(config, problems)
            cell = Cell(row, varied, config, problem_text(problem))
            check(config, problem)
        except SlisdeError as error:
            name = ", ".join([row, *(f"{key}={_shown(value)}" for key, value in varied.items())])
            impossible.append(Impossible(name, str(error)))
            continue
        cells.append(cell)
    if not cells:
        first = impossible[0]
        raise ConfigError(f"{path}: no cell can be fitted. {first.name}: {first.reason}")
    seeded = [_with_seed(cell, seed) for seed in range(count) for cell in cells]
    _check_unique(seeded, path)
    return Sweep(path.stem, seeded, impossible)


def _extended(path: Path, depth: int = 0) -> dict[str, Any]:
    """Return a grid laid over the one that it extends."""
    grid = _checked(read_tables(path), path)
    if "extends" not in grid:
        return grid
    if depth == LONGEST_CHAIN:
        raise ConfigError(f"{path}: `extends` goes round in a circle.")
    below = _extended(path.parent / str(grid["extends"]), depth + 1)
    merged = {**below, **grid}
    merged["base"] = _laid_over([below.get("base", {}), grid.get("base", {})])
    return merged


def _checked(grid: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the grid if its keys are known and have the right kinds."""
    for key in grid:
        if key not in KEYS:
            raise ConfigError(f"{path} has no place for `{key}`. Known: {', '.join(KEYS)}.")
    seeds = grid.get("seeds", SEEDS)
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1:
        raise ConfigError(f"{path}: `seeds` must be at least 1, got {seeds!r}.")
    rows = grid.get("rows", [{}])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"{path}: rows are tables, each opened by `[[rows]]`.")
    for table in (grid.get("vary", {}), *(row.get("vary", {}) for row in rows)):
        for key, values in table.items() if isinstance(table, dict) else [("vary", table)]:
            if not isinstance(values, list) or not values or key.count(".") != 1:
                raise ConfigError(
                    f'{path}: [vary] must hold lists, as in "model.latent" = [32, 64]; `{key}` is '
                    f"{_shown(values)}."
                )
    return grid


def _configurations(
    grid: dict[str, Any], folder: Path
) -> Iterator[tuple[str, dict[str, Any], Tables]]:
    """Yield the row's name, what is varied, and the tables of every combination."""
    common = grid.get("vary", {})
    for number, row in enumerate(grid.get("rows", [{}]), start=1):
        own = {key: value for key, value in row.items() if key not in ("name", "vary")}
        name = str(row.get("name", f"row {number}"))
        lists = {**common, **row.get("vary", {})}
        for values in itertools.product(*lists.values()):
            varied = dict(zip(lists, values, strict=True))
            over = [grid.get("base", {}), own, *(_nested(*item) for item in varied.items())]
            yield name, varied, _tables(grid.get("preset", "paper"), over, folder)


def _tables(name: str, over: Sequence[Tables], folder: Path) -> Tables:
    """Return a preset with other tables laid over it in turn, files looked for in the folder."""
    source = "demo"
    for tables in over:
        source = tables.get("problem", {}).get("source", source)
    if source not in BUILT_IN:
        source = str(folder / source)
    return _laid_over([preset(name, source), *over, {"problem": {"source": source}}])


def _laid_over(layers: Sequence[Tables]) -> Tables:
    """Return tables with the keys of all layers, the last one counting."""
    result: Tables = {}
    for layer in layers:
        for table, keys in layer.items():
            if not isinstance(keys, dict):
                raise ConfigError(f"`{table}` must be a table of configuration keys.")
            result.setdefault(table, {}).update(keys)
    return result


def _nested(key: str, value: Any) -> Tables:
    table, _, name = key.partition(".")
    return {table: {name: value}}


def _problem(config: Config, known: dict[str, Problem]) -> Problem:
    """Return a cell's problem; cells of one surface share it."""
    key = config.problem.model_dump_json()
    if key not in known:
        known[key] = build_problem(config.problem)
    return known[key]


def _with_seed(cell: Cell, seed: int) -> Cell:
    train = cell.config.train.model_copy(update={"seed": seed})
    config = cell.config.model_copy(update={"train": train})
    return Cell(cell.row, cell.varied, config, cell.problem)


def _check_unique(cells: Sequence[Cell], path: Path) -> None:
    """Raise where two cells are the same fit: their records could not be told apart."""
    seen: dict[str, str] = {}
    for cell in cells:
        if cell.digest in seen:
            raise ConfigError(
                f"{path}: `{cell.name}` and `{seen[cell.digest]}` are the same configuration."
            )
        seen[cell.digest] = cell.name


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
