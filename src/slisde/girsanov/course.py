"""How a tilt is trained: the settings, and what they come to as the rounds go by."""

import math
from dataclasses import dataclass

from slisde.errors import ArgumentError

POLISHING_CLIP = 0.2
"""Share of the gradient's bound that is left for it: single paths may dominate there."""


@dataclass(frozen=True)
class TiltSettings:
    """How a tilt is trained.

    Attributes:
        paths: fresh paths per round.
        enough: effective paths that there must be in the event of a round.
        approach: most rounds before the event itself; then it is trained for if any path reached it.
        rounds: rounds at the event itself on the cross-entropy.
        polish: rounds after them on the tilt's own weights.
        updates: gradient steps per round.
        memory: rounds whose paths are used, each with the weights of the law that drew it.
        learning_rate: of plain steps, which are natural ones for the level and the initial state; it
            falls to a tenth over the rounds at the event, and again over those after them. The tilts of
            the last half of either are averaged.
        clip: bound of the gradient's norm on the cross-entropy; a fifth of it after that.
        kl_weight: λ of the wall.
        log_clip: bound of the target's log-weights about their mean.
    """

    paths: int = 1024
    enough: float = 200.0
    approach: int = 30
    rounds: int = 32
    polish: int = 32
    updates: int = 8
    memory: int = 16
    learning_rate: float = 0.1
    clip: float = 5.0
    kl_weight: float = 1e-4
    log_clip: float = 5.0

    def __post_init__(self):
        for name in ("paths", "rounds", "updates", "memory"):
            if getattr(self, name) < 1:
                raise ArgumentError(
                    name, getattr(self, name), "must be at least 1", "it is a count"
                )
        if self.polish < 0:
            raise ArgumentError("polish", self.polish, "must not be negative", "it is a count")
        if not 1.0 <= self.enough <= self.paths:
            raise ArgumentError(
                "enough", self.enough, "must be in [1, paths]", "the first round has no more"
            )

    def rate(self, progress: float) -> float:
        """Return the learning rate where a share of the rounds on an objective is done."""
        falling = 0.5 * (1.0 + math.cos(math.pi * progress))
        return self.learning_rate * (0.1 + 0.9 * falling)


@dataclass(frozen=True)
class Course:
    """Where training is: how many rounds at the event itself are done."""

    settings: TiltSettings
    done: int

    @property
    def polishing(self) -> bool:
        """Whether the rounds on the cross-entropy are over."""
        return self.done >= self.settings.rounds

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.settings.rate(self._since / self._length)

    @property
    def clip(self) -> float:
        """The bound of the gradient's norm."""
        return self.settings.clip * (POLISHING_CLIP if self.polishing else 1.0)

    @property
    def averaged(self) -> int:
        """How many tilts there are to average after this round, none in the first half of an objective's."""
        return max(0, self._since + 1 - self._length // 2)

    @property
    def _since(self) -> int:
        return self.done - self.settings.rounds if self.polishing else self.done

    @property
    def _length(self) -> int:
        return self.settings.polish if self.polishing else self.settings.rounds
