"""TOML for writing; the standard library only reads it."""

import json
import re
from collections.abc import Mapping
from typing import Any


def write_keys(values: Mapping[str, Any]) -> str:
    """Return a line per key; keys without a value (None) are left out.

    >>> print(write_keys({"steps": 3, "ema": None, "rate": 1e-3, "far puts": True}), end="")
    steps = 3
    rate = 0.001
    "far puts" = true
    """
    lines = [f"{_key(key)} = {_value(value)}" for key, value in values.items() if value is not None]
    return "".join(line + "\n" for line in lines)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # `float` first: NumPy's scalars print their own type. repr reads back to the same bits.
        return repr(float(value))
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    raise TypeError(f"a {type(value).__name__} has no place in a flat TOML table")


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but TOML wants the delete character escaped too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
