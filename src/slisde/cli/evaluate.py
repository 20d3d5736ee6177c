"""`slisde evaluate`: how well a fitted model fits."""

from pathlib import Path
from typing import Annotated, Any

import typer

from slisde.cli.estimator import Choice, chosen
from slisde.cli.output import Json, Progress, Run, Seed, counting, show

LABELS = {
    "problem": "problem",
    "paths": "paths",
    "loss": "loss",
    "loss_se": "± standard error",
    "noise_floor": "of which noise",
    "debiased_loss": "debiased loss",
    "debiased_loss_se": "± standard error",
    "held_out_debiased_loss": "held out, debiased",
    "held_out_debiased_loss_se": "± standard error",
}


def evaluate(
    run: Run,
    paths: Annotated[int, typer.Option(help="Fresh paths.", min=1)] = 32_768,
    estimator: Choice = "conditional",
    seed: Seed = None,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Show losses, held-out errors, the noise floor and standard errors of a fitted model.

    A fit of a chain of options is also shown in vol points, with the share of quotes between bid and
    ask and the static arbitrage of the fitted surface.

    Example: slisde evaluate runs/demo --paths 65536
    """
    from slisde.experiments.evaluation import evaluate_run
    from slisde.experiments.job import open_run

    fitted = open_run(Path(run))
    with counting(progress, "evaluating") as report:
        _, summary = evaluate_run(
            fitted, paths, estimator=chosen(estimator), seed=seed, report=report
        )
    show(summary, as_json=json, labels={k: v for k, v in LABELS.items() if k in summary})
    if json:
        return
    _show_groups(summary["groups"])
    if "implied_vol" in summary:
        _show_smiles(summary["implied_vol"])
        _show_arbitrage(summary["arbitrage"])


def _show_groups(groups: dict[str, dict[str, Any]]) -> None:
    width = max(len("group"), *(len(name) for name in groups))
    print(f"\n{'group':<{width}}  {'fitted':>6} {'MAE':>9} {'max':>9}  {'held out':>8} {'MAE':>9}")
    for name, group in groups.items():
        print(
            f"{name:<{width}}  {group['targets']:>6} {_number(group, 'mae')} "
            f"{_number(group, 'max_error')}  {group['held_out']:>8} "
            f"{_number(group, 'held_out_mae')}"
        )


def _number(group: dict[str, Any], key: str) -> str:
    return f"{group[key]:>9.2e}" if key in group else f"{'':>9}"


def _show_smiles(values: dict[str, Any]) -> None:
    print("\nimplied volatility, root mean squared error in vol points")
    head = " ".join(f"{word:>8}" for word in ("quotes", "error", "noise", "inside"))
    print(f"{'expiry':<9}  {'fitted':<35}  held out\n{'':<9}  {head}  {head}")
    for row in (*values["expiries"], values):
        label = f"T = {row['maturity']:.3g}" if "maturity" in row else "all"
        print(f"{label:<9}  {_score(row.get('fitted'))}  {_score(row.get('held_out'))}".rstrip())


def _score(values: dict[str, Any] | None) -> str:
    if values is None:
        return " " * 35
    inside = "" if values["inside"] is None else f"{values['inside']:.0%}"
    return f"{values['quotes']:>8} {values['rmse']:>8.3f} {values['noise']:>8.3f} {inside:>8}"


def _show_arbitrage(values: dict[str, Any]) -> None:
    counts = ", ".join(f"{kind} {values[kind]}" for kind in ("monotone", "convex", "calendar"))
    print(f"\narbitrage beyond noise: {counts} (of {values['checked']:,} checked)")
