"""Where the problem of a run comes from: demo, toy, or a file."""

import difflib
import os
from collections.abc import Callable
from pathlib import Path

from slisde.data.synthetic import demo_problem
from slisde.data.toy import ToyStatistics, statistics, toy_problem
from slisde.errors import ProblemError
from slisde.functionals.problem import Problem
from slisde.functionals.problem_file import read_problem

BUILT_IN = ("demo", "toy")

Report = Callable[[str], None]


def build_problem(source: str, report: Report = lambda _: None) -> Problem:
    """Return the problem a user named, or say what could have been meant."""
    if source == "demo":
        return demo_problem()
    if source == "toy":
        return toy_problem(toy_truth(report))
    path = Path(source)
    if path.suffix == ".toml":
        return read_problem(path)
    close = difflib.get_close_matches(source, BUILT_IN, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else "Give demo, toy or a problem.toml."
    raise ProblemError(f"there is no problem `{source}`. {hint}")


def toy_truth(report: Report = lambda _: None) -> ToyStatistics:
    """Return the ground truth of TOY, simulated once for all runs of this user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slisde" / "data"
    return statistics(
        cache=cache,
        report=lambda done, total: report(f"TOY's ground truth, {done:,} of {total:,} paths"),
    )
