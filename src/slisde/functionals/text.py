"""Functionals as text, both ways: `asian_call(strike=1.0, maturity=0.5)`.

A name is the class in snake case; the eight barrier options spell their kind, as in
`up_and_out_call`. Text is matched, never evaluated.
"""

import dataclasses
import difflib
import itertools
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from slisde.errors import ProblemError
from slisde.functionals.barrier import (
    BarrierOption,
    CrossesAbove,
    CrossesBelow,
    Effect,
    Right,
    Side,
)
from slisde.functionals.base import AbstractFunctional, Custom
from slisde.functionals.running import (
    AsianCall,
    AsianPut,
    Average,
    LookbackCall,
    LookbackPut,
    RealisedVariance,
    RunningMaximum,
    RunningMinimum,
    SquaredAverage,
)
from slisde.functionals.terminal import Call, DigitalAbove, DigitalBelow, Forward, Put

_CLASSES: tuple[type[AbstractFunctional], ...] = (
    Forward,
    Call,
    Put,
    DigitalAbove,
    DigitalBelow,
    RunningMaximum,
    RunningMinimum,
    Average,
    SquaredAverage,
    AsianCall,
    AsianPut,
    LookbackCall,
    LookbackPut,
    RealisedVariance,
    CrossesAbove,
    CrossesBelow,
)
_ORDER = ("strike", "barrier", "maturity")
_ALIASES = {"realized_variance": "realised_variance"}
_SHOWN = 60


class Kind(NamedTuple):
    """What a name stands for: a constructor, and its arguments in the order they are written."""

    build: Callable[..., AbstractFunctional]
    arguments: tuple[str, ...]


def read_functional(text: str) -> AbstractFunctional:
    """Return the functional that a text names.

    Example:
        >>> read_functional("call(strike=1, maturity=0.5)")
        Call(maturity=0.5, strike=1.0)
    """
    match = re.fullmatch(r"\s*([^\s()=,]+)\s*\(([^()]*)\)\s*", text)
    if match is None:
        raise ProblemError(
            f"cannot read `{_shown(text)}`: write one functional as `call(strike=1.0, maturity=0.5)`."
        )
    name, inside = match.groups()
    name = _ALIASES.get(name, name)
    if name not in KINDS:
        raise ProblemError(f"there is no functional `{_shown(name)}`. {_hint(name, list(KINDS))}")
    kind = KINDS[name]
    pattern = f"{name}({', '.join(f'{argument}=…' for argument in kind.arguments)})"
    given = _read_arguments(name, inside, kind.arguments, pattern)
    for argument in kind.arguments:
        if argument not in given:
            raise ProblemError(f"`{name}` needs `{argument}`: write `{pattern}`.")
    return kind.build(**given)


def write_functional(functional: AbstractFunctional) -> str:
    """Return the text that `read_functional` reads back as the same functional, to the last bit.

    Example:
        >>> write_functional(Call(maturity=0.5, strike=1.0))
        'call(strike=1.0, maturity=0.5)'
    """
    name = _name(functional)
    numbers = [
        f"{argument}={_written(name, argument, getattr(functional, argument))}"
        for argument in KINDS[name].arguments
    ]
    return f"{name}({', '.join(numbers)})"


def describe(functional: AbstractFunctional) -> str:
    """Return a functional for a person to read: the same text, with fewer digits.

    Example:
        >>> describe(Call(maturity=1 / 3, strike=1.0))
        'call(strike=1, maturity=0.333333)'
    """
    if isinstance(functional, BarrierOption):
        name = _barrier_name(functional.side, functional.effect, functional.right)
    else:
        name = _snake_case(type(functional))
    function = getattr(functional, "function", None)
    parts = [] if function is None else [getattr(function, "__name__", "function")]
    numbers = {key: vars(functional).get(key) for key in _ORDER}
    parts += [f"{key}={float(value):g}" for key, value in numbers.items() if value is not None]
    return f"{name}({', '.join(parts)})"


def _read_arguments(
    name: str, inside: str, known: tuple[str, ...], pattern: str
) -> dict[str, float]:
    given: dict[str, float] = {}
    parts = inside.split(",")
    if not parts[-1].strip():  # nothing at all, or a trailing comma
        parts.pop()
    for part in parts:
        argument, equals, number = (piece.strip() for piece in part.partition("="))
        if not (argument and equals and number):
            raise ProblemError(
                f"`{name}` has the argument `{_shown(part)}`: name each, as in `{pattern}`."
            )
        if argument not in known:
            raise ProblemError(
                f"`{name}` has no argument `{_shown(argument)}`. {_hint(argument, list(known))}"
            )
        if argument in given:
            raise ProblemError(f"`{name}` has `{argument}` twice: give it once.")
        given[argument] = _number(name, argument, number)
    return given


def _number(name: str, argument: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ProblemError(
            f"`{argument}` of `{name}` must be a number, got `{_shown(text)}`."
        ) from None
    if not math.isfinite(value):
        raise ProblemError(f"`{argument}` of `{name}` must be finite, got `{_shown(text)}`.")
    return value


def _name(functional: AbstractFunctional) -> str:
    if isinstance(functional, Custom):
        raise ProblemError(
            "a `Custom` functional is a Python function and has no text: keep its problem in Python."
        )
    if isinstance(functional, BarrierOption):
        name = _barrier_name(functional.side, functional.effect, functional.right)
    elif type(functional) in _CLASSES:
        name = _snake_case(type(functional))
    else:
        raise ProblemError(
            f"`{type(functional).__name__}` has no text: only the functionals of this package have one."
        )
    if getattr(functional, "smoothing", None) is not None:
        raise ProblemError(f"a smooth `{name}` has no text: write the functional it stands for.")
    return name


def _written(name: str, argument: str, value: Any) -> str:
    if np.ndim(value) != 0:
        raise ProblemError(
            f"`{argument}` of `{name}` holds {np.size(value)} numbers: write each functional alone."
        )
    number = float(value)
    if not math.isfinite(number):
        raise ProblemError(f"`{argument}` of `{name}` must be finite, got `{number}`.")
    return repr(number)


def _hint(wrong: str, known: list[str]) -> str:
    close = difflib.get_close_matches(wrong.lower(), known, n=1)
    return f"Did you mean `{close[0]}`?" if close else f"Known: {', '.join(known)}."


def _shown(text: str) -> str:
    """Return a text on one line and not too long, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _snake_case(kind: type[AbstractFunctional]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def _barrier_name(side: Side, effect: Effect, right: Right) -> str:
    return f"{side}_and_{effect}_{right}"


def _arguments(kind: type[AbstractFunctional]) -> tuple[str, ...]:
    fields = {field.name for field in dataclasses.fields(kind)}
    return tuple(argument for argument in _ORDER if argument in fields)


KINDS: dict[str, Kind] = {
    **{_snake_case(kind): Kind(kind, _arguments(kind)) for kind in _CLASSES},
    **{
        _barrier_name(side, effect, right): Kind(
            partial(BarrierOption, right=right, side=side, effect=effect),
            _arguments(BarrierOption),
        )
        for side, effect, right in itertools.product(Side, Effect, Right)
    },
}
"""Every functional that has a text, by its name."""
