"""`slisde price`: expectations of any functional under a fitted model."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slisde.cli.estimator import Choice, chosen
from slisde.cli.output import Json, Progress, Run, Seed, counting, show

if TYPE_CHECKING:
    from slisde.experiments.job import FittedRun
    from slisde.experiments.pricing import Measured, PricedPayoff
    from slisde.experiments.sensitivity import GroupBump
    from slisde.functionals.base import AbstractFunctional


def price(
    run: Run,
    payoffs: Annotated[
        list[str], typer.Argument(metavar="PAYOFF…", help='As in "call(strike=1, maturity=0.5)".')
    ],
    paths: Annotated[int, typer.Option(help="Fresh paths.", min=1)] = 65_536,
    estimator: Choice = "conditional",
    seed: Seed = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Bump each group of quotes and refit: minutes.")
    ] = False,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Show the expectation of payoffs under a fitted model, with standard errors.

    Beside it stand the delta, the derivative in the start of the path when all of it moves in
    proportion, and for calls and puts on a fitted chain of options the implied volatility. With
    --sensitivity follows what a vol point more on puts, calls and each expiry does to each price.

    Example: slisde price runs/demo "asian_call(strike=1.0, maturity=0.5)"
    """
    from slisde.experiments.job import open_run
    from slisde.experiments.pricing import price_payoffs
    from slisde.functionals.text import read_functional

    functionals = [read_functional(text) for text in payoffs]
    fitted = open_run(Path(run))
    bumps = _bumped(fitted, functionals, seed, progress) if sensitivity else None
    with counting(progress, "pricing") as report:
        priced, count = price_payoffs(
            fitted, functionals, paths, estimator=chosen(estimator), seed=seed, report=report
        )
    if json:
        rows = [_row(text, each) for text, each in zip(payoffs, priced, strict=True)]
        values = {"prices": rows, "paths": count, "estimator": estimator}
        if bumps is not None:
            values["sensitivity"] = [_bump_row(payoffs, bump) for bump in bumps]
        show(values, as_json=True)
        return
    width = max(len(text) for text in payoffs)
    for text, each in zip(payoffs, priced, strict=True):
        parts = [f"{text:<{width}}", _shown(each.price, 6)]
        parts.append("no delta" if each.delta is None else f"delta {_shown(each.delta, 4)}")
        if each.volatility is not None:
            parts.append(f"vol {_shown(each.volatility, 4)}")
        print("  ".join(parts))
    for reason in dict.fromkeys(each.no_delta for each in priced if each.no_delta):
        print(f"no delta: {reason}.")
    if any(math.isnan(each.price.value) for each in priced):
        print("nan: some paths have no such value; a realised variance needs positive paths.")
    if bumps is not None:
        _show_bumps(payoffs, bumps)


def _bumped(
    fitted: "FittedRun",
    functionals: "list[AbstractFunctional]",
    seed: int | None,
    progress: bool,
) -> "list[GroupBump]":
    from slisde.experiments.sensitivity import sensitivities

    with counting(progress, "refitting to bumped quotes") as report:
        return sensitivities(fitted, functionals, seed=seed, report=report)


def _bump_row(payoffs: list[str], bump: "GroupBump") -> dict[str, Any]:
    return {
        "group": bump.group,
        "quotes": bump.quotes,
        "reached": bump.reached.value,
        "reached_standard_error": bump.reached.standard_error,
        "elsewhere": bump.elsewhere,
        "changes": [
            {"payoff": text, "change": change.value, "standard_error": change.standard_error}
            for text, change in zip(payoffs, bump.changes, strict=True)
        ],
    }


def _show_bumps(payoffs: list[str], bumps: "list[GroupBump]") -> None:
    print("\none vol point more on a group of quotes, by a refit of one Gauss-Newton step")
    print(f"{'group':<10}  {'quotes':>6}  {'reached':<14}  elsewhere")
    for bump in bumps:
        reached = _shown(bump.reached, 2)
        print(f"{bump.group:<10}  {bump.quotes:>6}  {reached:<14}  {bump.elsewhere:.2f}")
    for index, text in enumerate(payoffs):
        print(f"\n{text} changes by")
        for bump in bumps:
            change = bump.changes[index]
            print(f"{bump.group:<10}  {change.value:+.6f} ± {change.standard_error:.1g}")


def _row(payoff: str, priced: "PricedPayoff") -> dict[str, Any]:
    row: dict[str, Any] = {
        "payoff": payoff,
        "price": priced.price.value,
        "standard_error": priced.price.standard_error,
    }
    for name, number in (("delta", priced.delta), ("implied_vol", priced.volatility)):
        row[name] = None if number is None else number.value
        row[f"{name}_standard_error"] = None if number is None else number.standard_error
    row["no_delta"] = priced.no_delta
    return row


def _shown(number: "Measured", decimals: int) -> str:
    return f"{number.value:.{decimals}f} ± {number.standard_error:.1g}"
