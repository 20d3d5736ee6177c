"""How a model is trained; the defaults are the paper's protocol (paper: app:expset)."""

from dataclasses import dataclass
from typing import Final, Literal

from slisde.calibration.tilt_settings import TiltTraining
from slisde.errors import ArgumentError

AUTO: Final = "auto"
"""A memory whose length follows from the noise of what is remembered and of what is new."""
LATE_SHARE = 0.2
"""Share of the steps, the last ones, that `late_factor` applies to."""
SKETCHES = (0.0, 0.05, 0.2, 0.5)
"""Shares of the steps after which `whitening` looks anew at how the weights move the errors."""


@dataclass(frozen=True)
class TrainSettings:
    """The training protocol.

    Attributes:
        steps: training steps; the learning rate decays over them.
        paths: fresh paths per step.
        learning_rate: highest learning rate.
        warmup: steps until it is reached.
        weight_decay: AdamW's.
        clip: bound of the gradient's global norm.
        beta2: decay of the squared gradients that AdamW divides by.
        ema: decay of the averaged weights that are returned, or None for the last ones.
        antithetic: draw paths in mirrored pairs.
        unbiased: use the two-batch loss, whose gradient has no Monte-Carlo bias.
        memory: decay of the averaged errors that stand in the gradient for those of the step's own
            paths, "auto" for the one with the least noise at every step, or None; see
            `remembered_loss` and `slisde.calibration.filtered`.
        whitening: damping λ in (0, 1) of errors that are whitened by how readily the weights move them,
            or None; see `slisde.calibration.answers`.
        temperature: width of the sigmoid that stands for an indicator.
        straight_through: keep the indicator's value and take the sigmoid's gradient only.
        conditional: take expectations given the latent paths where the model knows them.
        hedged: take the profits of delta hedges off the payoffs of a martingale, which leaves their
            means and slopes as they are and takes most of their noise.
        late_factor: multiplies the paths of the last fifth of the steps.
        validate_every: steps between debiased losses on fresh paths, 0 for none.
        validation_paths: paths behind each of them.
        patience: validations without a better loss after which training stops and the best weights
            are returned, or None to train to the end.
        tilt: how far targets are estimated on tilted paths, or None for plain ones.
    """

    steps: int = 1000
    paths: int = 1024
    learning_rate: float = 1e-3
    warmup: int = 100
    weight_decay: float = 1e-4
    clip: float = 1.0
    beta2: float = 0.999
    ema: float | None = None
    antithetic: bool = False
    unbiased: bool = False
    memory: float | Literal["auto"] | None = None
    whitening: float | None = None
    temperature: float = 0.05
    straight_through: bool = False
    conditional: bool = True
    hedged: bool = False
    late_factor: int = 1
    validate_every: int = 0
    validation_paths: int = 4096
    patience: int | None = None
    tilt: TiltTraining | None = None

    def __post_init__(self):
        for name in ("steps", "paths", "late_factor", "validation_paths"):
            self._check(name, at_least=1, reason="it is a count")
        self._check("validate_every", at_least=0, reason="0 turns validation off")
        for name in ("warmup", "weight_decay"):
            self._check(name, at_least=0, reason="it cannot be negative")
        for name in ("learning_rate", "clip", "temperature"):
            if not getattr(self, name) > 0:
                raise ArgumentError(
                    name, getattr(self, name), "must be positive", "at 0 there is no gradient"
                )
        for name in ("beta2", "ema", "memory"):
            decay = getattr(self, name)
            if name == "memory" and decay == AUTO:
                continue
            if decay is not None and (isinstance(decay, str) or not 0.0 <= decay < 1.0):
                raise ArgumentError(name, decay, "must be in [0, 1)", "at 1 nothing is averaged in")
        if self.whitening is not None and not 0.0 < self.whitening < 1.0:
            raise ArgumentError(
                "whitening",
                self.whitening,
                "must be between 0 and 1",
                "errors are raised to at most 1/whitening times themselves",
            )
        self._check_together()

    def _check_together(self) -> None:
        """Raise where one setting excludes another."""
        if self.unbiased and self.memory is not None:
            raise ArgumentError(
                "memory",
                self.memory,
                "must be None with `unbiased`",
                "averaged errors replace those of the two halves",
            )
        if self.whitening is not None and self.memory is None:
            raise ArgumentError(
                "whitening",
                self.whitening,
                "must be None without `memory`",
                "it would raise the noise of a step's own errors",
            )
        if self.memory == AUTO and self.tilt is not None:
            raise ArgumentError(
                "memory",
                self.memory,
                "must be a number with a tilt",
                "the noise of weighted estimates is not seen in single paths",
            )
        if self.unbiased and self.tilt is not None:
            raise ArgumentError(
                "unbiased",
                self.unbiased,
                "must be false with a tilt",
                "weighted paths do not come in two halves",
            )
        if self.patience is not None:
            self._check("patience", at_least=1, reason="it counts validations")
            if not self.validate_every:
                raise ArgumentError(
                    "patience",
                    self.patience,
                    "must be None while `validate_every` is 0",
                    "it counts validations",
                )

    def paths_at(self, step: int) -> int:
        """Return the paths of a step, counted from 0."""
        late = step >= self.steps - int(LATE_SHARE * self.steps)
        return self.paths * self.late_factor if late else self.paths

    def sketches_at(self, step: int) -> bool:
        """Return whether a step, counted from 0, looks anew at how the weights move the errors."""
        return self.whitening is not None and step in {int(s * self.steps) for s in SKETCHES}

    def tilts_at(self, step: int) -> bool:
        """Return whether tilted paths take part in a step, counted from 0."""
        return self.tilt is not None and step >= self.tilt.begin

    def validates_after(self, step: int) -> bool:
        """Return whether a validation follows when `step` steps are done."""
        return self.validate_every > 0 and (step % self.validate_every == 0 or step == self.steps)

    def _check(self, name: str, *, at_least: int, reason: str) -> None:
        if not getattr(self, name) >= at_least:
            raise ArgumentError(name, getattr(self, name), f"must be at least {at_least}", reason)
