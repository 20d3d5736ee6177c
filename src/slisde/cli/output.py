"""What commands print: an object with `--json`, aligned lines without."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from slisde import strict_json

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ConfigFile = Annotated[
    str | None, typer.Option("--config", metavar="FILE.toml", help="Configuration file.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Override one key; may be repeated."),
]
Progress = Annotated[
    bool, typer.Option("--progress", help="Show progress even where stderr is no terminal.")
]
Run = Annotated[str, typer.Argument(metavar="RUN", help="Run directory of a finished fit.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the fresh paths. [default: the run's own]")]


@contextmanager
def counting(forced: bool, doing: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how many batches of all are done."""
    with reporter(forced) as report:
        yield lambda done, total: report(f"{doing}, batch {done} of {total}")


@contextmanager
def reporter(forced: bool) -> Iterator[Callable[[str], None]]:
    """Give a function that shows what is being done, on stderr and on a terminal only."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("starting") as status:
            yield status.update
    elif forced:
        yield lambda message: print(message, file=sys.stderr, flush=True)
    else:
        yield lambda _: None


def keep_stdout() -> None:
    """Let only what Python prints reach standard output; what libraries in C++ say goes to stderr."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(own, "w", encoding=sys.stdout.encoding)


def show(values: dict[str, Any], *, as_json: bool, labels: dict[str, str] | None = None) -> None:
    """Print the values; without JSON only those with a label, in the labels' order."""
    if as_json:
        print(strict_json.dumps(values))
        return
    labels = {key: key for key in values} if labels is None else labels
    width = max(len(label) for label in labels.values())
    for key, label in labels.items():
        print(f"{label:<{width}}  {_plain(values[key])}")


def _plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value)
    return str(value)
