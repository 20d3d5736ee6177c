"""Trained tilts, kept in the run that they were trained for."""

import hashlib
from pathlib import Path
from typing import Any

from slisde.calibration.arrays import arrays_of, fill, read_stored, save_tree
from slisde.calibration.run import RunDirectory
from slisde.files import reading, writing
from slisde.girsanov.law import AbstractTilt

KIND = "tilt"


class TiltStore:
    """The tilts of one run; each belongs to an event and to the weights of the model.

    Args:
        run: the run's directory.
        event: the event's text.
        untrained: what the tilt begins as; one with other arrays, as another version had, is another tilt.
        options: what else the tilt depends on.
    """

    def __init__(self, run: RunDirectory, event: str, untrained: AbstractTilt, **options: Any):
        weights = run.model_stem.with_suffix(".safetensors")
        with reading(weights):
            digest = hashlib.sha256(weights.read_bytes()).hexdigest()
        self._facts = {"event": " ".join(event.split()), "model": digest, **options}
        identity = repr((sorted(self._facts.items()), arrays_of(untrained)))
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self.stem: Path = run.root / "tilts" / name
        self._untrained = untrained

    def read(self) -> tuple[AbstractTilt, dict[str, Any]] | None:
        """Return the tilt and what is known of it, None where it was not trained yet."""
        if not self.stem.with_suffix(".json").exists():
            return None
        stored = read_stored(self.stem, kind=KIND)
        return fill(self._untrained, stored, self.stem), stored.facts

    def save(self, tilt: AbstractTilt, facts: dict[str, Any]) -> None:
        """Write a trained tilt."""
        with writing(self.stem.parent):
            self.stem.parent.mkdir(exist_ok=True)
        save_tree(self.stem, tilt, kind=KIND, facts={**self._facts, **facts})
