"""`slisde report`: a run to look at, in one self-contained file."""

from pathlib import Path
from typing import Annotated

import typer

from slisde.cli.output import Json, Progress, Run, reporter, show

Rivals = Annotated[
    bool,
    typer.Option(
        "--rivals", help="Calibrate Heston and Bates to the same quotes (needs slisde[finance])."
    ),
]


def report(
    run: Run,
    paths: Annotated[int, typer.Option(help="Fresh paths.", min=1)] = 32_768,
    rivals: Rivals = False,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Write report.html of a fitted run; it opens offline in any browser.

    Heston and Bates, once calibrated, stand in every later report of the run.

    Example: slisde report runs/demo
    """
    from slisde.cli.contents import report_content
    from slisde.experiments.evaluation import evaluate_run
    from slisde.experiments.job import open_run
    from slisde.experiments.rivals import fit_rivals
    from slisde.report.html import write_report

    fitted = open_run(Path(run))
    with reporter(progress) as tell:
        if rivals:
            fit_rivals(fitted, tell)
        tell("evaluating on fresh paths")
        result, _ = evaluate_run(fitted, paths)
        content = report_content(fitted, result, tell)
        tell("writing the report")
        write_report(fitted.run.report_file, content)
    show({"report": str(fitted.run.report_file)}, as_json=json)
