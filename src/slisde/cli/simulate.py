"""`slisde simulate`: paths of a fitted model in a file."""

from pathlib import Path
from typing import Annotated

import typer

from slisde.cli.output import Json, Progress, Run, Seed, counting, show


def simulate(
    run: Run,
    to: Annotated[str, typer.Option(metavar="FILE", help="A .parquet, .csv or .npz file.")],
    paths: Annotated[int, typer.Option(help="Number of paths.", min=1)] = 1000,
    seed: Seed = None,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Write paths of a fitted model: rows of path, time and value, or arrays in an .npz.

    Example: slisde simulate runs/demo --paths 10000 --to paths.parquet
    """
    from slisde.experiments.job import open_run
    from slisde.experiments.sampling import check_destination, simulate_run, write_paths

    check_destination(Path(to))
    fitted = open_run(Path(run))
    with counting(progress, "simulating") as report:
        values = simulate_run(fitted, paths, seed=seed, report=report)
    write_paths(Path(to), fitted.grid, values)
    result = {"file": to, "paths": paths, "nodes": values.shape[1]}
    show(result, as_json=json)
