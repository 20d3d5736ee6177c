"""`slisde rare`: probabilities of rare events under a fitted model."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slisde.cli.output import Json, Progress, Run, Seed, reporter, show

if TYPE_CHECKING:
    from slisde.experiments.rare import Rare
    from slisde.girsanov.diagnosis import Diagnosis


class TiltName(StrEnum):
    """What a tilt is made of; as `slisde.girsanov.tilt.Driver`, which is slow to import."""

    GUIDED = "guided"
    ALL = "all"
    LAST = "last"


def rare(
    run: Run,
    event: Annotated[
        str,
        typer.Option(
            metavar="EVENT",
            help='"terminal > 1.3", "running_min[0.5] <= 0.8" or a payoff as for `slisde price`.',
        ),
    ],
    paths: Annotated[int, typer.Option(help="Fresh paths of the estimate.", min=2)] = 16_384,
    tilt: Annotated[
        TiltName | None,
        typer.Option(help="Feedback from all states, or all noise or the last layer's alike."),
    ] = None,
    covariance: Annotated[
        bool, typer.Option("--covariance", help="Tilt the scales of the initial state, too.")
    ] = False,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="Train the tilt anew even if the run has one.")
    ] = False,
    seed: Seed = None,
    json: Json = False,
    progress: Progress = False,
) -> None:
    """Show the probability of a rare event, or the price of a payoff on it.

    A tilt of the noise is trained until the event happens on many paths, and kept in the run; the
    estimate weights fresh tilted paths back. Plain Monte Carlo at equal cost stands beside it.

    Example: slisde rare runs/demo --event "terminal > 1.3"
    """
    from slisde.experiments.job import open_run
    from slisde.experiments.rare import rare_event
    from slisde.girsanov.tilt import Driver

    fitted = open_run(Path(run))
    with reporter(progress) as report:
        result = rare_event(
            fitted,
            event,
            paths,
            driver=None if tilt is None else Driver(tilt.value),
            covariance=covariance,
            retrain=retrain,
            seed=seed,
            report=report,
        )
    if json:
        show(_values(result), as_json=True)
    else:
        _print(result)


def _print(result: "Rare") -> None:
    name = "price" if result.is_price else "probability"
    print(f"{name:<12} {result.value:.4g} ± {result.standard_error:.1g}", end="")
    print(f"   95 %: {result.interval[0]:.4g} to {result.interval[1]:.4g}")
    plain = result.plain
    print(f"plain        {plain.value:.4g} ± {plain.standard_error:.1g}", end="")
    print(f"   {round(plain.hit_rate * plain.paths):,} of {plain.paths:,} paths in the event")
    tilted = result.tilted
    if tilted is not None:
        kept = "from the run" if result.reused else f"{result.training_paths:,} training paths"
        print(f"tilt         {result.kl:.2f} nats, {kept}")
        print(f"hit rate     {tilted.hit_rate:.1%} of {tilted.paths:,} paths")
        print(f"coverage     {result.coverage:.0%} of the plain paths nearest to the event")
        print(f"effective    {tilted.event_ess:,.0f} paths in the event, {tilted.ess:,.0f} in all")
        print(f"mean weight  {tilted.mean_weight:.3f} ± {tilted.mean_weight_error:.1g}")
    print(f"verdict      {result.verdict}")


def _values(result: "Rare") -> dict[str, Any]:
    low, high = result.interval
    values: dict[str, Any] = {
        "event": result.event,
        "kind": "price" if result.is_price else "probability",
        "probability": result.value,
        "standard_error": result.standard_error,
        "interval": [low, high],
        "plain": _plain(result.plain),
        "paths": None if result.tilted is None else result.tilted.paths,
        "training_paths": result.training_paths,
        "reused": result.reused,
        "kl": result.kl,
        "coverage": result.coverage,
        "verdict": result.verdict.advice.value,
        "reason": result.verdict.reason,
    }
    names = (
        "ess",
        "event_ess",
        "mean_weight",
        "mean_weight_error",
        "hit_rate",
        "pareto_k",
        "event_pareto_k",
        "largest_share",
    )
    return values | {
        name: None if result.tilted is None else getattr(result.tilted, name) for name in names
    }


def _plain(plain: "Diagnosis") -> dict[str, Any]:
    return {
        "probability": plain.value,
        "standard_error": plain.standard_error,
        "paths": plain.paths,
        "hit_rate": plain.hit_rate,
    }
