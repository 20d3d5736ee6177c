"""A configured fit: what `slisde calibrate` builds, trains and keeps."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from slisde.calibration.fit import Progress
from slisde.calibration.objective import Objective, training_weights
from slisde.calibration.penalty import Penalty, entropy_to
from slisde.calibration.processes import is_writer
from slisde.calibration.run import RunDirectory
from slisde.calibration.settings import TrainSettings
from slisde.calibration.step import fitted
from slisde.calibration.train_run import train_run
from slisde.errors import ConfigError, ProblemError
from slisde.experiments.build import build_grid, build_model, build_settings
from slisde.experiments.config import Config, dump, load
from slisde.experiments.machine import describe
from slisde.flow.grid import TimeGrid
from slisde.functionals.problem import Problem
from slisde.model.interface import AbstractPathModel, parameter_count


class RunKeys(NamedTuple):
    """The random keys of a run, each for one purpose."""

    weights: PRNGKeyArray
    training: PRNGKeyArray
    metrics: PRNGKeyArray
    recovery: PRNGKeyArray

    @classmethod
    def of(cls, seed: int) -> "RunKeys":
        """Return the keys of a seed."""
        return cls(*jax.random.split(jax.random.key(seed), len(cls._fields)))


@dataclass(frozen=True)
class Job:
    """A configuration with everything built from it."""

    config: Config
    problem: Problem
    grid: TimeGrid
    model: AbstractPathModel
    settings: TrainSettings
    penalties: Sequence[Penalty]
    keys: RunKeys


@dataclass(frozen=True)
class FittedRun:
    """A run with its fitted model, read from its directory."""

    run: RunDirectory
    config: Config
    problem: Problem
    grid: TimeGrid
    model: AbstractPathModel
    keys: RunKeys


def prepare(config: Config, problem: Problem) -> Job:
    """Return all that a fit needs; what is wrong with the configuration is said here."""
    keys = RunKeys.of(config.train.seed)
    grid, settings = _protocol(config, problem)
    model = _model(config, problem, keys)
    Objective(model, problem, grid, settings)  # says what cannot be fitted before there is a run
    penalties = _penalties(config, grid, keys)
    return Job(config, problem, grid, model, settings, penalties, keys)


def check(config: Config, problem: Problem) -> None:
    """Say what is wrong with a configuration as `prepare` does, without drawing weights."""
    grid, settings = _protocol(config, problem)
    model = eqx.filter_eval_shape(_model, config, problem, RunKeys.of(config.train.seed))
    training_weights(model, problem)
    if settings.tilt is not None:
        Objective(model, problem, grid, settings)


def _protocol(config: Config, problem: Problem) -> tuple[TimeGrid, TrainSettings]:
    if config.model.out != 1:
        raise ProblemError("a problem's functionals see one coordinate: [model] `out` must be 1.")
    grid = build_grid(config.grid, problem.horizon, problem.maturities)
    return grid, build_settings(config.train, config.tilt)


def begin(run: RunDirectory, config: Config, problem: Problem) -> None:
    """Make the directory of a new run, in the one process that writes."""
    if is_writer():
        run.begin(dump(config), problem)


def read_config(run: RunDirectory) -> Config:
    """Return the configuration a run was begun with."""
    run.check_begun()
    return load(run.config_file)


def fit(
    run: RunDirectory,
    job: Job,
    report: Callable[[Progress], None] | None = None,
) -> FittedRun:
    """Train in the run's directory, from where it stopped, and keep the fitted model."""
    with run.locked() if is_writer() else nullcontext():
        state = train_run(
            run,
            job.model,
            job.problem,
            job.grid,
            job.settings,
            penalties=job.penalties,
            report=report,
            key=job.keys.training,
        )
        model = fitted(job.model, state, job.settings)
        if is_writer():
            run.save_model(model, _facts(job, int(state.step), int(state.skipped)))
    return FittedRun(run, job.config, job.problem, job.grid, model, job.keys)


def open_run(root: Path) -> FittedRun:
    """Return a finished run, or say what is missing or damaged."""
    run = RunDirectory(root)
    config = read_config(run)
    problem = run.read_problem()
    keys = RunKeys.of(config.train.seed)
    template = eqx.filter_eval_shape(_model, config, problem, keys)
    grid = build_grid(config.grid, problem.horizon, problem.maturities)
    return FittedRun(run, config, problem, grid, run.read_model(template), keys)


def _model(config: Config, problem: Problem, keys: RunKeys) -> AbstractPathModel:
    return build_model(config.model, initial_value=problem.initial_value, key=keys.weights)


def _penalties(config: Config, grid: TimeGrid, keys: RunKeys) -> list[Penalty]:
    penalty = config.penalty
    if not penalty.entropy:
        return []
    if penalty.reference is None:
        raise ConfigError(
            "[penalty] `reference` must name a run: entropy is relative to its model."
        )
    reference = open_run(Path(penalty.reference))
    if reference.grid.steps != grid.steps or reference.problem.horizon != grid.times[-1]:
        raise ConfigError(
            f"[penalty] `reference` was fitted on {reference.grid.steps} steps up to "
            f"{reference.problem.horizon:g}, this run has {grid.steps} up to {grid.times[-1]:g}: "
            "marginals are compared node by node."
        )
    key = jax.random.fold_in(keys.training, 2**32 - 2)
    return [entropy_to(reference.model, grid, weight=penalty.entropy, key=key)]


def _facts(job: Job, steps: int, skipped: int) -> dict[str, Any]:
    return {
        "family": job.config.model.family,
        "parameters": parameter_count(job.model),
        "problem": job.problem.name,
        "steps": steps,
        "skipped": skipped,
        "machine": describe(),
    }
