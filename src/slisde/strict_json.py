"""JSON that every reader takes: numbers it has no word for become null."""

import json
import math
from typing import Any


def dumps(value: Any, **options: Any) -> str:
    """Return the value as JSON; `options` are those of `json.dumps`.

    >>> dumps({"loss": float("nan"), "steps": [1, 2]})
    '{"loss": null, "steps": [1, 2]}'
    """
    return json.dumps(_speakable(value), allow_nan=False, **options)


def _speakable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _speakable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_speakable(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
