"""What a worker does with one cell, from plain values to plain values.

This module imports nothing heavy: a worker of a cluster reads it before it prepares for JAX.
"""

from collections.abc import Callable
from typing import Any

Report = Callable[[int, float], None]
"""Called with the step and its loss."""


def payload_of(config: dict[str, Any], problem: str) -> dict[str, Any]:
    """Return all that a worker has to be sent."""
    return {"config": config, "problem": problem}


def run_payload(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Fit and score a cell; what the user can mend is a result, too, since it would happen again."""
    from slisde.experiments.allocation import keep_freed_memory
    from slisde.experiments.compilation import keep_compiled_programs

    keep_compiled_programs()
    keep_freed_memory()

    from slisde.errors import SlisdeError
    from slisde.experiments.config import parse
    from slisde.experiments.machine import describe
    from slisde.experiments.sweep.fit import fit_and_score
    from slisde.functionals.problem_file import parse_problem

    config = parse(payload["config"])
    try:
        result = fit_and_score(config, parse_problem(payload["problem"]), report)
    except SlisdeError as error:
        result = {"error": str(error)}
    return {**result, "machine": describe()}
