"""`slisde table`: the tables of the paper beside our records."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from slisde.cli.output import Json, Progress, show
from slisde.cli.sweep import (
    Data,
    EngineName,
    EngineOption,
    Scheduler,
    Seeds,
    Workers,
    make_engine,
    run_shown,
)


def table(
    name: Annotated[str | None, typer.Argument(help="Which table; without it, all names.")] = None,
    form: Annotated[
        Literal["markdown", "latex", "json"], typer.Option("--format", help="What is printed.")
    ] = "markdown",
    results: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the records, one .jsonl a study.")
    ] = "results",
    seeds: Seeds = None,
    engine: EngineOption = EngineName.LOCAL,
    workers: Workers = 1,
    scheduler: Scheduler = None,
    data: Data = None,
    configs: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the grids, one .toml a study.")
    ] = "configs",
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Show a table made from records, with the paper's numbers beside ours and the protocol.

    With --seeds what is missing of a table made by `slisde sweep` is run first.

    Example: slisde table toy --format latex
    """
    from slisde.experiments.sweep.grid import read_sweep
    from slisde.experiments.tables.as_json import as_json
    from slisde.experiments.tables.latex import latex
    from slisde.experiments.tables.markdown import whole
    from slisde.experiments.tables.registry import ENTRIES, build, find_sweeps

    wants_json = json or form == "json"
    lines = {key: entry.line for key, entry in ENTRIES.items()}
    if name is None:
        show({"tables": lines} if wants_json else lines, as_json=wants_json)
        return
    if name not in ENTRIES and not wants_json:
        show(lines, as_json=False)
    if seeds is not None:
        make = make_engine(engine, workers, scheduler)
        folder = None if data is None else Path(data)
        for study in find_sweeps(name):
            chosen = read_sweep(Path(configs) / f"{study}.toml", seeds=seeds, data=folder)
            run_shown(chosen, make, Path(results) / f"{study}.jsonl", progress)
    tables = build(name, Path(results))
    if wants_json:
        show({"name": name, "tables": [as_json(each) for each in tables]}, as_json=True)
        return
    render = latex if form == "latex" else whole
    print("\n\n".join(render(each) for each in tables))
