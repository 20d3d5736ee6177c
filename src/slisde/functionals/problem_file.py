"""Problems as TOML files, both ways; `docs/problems.md` explains the format."""

import dataclasses
import difflib
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slisde.errors import ProblemError
from slisde.files import write_whole
from slisde.functionals.problem import Problem, Target
from slisde.functionals.text import read_functional, write_functional
from slisde.toml import write_keys

PROBLEM_KEYS: dict[str, type] = {
    "name": str,
    "horizon": float,
    "initial_value": float,
    "group_weights": dict,
    "forwards": dict,
    "discounts": dict,
    "target": list,
}
TARGET_KEYS: dict[str, type] = {
    "functional": str,
    "value": float,
    "group": str,
    "weight": float,
    "held_out": bool,
    "standard_error": float,
    "bid": float,
    "ask": float,
}
_WANTED = {
    str: "a text in quotes",
    float: "a number",
    bool: "true or false",
    dict: "a table, as in `[group_weights]`",
    list: "a list of tables, each opened by `[[target]]`",
}


def read_problem(path: Path) -> Problem:
    """Return the problem of a TOML file, or say in one line what is wrong with it, and where."""
    try:
        return _problem(_load(path))
    except ProblemError as error:
        # Keys and groups are the file's own text, which may hold line breaks.
        raise ProblemError(f"{path}: {' '.join(str(error).split())}") from None


def write_problem(path: Path, problem: Problem) -> None:
    """Write a problem so that `read_problem` gives the same numbers; the file is whole or absent."""
    try:
        content = problem_text(problem).encode("utf-8")
    except UnicodeEncodeError:
        raise ProblemError(f"cannot write {path}: a name in it is not valid Unicode.") from None
    write_whole(path, content)


def problem_text(problem: Problem) -> str:
    """Return a problem as TOML, from which `parse_problem` makes the same numbers."""
    head = {"name": problem.name, "horizon": float(problem.horizon)}
    if problem.initial_value is not None:
        head["initial_value"] = float(problem.initial_value)
    parts = [write_keys(head)]
    if problem.group_weights:
        weights = {group: float(weight) for group, weight in problem.group_weights.items()}
        parts.append("[group_weights]\n" + write_keys(weights))
    for table in ("forwards", "discounts"):
        if numbers := getattr(problem, table):
            keys = {repr(float(maturity)): float(number) for maturity, number in numbers.items()}
            parts.append(f"[{table}]\n" + write_keys(keys))
    for number, target in enumerate(problem.targets, start=1):
        parts.append("[[target]]\n" + write_keys(_target_keys(target, f"target {number}")))
    return "\n".join(parts)


def parse_problem(text: str) -> Problem:
    """Return the problem that `problem_text` wrote."""
    return _problem(tomllib.loads(text))


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProblemError(f"cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProblemError(f"is not TOML: {error}.") from None
    except RecursionError:
        raise ProblemError("is not a problem: its values are nested too deeply.") from None


def _problem(content: dict[str, Any]) -> Problem:
    table = _checked(content, PROBLEM_KEYS, ("name", "horizon", "target"), "")
    weights = {
        group: _value(weight, float, f"[group_weights] `{group}`")
        for group, weight in table.get("group_weights", {}).items()
    }
    targets = [
        _target(entry, f"target {number}: ")
        for number, entry in enumerate(table["target"], start=1)
    ]
    start = table.get("initial_value")
    forwards, discounts = (
        _by_maturity(table.get(name, {}), name) for name in ("forwards", "discounts")
    )
    return Problem(targets, table["horizon"], start, weights, table["name"], forwards, discounts)


def _by_maturity(table: Mapping[str, Any], name: str) -> dict[float, float]:
    """Return a table whose keys are maturities in quotes."""
    numbers = {}
    for key, value in table.items():
        try:
            maturity = float(key)
        except ValueError:
            raise ProblemError(f'[{name}] `{key}` must be a maturity, as in `"0.5"`.') from None
        numbers[maturity] = _value(value, float, f"[{name}] `{key}`")
    return numbers


def _target(entry: Any, place: str) -> Target:
    if not isinstance(entry, dict):
        raise ProblemError(f"{place}open it by `[[target]]`, got {_shown(entry)}.")
    values = _checked(entry, TARGET_KEYS, ("functional", "value"), place)
    try:
        functional = read_functional(values.pop("functional"))
    except ProblemError as error:
        raise ProblemError(f"{place}`functional`: {error}") from None
    return Target(functional, **values)


def _checked(
    table: Mapping[str, Any], known: Mapping[str, type], required: tuple[str, ...], place: str
) -> dict[str, Any]:
    """Return the values of a table with their types checked, numbers as floats."""
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key.lower(), known, n=1)
            hint = f"Did you mean `{close[0]}`?" if close else f"Known: {', '.join(known)}."
            raise ProblemError(f"{place}there is no key `{key}`. {hint}")
    for key in required:
        if key not in table:
            raise ProblemError(f"{place}`{key}` is missing: it must be {_WANTED[known[key]]}.")
    return {key: _value(value, known[key], f"{place}`{key}`") for key, value in table.items()}


def _value(value: Any, wanted: type, place: str) -> Any:
    # A Python bool is an int, but `value = true` in a file is a slip, not a one.
    if wanted is float and isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value, place)
    if not isinstance(value, wanted):
        raise ProblemError(f"{place} must be {_WANTED[wanted]}, got {_shown(value)}.")
    return value


def _finite(value: float | int, place: str) -> float:
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        raise ProblemError(f"{place} must be finite, got {number}.")
    return number


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _target_keys(target: Target, place: str) -> dict[str, Any]:
    """Return what differs from the defaults of a target."""
    try:
        keys: dict[str, Any] = {"functional": write_functional(target.functional)}
    except ProblemError as error:
        raise ProblemError(f"{place}: {error}") from None
    for field in dataclasses.fields(Target)[1:]:
        value = getattr(target, field.name)
        if value != field.default:
            keys[field.name] = TARGET_KEYS[field.name](value)
    return keys
