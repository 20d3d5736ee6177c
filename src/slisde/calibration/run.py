"""A run directory: everything about one fit, safe against being stopped at any instant.

config.toml        what was asked for, enough to repeat the run
problem.toml       the targets
history.jsonl      a line per training step
checkpoint/        the two last training states
model.safetensors  the fitted weights, with model.json
metrics.json       how well it fits
report.html        the same to look at
"""

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from slisde import strict_json
from slisde.calibration.arrays import fill, read_stored, save_tree
from slisde.calibration.fit import Progress
from slisde.calibration.step import TrainState
from slisde.errors import StorageError
from slisde.files import alone, reading, write_whole, writing
from slisde.functionals.problem import Problem
from slisde.functionals.problem_file import read_problem, write_problem
from slisde.model.interface import AbstractPathModel

Model = TypeVar("Model", bound=AbstractPathModel)
KEPT = 2
"""Checkpoints that are kept: the last one, and the one before it should that be damaged."""


class RunDirectory:
    """The files of a run; every write is whole or absent."""

    def __init__(self, root: Path):
        self.root = root
        self.config_file = root / "config.toml"
        self.problem_file = root / "problem.toml"
        self.history_file = root / "history.jsonl"
        self.metrics_file = root / "metrics.json"
        self.report_file = root / "report.html"
        self.model_stem = root / "model"
        self.checkpoints = root / "checkpoint"

    @property
    def exists(self) -> bool:
        """Whether a run was begun here; the configuration is the last file that beginning writes."""
        return self.config_file.exists()

    @property
    def finished(self) -> bool:
        """Whether a fitted model is here."""
        return self.model_stem.with_suffix(".json").exists()

    def check_free(self) -> None:
        """Raise if anything is here already, or if nothing can be written."""
        if self.exists:
            raise StorageError(
                f"{self.root} holds a run: go on with it by --resume, or choose another --out."
            )
        if self.root.exists() and not self._is_empty():
            raise StorageError(f"{self.root} is not empty: choose another --out.")
        above = next(p for p in (self.root, *self.root.absolute().parents) if p.exists())
        if not (above.is_dir() and os.access(above, os.W_OK)):
            raise StorageError(f"cannot write {self.root}: {above} is not a writable directory.")

    def begin(self, config: str, problem: Problem) -> None:
        """Make the directory of a new run; whatever is there already is left alone and refused."""
        self.check_free()
        with writing(self.root):
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        write_problem(self.problem_file, problem)
        write_whole(self.config_file, config.encode())

    def check_begun(self) -> None:
        """Raise unless a run was begun here."""
        if not self.exists:
            raise StorageError(f"{self.root} is not a run: it has no {self.config_file.name}.")

    def read_problem(self) -> Problem:
        """Return the problem of the run."""
        return read_problem(self.problem_file)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from training here; the system lets go when this one ends."""
        return alone(self.root / ".lock", f"another process is training in {self.root}.")

    def save_state(self, state: TrainState) -> None:
        """Add a checkpoint and remove those that are no longer needed."""
        step = int(state.step)
        save_tree(self._checkpoint(step), state, kind="checkpoint", facts={"step": step})
        for old in self._checkpoint_steps()[:-KEPT]:
            for suffix in (
                ".json",
                ".safetensors",
            ):  # the description first: it makes the pair valid
                self._checkpoint(old).with_suffix(suffix).unlink(missing_ok=True)

    def latest_state(self, template: TrainState) -> TrainState | None:
        """Return the last checkpoint, None before the first one, or say why it cannot be used."""
        steps = self._checkpoint_steps()
        if not steps:
            return None
        stem = self._checkpoint(steps[-1])
        try:
            return fill(template, read_stored(stem, kind="checkpoint"), stem)
        except StorageError as error:
            advice = (
                f"Remove {stem.name}.json to go on from step {steps[-2]}."
                if len(steps) > 1
                else "There is no earlier checkpoint: begin anew with another --out."
            )
            raise StorageError(f"{error} {advice}") from None

    def save_model(self, model: AbstractPathModel, facts: dict[str, Any]) -> None:
        """Write the fitted model."""
        save_tree(self.model_stem, model, kind="model", facts=facts)

    def read_model(self, template: Model) -> Model:
        """Return the fitted model; the template has its shapes."""
        if not self.finished:
            raise StorageError(
                f"{self.root} has no fitted model yet: finish it with "
                f"`slisde calibrate --out {self.root} --resume`."
            )
        return fill(template, read_stored(self.model_stem, kind="model"), self.model_stem)

    def read_history(self) -> list[dict[str, Any]]:
        """Return a record per training step; a last line that was cut short is left out."""
        if not self.history_file.exists():
            return []
        with reading(self.history_file):
            lines = self.history_file.read_bytes().split(b"\n")[:-1]
        records = []
        for number, line in enumerate(lines, start=1):
            try:
                records.append(json.loads(line))
            except ValueError:
                raise StorageError(f"{self.history_file}, line {number}, is not JSON.") from None
        return records

    def cut_history(self, step: int) -> list[dict[str, Any]]:
        """Forget what came after a step: it will be trained again. Returns what is left."""
        kept = [record for record in self.read_history() if record["step"] <= step]
        write_whole(self.history_file, b"".join(_line(record) for record in kept))
        return kept

    @contextmanager
    def recording(self) -> Iterator["History"]:
        """Give what appends to the history."""
        with writing(self.history_file):
            file = self.history_file.open("ab", buffering=0)
        with file:
            yield History(self.history_file, file)

    def write_metrics(self, metrics: dict[str, Any]) -> None:
        """Write how well the model fits."""
        text = strict_json.dumps(metrics, indent=2)
        write_whole(self.metrics_file, (text + "\n").encode())

    def _is_empty(self) -> bool:
        """Return whether nothing is here but what an interrupted `begin` leaves."""
        if not self.root.is_dir():
            return False
        ours = {self.checkpoints.name, self.problem_file.name, ".lock"}
        return all(
            entry.name in ours or entry.name.endswith(".partial") for entry in self.root.iterdir()
        )

    def _checkpoint(self, step: int) -> Path:
        return self.checkpoints / f"step-{step:08d}"

    def _checkpoint_steps(self) -> list[int]:
        return sorted(
            int(file.stem.removeprefix("step-")) for file in self.checkpoints.glob("step-*.json")
        )


class History:
    """An open history; a line is written in one call."""

    def __init__(self, path: Path, file: Any):
        self._path, self._file = path, file

    def add(self, progress: Progress, seconds: float) -> None:
        """Write the line of a step."""
        record: dict[str, Any] = {
            "step": progress.step,
            "loss": progress.loss,
            "gradient_norm": progress.gradient_norm,
            "seconds": round(seconds, 3),
        }
        if progress.effective:
            record["tilt_effective"] = [round(share, 4) for share in progress.effective]
        if progress.validation is not None:
            record["validation"] = progress.validation.loss
            record["validation_se"] = progress.validation.standard_error
        with writing(self._path):
            self._file.write(_line(record))

    def sync(self) -> None:
        """Bring all lines to the disk."""
        with writing(self._path):
            os.fsync(self._file.fileno())


def _line(record: dict[str, Any]) -> bytes:
    return (strict_json.dumps(record) + "\n").encode()
