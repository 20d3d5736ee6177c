"""The command `slisde`: one file per command, errors in one line."""

import sys

import typer

from slisde import __version__
from slisde.cli.bench import bench
from slisde.cli.calibrate import calibrate
from slisde.cli.doctor import doctor
from slisde.cli.evaluate import evaluate
from slisde.cli.inspect import inspect
from slisde.cli.price import price
from slisde.cli.quotes import quotes
from slisde.cli.rare import rare
from slisde.cli.report import report
from slisde.cli.simulate import simulate
from slisde.cli.sweep import sweep
from slisde.cli.table import table
from slisde.errors import SlisdeError
from slisde.experiments.allocation import collect_rarely, keep_freed_memory
from slisde.experiments.compilation import keep_compiled_programs

app = typer.Typer(
    name="slisde",
    help="Fit a generative model of paths to expectations of path functionals.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its import alone takes as long as all the rest of `--help`
)
for command in (
    calibrate,
    evaluate,
    price,
    rare,
    simulate,
    report,
    quotes,
    inspect,
    sweep,
    table,
    bench,
    doctor,
):
    app.command()(command)


def _show_version(wanted: bool | None) -> None:
    if wanted:
        print(f"slisde {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: bool | None = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    del version  # handled by its callback


def main() -> None:
    """Run the command line; what the user can mend ends in exit code 2 and one line."""
    collect_rarely()
    keep_compiled_programs()
    keep_freed_memory()
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except (SlisdeError, typer.TyperException) as error:
        message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        print(f"slisde: error: {' '.join(message.split())}", file=sys.stderr)
        code = 2
    except typer.Abort:
        print("slisde: stopped", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader, `head` for instance, has had enough
        code = 0
    sys.exit(code)
