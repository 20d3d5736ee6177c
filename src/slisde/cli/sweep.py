"""`slisde sweep`: a grid of configurations with several seeds each, one record a fit."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slisde.cli.output import Json, Progress, show
from slisde.cli.sweep_view import sweep_view
from slisde.errors import ConfigError, SlisdeError

if TYPE_CHECKING:
    from slisde.experiments.sweep.events import Engine
    from slisde.experiments.sweep.grid import Sweep
    from slisde.experiments.sweep.run import State


class EngineName(StrEnum):
    """What runs the cells."""

    LOCAL = "local"
    DASK = "dask"


Seeds = Annotated[int | None, typer.Option(min=1, help="Seeds of each row. [default: the grid's]")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="Child processes, or Dask.")]
Workers = Annotated[int, typer.Option(min=1, help="Fits at a time on this machine.")]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Of a running Dask cluster.")
]
Data = Annotated[
    str | None, typer.Option(metavar="DIR", help="Folder of the problems' files. [default: GRID's]")
]


def sweep(
    grid: Annotated[str, typer.Argument(metavar="GRID.toml", help="Rows and what is varied.")],
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File of the records. [default: results/GRID.jsonl]"),
    ] = None,
    seeds: Seeds = None,
    engine: EngineOption = EngineName.LOCAL,
    workers: Workers = 1,
    scheduler: Scheduler = None,
    data: Data = None,
    plan: Annotated[bool, typer.Option("--plan", help="List the cells and run nothing.")] = False,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Fit every cell of a grid, from where an earlier sweep stopped.

    A finished cell is never run again; a cell whose worker dies is run anew.

    Example: slisde sweep configs/families-toy.toml --seeds 3 --workers 2
    """
    from slisde.experiments.sweep.grid import read_sweep
    from slisde.experiments.sweep.summary import plan_of, summary_of

    chosen = read_sweep(Path(grid), seeds=seeds, data=None if data is None else Path(data))
    if plan:
        planned = plan_of(chosen)
        if json:
            show(planned, as_json=True)
        else:
            _print_plan(planned)
        return
    file = Path(f"results/{chosen.name}.jsonl" if out is None else out)
    state = run_shown(chosen, make_engine(engine, workers, scheduler), file, progress)
    if json:
        show({"records": str(file), **summary_of(state)}, as_json=True)
    else:
        _print(state, file)
    if state.failed:
        name, reason = next(iter(state.failed.items()))
        raise SlisdeError(
            f"{len(state.failed)} cells were given up, the first `{name}`: {reason}. Run the same "
            "command to try them again."
        )


def run_shown(sweep: "Sweep", engine: "Engine", out: Path, progress: bool) -> "State":
    """Run what is missing of a sweep, with its live view."""
    from slisde.experiments.sweep.run import run_sweep

    happenings = run_sweep(sweep, engine, out)
    state, _ = next(happenings)
    with sweep_view(sweep, forced=progress) as update:
        update(state, None)
        for _, event in happenings:
            update(state, event)
    return state


def make_engine(name: EngineName, workers: int, scheduler: str | None) -> "Engine":
    """Return what runs the cells."""
    from slisde.experiments.sweep.cluster import DaskEngine
    from slisde.experiments.sweep.local import LocalEngine

    if name is EngineName.DASK:
        return DaskEngine(workers, scheduler)
    if scheduler is not None:
        raise ConfigError("`--scheduler` is the address of a Dask cluster: add `--engine dask`.")
    return LocalEngine(workers)


def _print_plan(plan: dict[str, Any]) -> None:
    for cell in plan["cells"]:
        work = cell["gflop_per_step"]
        rest = "" if work is None else f", {work:,.0f} GFLOP each"
        print(
            f"{cell['cell']}: {cell['parameters']:,} parameters, {cell['steps']:,} steps of "
            f"{cell['shape']}{rest}"
        )
    for cell in plan["impossible"]:
        print(f"left out: {cell['name']}: {cell['reason']}")
    total = sum(each["steps"] * (each["gflop_per_step"] or 0.0) for each in plan["cells"])
    print(f"{len(plan['cells'])} cells, {total / 1e3:,.0f} TFLOP in those of SLiSDE")


def _print(state: "State", file: Path) -> None:
    from slisde.experiments.sweep.summary import rows_of

    rows = rows_of(state)
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        seeds = "1 seed" if row.seeds == 1 else f"{row.seeds} seeds"
        if row.seconds_per_step is None:
            print(f"{row.name:<{width}}  no fit: all of {seeds} failed to train")
            continue
        spread = "" if row.error is None else f" ± {row.error:.1e}"
        lost = f", {row.failed} failed to train" if row.failed else ""
        print(
            f"{row.name:<{width}}  loss {row.loss:.2e}{spread}  {row.seconds_per_step:.3f} s a step"
            f"  ({seeds}{lost})"
        )
    print(f"{len(state.records)} of {len(state.sweep.cells)} cells are in {file}")
