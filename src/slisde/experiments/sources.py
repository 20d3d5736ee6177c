"""Where the problem of a run comes from: demo, toy, a problem.toml, or a file of quotes."""

import difflib
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from slisde.data.quotes import read_chain
from slisde.data.surface.convention import Convention
from slisde.data.surface.problem import surface_problem
from slisde.data.synthetic import demo_problem
from slisde.data.toy import ToyStatistics, statistics, toy_problem
from slisde.errors import ConfigError, ProblemError
from slisde.experiments.config import ProblemConfig
from slisde.functionals.problem import Problem
from slisde.functionals.problem_file import read_problem

BUILT_IN = ("demo", "toy")
QUOTES = (".csv", ".parquet")

Report = Callable[[str], None]


def build_problem(config: ProblemConfig, report: Report = lambda _: None) -> Problem:
    """Return the problem a user named, or say what could have been meant."""
    source = config.source
    _check_no_keys_of_others(config)
    if is_quotes(source):
        return _surface(config, report)
    if source == "demo":
        return demo_problem()
    if source == "toy":
        return toy_problem(toy_truth(config.monitoring, report))
    path = Path(source)
    if path.suffix == ".toml":
        return read_problem(path)
    close = difflib.get_close_matches(source, BUILT_IN, n=1)
    hint = (
        f"Did you mean `{close[0]}`?"
        if close
        else "Give demo, toy, a problem.toml, or a .csv or .parquet file of quotes."
    )
    raise ProblemError(f"there is no problem `{source}`. {hint}")


def is_quotes(source: str) -> bool:
    """Return whether a problem is named by a file of quotes."""
    return Path(source).suffix.lower() in QUOTES


def _surface(config: ProblemConfig, report: Report) -> Problem:
    chain = read_chain(
        Path(config.source),
        quote_date=_day("quote_date", config.quote_date),
        spot=config.spot,
        rates=config.rates,
    )
    for warning in chain.warnings:
        report(warning)
    expiries = config.expiries
    return surface_problem(
        chain,
        Convention(config.convention),
        root=config.root,
        expiries=None if expiries is None else [_day("expiries", text) for text in expiries],
        spot=config.spot,
        hold_out=config.hold_out,
    )


def _check_no_keys_of_others(config: ProblemConfig) -> None:
    """Raise where a key for TOY or for quotes would be ignored."""
    own = {"monitoring"} if config.source == "toy" else set[str]()
    for name, value in config.model_dump(exclude={"source", *own}).items():
        owner = "toy" if name == "monitoring" else "files of quotes"
        ignored = owner == "toy" or not is_quotes(config.source)
        if ignored and value != ProblemConfig.model_fields[name].default:
            raise ConfigError(f"[problem] `{name}` is for {owner}, not for {config.source}.")


def _day(name: str, text: str | None) -> Any:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"[problem] `{name}` must be a date like 2026-01-30, got {text!r}."
        ) from None


def toy_truth(monitoring: int | None = None, report: Report = lambda _: None) -> ToyStatistics:
    """Return the ground truth of TOY, simulated once for all runs of this user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slisde" / "data"
    return statistics(
        monitoring=monitoring,
        cache=cache,
        report=lambda done, total: report(f"TOY's ground truth, {done:,} of {total:,} paths"),
    )
