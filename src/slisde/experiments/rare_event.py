"""Rare events as text: `terminal > 1.3`, `running_max[0.5] >= 1.2`, or any payoff that has a text."""

import math
import re

from slisde.errors import ProblemError
from slisde.functionals.barrier import CrossesAbove, CrossesBelow
from slisde.functionals.base import AbstractFunctional
from slisde.functionals.check import check_maturity
from slisde.functionals.running import (
    AsianCall,
    AsianPut,
    Average,
    RunningMaximum,
    RunningMinimum,
)
from slisde.functionals.terminal import Call, DigitalAbove, DigitalBelow, Forward, Put
from slisde.functionals.text import read_functional
from slisde.girsanov.event import Event

WATCHED = {"terminal": Forward, "running_max": RunningMaximum, "running_min": RunningMinimum}
PATTERN = re.compile(
    r"\s*(?P<watched>[a-z_]+)\s*(\[(?P<time>[^\]]*)\])?\s*(?P<side>>=|<=|>|<)\s*(?P<threshold>\S+)\s*"
)
EXAMPLE = (
    "`terminal > 1.3`, `running_min[0.5] <= 0.8` or a payoff as `call(strike=1.3, maturity=1)`"
)


def read_event(text: str, horizon: float) -> Event:
    """Return the event that a text describes.

    A time in brackets is when it is decided, the horizon by default. Whether a threshold itself
    belongs to the event makes no difference to paths that have a density.

    Example:
        >>> read_event("terminal[0.5] > 1.3", 1.0).watched
        Forward(maturity=0.5)
    """
    if "(" in text:
        return _payoff(read_functional(text), horizon)
    match = PATTERN.fullmatch(text)
    if match is None:
        raise ProblemError(f"`{' '.join(text.split())}` is not an event: write {EXAMPLE}.")
    name = match["watched"]
    if name not in WATCHED:
        raise ProblemError(f"`{name}` is not watched: write one of {', '.join(WATCHED)}.")
    time = horizon if match["time"] is None else _number("time", match["time"])
    watched = WATCHED[name](time)
    check_maturity(watched, horizon)
    return Event(watched, _number("threshold", match["threshold"]), above=">" in match["side"])


def _payoff(payoff: AbstractFunctional, horizon: float) -> Event:
    check_maturity(payoff, horizon)
    maturity = payoff.maturity
    if isinstance(payoff, Call | DigitalAbove):
        return Event(Forward(maturity), float(payoff.strike), payoff=payoff)
    if isinstance(payoff, Put | DigitalBelow):
        return Event(Forward(maturity), float(payoff.strike), above=False, payoff=payoff)
    if isinstance(payoff, AsianCall | AsianPut):
        above = isinstance(payoff, AsianCall)
        return Event(Average(maturity), float(payoff.strike), above=above, payoff=payoff)
    if isinstance(payoff, CrossesAbove):
        return Event(RunningMaximum(maturity), float(payoff.barrier), payoff=payoff)
    if isinstance(payoff, CrossesBelow):
        return Event(RunningMinimum(maturity), float(payoff.barrier), above=False, payoff=payoff)
    return Event(None, payoff=payoff)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ProblemError(
            f"the {name} of an event must be a finite number, got `{text.strip()}`: write {EXAMPLE}."
        )
    return value
