"""What a person should do with an estimate of a rare event."""

import math
from dataclasses import dataclass
from enum import StrEnum

from slisde.girsanov.diagnosis import Diagnosis

TRUSTED_ERROR = 0.1
"""Relative standard error up to which an estimate needs no more paths."""
LEAST_ESS, TRUSTED_ESS = 10.0, 100.0
TRUSTED_SHAPE = 0.7
"""Pareto shape above which averages of weights do not settle."""
LARGEST_SHARE = 0.5
TRUSTED_COVERAGE = 0.75
"""Share of the plain paths nearest to the event that the proposal has to go to."""
DISAGREEMENT = 4.0
"""Standard errors between the two estimates that chance does not explain."""


class Advice(StrEnum):
    """What to do."""

    TRUST = "trust"
    RAISE = "raise the budget"
    FALL_BACK = "fall back"
    NOT_RARE = "not rare"
    CERTAIN = "certain"
    UNREACHED = "unreached"


@dataclass(frozen=True)
class Verdict:
    """Advice and its reason, with the numbers that show it."""

    advice: Advice
    reason: str

    def __str__(self) -> str:
        return f"{self.advice}: {self.reason}"


def judge(tilted: Diagnosis, plain: Diagnosis, coverage: float = 1.0) -> Verdict:
    """Return whether the tilted estimate can be used.

    Args:
        tilted: the estimate.
        plain: plain Monte Carlo at equal cost.
        coverage: share of plain paths near the event that the proposal goes to.
    """
    collapsed = _collapse(tilted)
    if collapsed is not None:
        return Verdict(
            Advice.FALL_BACK,
            f"the weights have collapsed, {collapsed}; use plain Monte Carlo, {_plain(plain)}.",
        )
    gap = abs(tilted.value - plain.value)
    # Few plain hits, or none, say little of plain Monte Carlo's error: the tilt's value says more.
    expected = math.sqrt(abs(tilted.value) / plain.paths)
    spread = math.hypot(tilted.standard_error, max(plain.standard_error, expected))
    if gap > DISAGREEMENT * spread:
        return Verdict(
            Advice.FALL_BACK,
            f"the tilt's {tilted.value:.3g} and plain Monte Carlo, {_plain(plain)}, are "
            f"{gap / spread:.1f} standard errors apart: the tilt misses a part of the event.",
        )
    if coverage < TRUSTED_COVERAGE:
        return Verdict(
            Advice.FALL_BACK,
            f"the tilt hardly goes to {1.0 - coverage:.0%} of the plain paths that come nearest to the "
            f"event, so that {tilted.value:.3g} may lack a part of it; compare with plain Monte Carlo, "
            f"{_plain(plain)}, or try --retrain with another --seed.",
        )
    error = tilted.standard_error / abs(tilted.value)
    if error > TRUSTED_ERROR or tilted.event_ess < TRUSTED_ESS:
        factor = max((error / TRUSTED_ERROR) ** 2, TRUSTED_ESS / tilted.event_ess)
        return Verdict(
            Advice.RAISE,
            f"the relative error is {error:.0%} from {tilted.event_ess:.0f} effective paths in the "
            f"event; {math.ceil(factor)} times the paths would do.",
        )
    if tilted.event_pareto_k > TRUSTED_SHAPE:
        return Verdict(
            Advice.RAISE,
            f"the weights in the event have a heavy tail (Pareto shape "
            f"{tilted.event_pareto_k:.2f}, above {TRUSTED_SHAPE}): the error may be larger than it says.",
        )
    return Verdict(
        Advice.TRUST,
        f"the relative error is {error:.1%} from {tilted.event_ess:.0f} effective paths in the event; "
        f"plain Monte Carlo would need {_needed(tilted, plain)} paths for it.",
    )


def not_rare(plain: Diagnosis) -> Verdict:
    """Return the verdict on an event that needs no tilt."""
    return Verdict(
        Advice.NOT_RARE,
        f"{plain.hit_rate:.0%} of plain paths are in the event; no tilt was used.",
    )


def certain(plain: Diagnosis) -> Verdict:
    """Return the verdict on an event that every path is in."""
    return Verdict(
        Advice.CERTAIN,
        f"all of {plain.paths:,} plain paths are in the event: its probability is above "
        f"{1.0 - 3.0 / plain.paths:.6f} (95 %); ask for its complement.",
    )


def unreached(plain: Diagnosis, nearest: float, trained: float, threshold: float) -> Verdict:
    """Return the verdict on an event that not even tilted paths get to."""
    return Verdict(
        Advice.UNREACHED,
        f"{round(plain.hit_rate * plain.paths)} of {plain.paths:,} plain paths and none of the last "
        f"tilted ones reached {threshold:g}; plain paths came to {nearest:.4g}, tilted ones to "
        f"{trained:.4g}. "
        f"The probability is below {3.0 / plain.paths:.1e} (95 %), if the event can happen at all.",
    )


def never_paid(plain: Diagnosis) -> Verdict:
    """Return the verdict on a payoff that is always zero and says nothing of how near it is."""
    return Verdict(
        Advice.UNREACHED,
        f"the payoff is zero on all of {plain.paths:,} plain paths, and nothing says how near they "
        "are to one where it is not: raise the budget or use an event with a threshold.",
    )


def _collapse(tilted: Diagnosis) -> str | None:
    if not math.isfinite(tilted.value):
        return "their sum is not finite"
    if tilted.hit_rate == 0.0:
        return f"no path of {tilted.paths:,} is in the event"
    if tilted.event_ess < LEAST_ESS or tilted.largest_share > LARGEST_SHARE:
        return (
            f"{tilted.event_ess:.1f} effective paths are left in the event and one of them has "
            f"{tilted.largest_share:.0%} of all the weight"
        )
    return None


def _plain(plain: Diagnosis) -> str:
    hits = round(plain.hit_rate * plain.paths)
    if hits == 0:
        return f"which has no path of {plain.paths:,} in the event: below {3.0 / plain.paths:.1e}"
    return f"{plain.value:.3g} ± {plain.standard_error:.1g} from {hits} paths of {plain.paths:,}"


def _needed(tilted: Diagnosis, plain: Diagnosis) -> str:
    """Return how many plain paths have the tilted estimate's error."""
    variance = plain.standard_error**2 * plain.paths
    if variance == 0.0:
        variance = tilted.value * (1.0 - tilted.value)
    return f"{variance / tilted.standard_error**2:,.0f}"
