"""`slisde price`: expectations of any functional under a fitted model."""

import math
from pathlib import Path
from typing import Annotated

import typer

from slisde.cli.output import Json, Progress, Run, Seed, counting, show


def price(
    run: Run,
    payoffs: Annotated[
        list[str], typer.Argument(metavar="PAYOFF…", help='As in "call(strike=1, maturity=0.5)".')
    ],
    paths: Annotated[int, typer.Option(help="Fresh paths.", min=1)] = 65_536,
    seed: Seed = None,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Show the expectation of payoffs under a fitted model, with standard errors.

    Example: slisde price runs/demo "asian_call(strike=1.0, maturity=0.5)"
    """
    from slisde.experiments.job import open_run
    from slisde.experiments.pricing import price_run
    from slisde.functionals.text import read_functional

    functionals = [read_functional(text) for text in payoffs]
    fitted = open_run(Path(run))
    with counting(progress, "pricing") as report:
        result = price_run(fitted, functionals, paths, seed=seed, report=report)
    rows = [
        {"payoff": text, "price": float(mean), "standard_error": float(error)}
        for text, mean, error in zip(payoffs, result.mean, result.standard_error, strict=True)
    ]
    if json:
        show({"prices": rows, "paths": result.paths}, as_json=True)
        return
    width = max(len(text) for text in payoffs)
    for row in rows:
        print(f"{row['payoff']:<{width}}  {row['price']:.6f} ± {row['standard_error']:.1g}")
    if any(math.isnan(row["price"]) for row in rows):
        print("nan: some paths have no such value; a realised variance needs positive paths.")
