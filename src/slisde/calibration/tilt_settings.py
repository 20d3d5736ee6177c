"""How tilts are trained beside the model."""

from dataclasses import dataclass
from enum import StrEnum

from slisde.errors import ArgumentError


class FarTail(StrEnum):
    """How a far target is estimated."""

    COMBINED = "combined"
    TILTED = "tilted"


class Aim(StrEnum):
    """What a tilt is trained for."""

    CROSS_ENTROPY = "cross-entropy"
    SNIS_VARIANCE = "snis-variance"


@dataclass(frozen=True)
class TiltTraining:
    """How far targets are tilted; the defaults are the paper's protocol (paper: app:expset).

    Attributes:
        groups: groups of targets, each with a tilt of its own.
        begin: steps before the tilts come in.
        paths: tilted paths per group and step.
        far_tail: with the reference batch in proportion to effective sizes, or from tilted paths alone.
        aim: what the tilts are trained for.
        kl_weight: λ of the penalty on their divergence.
        wall: κ, nats above which it grows quadratically.
        log_clip: bound of the target's log-weights about their mean.
        learning_rate: of Adam on the tilts.
        clip: bound of the norm of a tilt's gradient.
    """

    groups: tuple[str, ...] = ("far_puts", "far_calls")
    begin: int = 200
    paths: int = 512
    far_tail: FarTail = FarTail.COMBINED
    aim: Aim = Aim.CROSS_ENTROPY
    kl_weight: float = 1e-4
    wall: float = 6.0
    log_clip: float = 5.0
    learning_rate: float = 2e-3
    clip: float = 1.0

    def __post_init__(self):
        if not self.groups or len(set(self.groups)) < len(self.groups):
            raise ArgumentError(
                "groups", self.groups, "must be different names", "each group has one tilt"
            )
        for name, least in (("begin", 0), ("paths", 2)):
            if getattr(self, name) < least:
                raise ArgumentError(
                    name, getattr(self, name), f"must be at least {least}", "it is a count"
                )
        for name in ("learning_rate", "clip", "log_clip"):
            if not getattr(self, name) > 0.0:
                raise ArgumentError(
                    name, getattr(self, name), "must be positive", "at 0 nothing is learned"
                )
