"""Trained tilts, kept in the run that they were trained for."""

import hashlib
from pathlib import Path
from typing import Any, TypeAlias

from slisde.calibration.arrays import fill, read_stored, save_tree
from slisde.calibration.run import RunDirectory
from slisde.files import reading, writing
from slisde.girsanov.law import AbstractTilt

KIND = "tilt"

Tilts: TypeAlias = tuple[AbstractTilt, ...]
"""The tilt to an event; after a guided one comes another, which is not trained, to large states."""


class TiltStore:
    """The tilts of one run, those of an event together; they belong to the weights of the model.

    Args:
        run: the run's directory.
        event: the event's text.
        options: what else the tilts depend on.
    """

    def __init__(self, run: RunDirectory, event: str, options: dict[str, Any]):
        weights = run.model_stem.with_suffix(".safetensors")
        with reading(weights):
            digest = hashlib.sha256(weights.read_bytes()).hexdigest()
        self._facts = {"event": " ".join(event.split()), "model": digest, **options}
        name = hashlib.sha256(repr(sorted(self._facts.items())).encode()).hexdigest()[:16]
        self.stem: Path = run.root / "tilts" / name

    def read(self, template: Tilts) -> tuple[Tilts, dict[str, Any]] | None:
        """Return the tilts and what is known of them, None where they were not trained yet."""
        if not self.stem.with_suffix(".json").exists():
            return None
        stored = read_stored(self.stem, kind=KIND)
        return fill(template, stored, self.stem), stored.facts

    def save(self, tilts: Tilts, facts: dict[str, Any]) -> None:
        """Write trained tilts."""
        with writing(self.stem.parent):
            self.stem.parent.mkdir(exist_ok=True)
        save_tree(self.stem, tilts, kind=KIND, facts={**self._facts, **facts})
