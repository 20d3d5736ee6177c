"""The option `--estimator`: how expectations are taken over paths."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from slisde.calibration.estimator import Estimator

# Spelled out, because the library's own names would load JAX for `--help`.
Choice = Annotated[
    Literal["paths", "conditional", "hedged"],
    typer.Option(
        "--estimator",
        help="Average over paths, with what the readout knows of their law, or hedged as well.",
    ),
]


def chosen(name: str) -> "Estimator":
    """Return the estimator of a name."""
    from slisde.calibration.estimator import Estimator

    return Estimator(name)
