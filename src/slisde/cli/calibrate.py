"""`slisde calibrate`: fit a model to a problem, in a run directory."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slisde.cli.output import ConfigFile, Json, Progress, Settings, keep_stdout, reporter, show
from slisde.cli.report import Rivals
from slisde.cli.training import training_bar

if TYPE_CHECKING:
    from slisde.calibration.run import RunDirectory
    from slisde.experiments.config import Config
    from slisde.experiments.job import FittedRun

RUNS = Path("runs")

LABELS = {
    "run": "run",
    "steps": "steps",
    "seconds": "seconds",
    "loss": "loss",
    "noise_floor": "of which noise",
    "debiased_loss": "debiased loss",
    "debiased_loss_se": "± standard error",
    "report": "report",
}


def calibrate(
    problem: Annotated[
        str | None, typer.Argument(help="demo (default), toy, a problem.toml, or a file of quotes.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Run directory. [default: runs/PROBLEM]")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="FAMILY", help="slisde, neural-sde or slice.")
    ] = None,
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Annotated[
        str | None,
        typer.Option(help="quick, standard or paper (as published). [default: standard]"),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps.")] = None,
    paths: Annotated[int | None, typer.Option(help="Fresh paths per step.")] = None,
    grid: Annotated[int | None, typer.Option(help="Time steps.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights and noise.")] = None,
    tilt: Annotated[
        bool, typer.Option("--tilt", help="Estimate far targets on tilted paths ([tilt]).")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run stopped.")] = False,
    rivals: Rivals = False,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Fit a model to a problem and keep everything about it in a run directory.

    Example: slisde calibrate demo --preset quick --out runs/demo
    """
    from slisde.calibration.processes import is_writer, join_processes
    from slisde.calibration.run import RunDirectory

    chosen = {
        "problem.source": problem,
        "model.family": model,
        "train.steps": steps,
        "train.paths": paths,
        "grid.steps": grid,
        "train.seed": seed,
    }
    overrides = _overrides(chosen, settings or (), tilt)
    file = None if config is None else Path(config)
    run = RunDirectory(Path(out) if out is not None else RUNS / Path(problem or "demo").stem)
    if resume and run.exists:
        loaded = None
        _check_kept(run, file, overrides, preset)
    else:
        loaded = _load(file, overrides, preset)
    begun = time.monotonic()
    if join_processes():
        keep_stdout()  # gloo announces its connections there
    fitted = _fit(run, loaded, rivals, progress)
    if not is_writer():
        return  # another process of this run scores the model and says how it went
    summary = _finish(fitted, rivals, progress)
    seconds = time.monotonic() - begun
    show(_result(run, seconds, summary), as_json=json, labels=LABELS)


def _overrides(chosen: Mapping[str, Any], settings: Sequence[str], tilt: bool) -> list[str]:
    """Return what the command line has of the configuration; of two values the later counts."""
    # The tilted innovation needs a driver of its own; a setting may choose another correlation.
    before = ["model.rho=0.0", "tilt.enabled=true"] if tilt else []
    return [*before, *settings, *(f"{k}={v}" for k, v in chosen.items() if v is not None)]


def _load(file: Path | None, overrides: Sequence[str], preset: str | None) -> "Config":
    """Return the configuration of a new run; its problem decides what the preset means."""
    from slisde.experiments.config import load
    from slisde.experiments.presets import DEFAULT
    from slisde.experiments.presets import preset as named

    source = load(file, overrides).problem.source
    return load(file, overrides, named(preset or DEFAULT, source))


def _check_kept(
    run: "RunDirectory", file: Path | None, overrides: Sequence[str], preset: str | None
) -> None:
    """Raise where something else is asked for than what a run was begun with."""
    from slisde.experiments.config import check_same
    from slisde.experiments.job import read_config
    from slisde.experiments.presets import preset as named

    kept = read_config(run)
    check_same(kept, file, overrides, named(preset, kept.problem.source) if preset else None)


def _fit(run: "RunDirectory", config: "Config | None", rivals: bool, progress: bool) -> "FittedRun":
    """Begin a run with a configuration, or go on with one where there is none."""
    from slisde.calibration.processes import is_writer
    from slisde.experiments.job import begin, fit, open_run, prepare, read_config
    from slisde.experiments.rivals import check_rivals
    from slisde.experiments.sources import build_problem

    if config is not None:
        if is_writer():
            run.check_free()  # before the minutes that a problem may take
        with reporter(progress) as report:
            problem = build_problem(config.problem, report)
        if rivals:
            check_rivals(problem)  # before the minutes that training takes
        job = prepare(config, problem)
        begin(run, config, problem)
    elif run.finished:
        return open_run(run.root)
    else:
        job = prepare(read_config(run), run.read_problem())
    try:
        with training_bar(job.settings.steps, forced=progress) as report:
            return fit(run, job, report=report)
    except KeyboardInterrupt:
        resume = f"slisde calibrate --out {run.root} --resume"
        print(f"slisde: stopped; `{resume}` goes on", file=sys.stderr)
        raise typer.Exit(130) from None


def _finish(fitted: "FittedRun", rivals: bool, progress: bool) -> dict:
    """Score the model, keep the scores, and write the report."""
    from slisde.cli.contents import report_content
    from slisde.experiments.evaluation import evaluate_run
    from slisde.experiments.rivals import fit_rivals
    from slisde.experiments.truth import recovery_of
    from slisde.report.html import write_report

    with reporter(progress) as report:
        report("evaluating on fresh paths")
        result, summary = evaluate_run(fitted)
        summary |= recovery_of(fitted)
        fitted.run.write_metrics(summary)
        if rivals:
            fit_rivals(fitted, report)
        report("writing the report")
        write_report(fitted.run.report_file, report_content(fitted, result, report))
    return summary


def _result(run: "RunDirectory", seconds: float, summary: dict) -> dict:
    """Return what is shown of a fit."""
    return {
        "run": str(run.root),
        "steps": run.read_history()[-1]["step"],
        "seconds": round(seconds, 1),
        "report": str(run.report_file),
        **summary,
    }
