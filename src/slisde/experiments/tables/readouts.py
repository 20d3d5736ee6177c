"""Readouts and estimators side by side, from the records of `benchmarks/readouts.py`."""

from collections.abc import Callable, Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.choice import distinct, matching
from slisde.experiments.tables.table import Cell, Table, mean, over_seeds

ESTIMATORS = ("paths", "conditional", "hedged")
"""The first is what variances are compared with."""
VIOLATIONS = ("monotone", "convex", "calendar")


def compared(records: Sequence[Record]) -> Table:
    """Return a row for each readout and each estimator that applies to it."""
    rows: list[list[Cell]] = []
    for fit in distinct(records, "fit"):
        chosen = matching(records, fit=fit)
        applied = {estimator for record in chosen for estimator in record["estimators"]}
        rows += [[f"{fit}, {name}", *_row(chosen, name)] for name in ESTIMATORS if name in applied]
    return Table(
        "Readouts and estimators on one surface",
        [
            "readout, estimator",
            "held-out RMSE, vol points",
            "of which noise",
            "variance below that of paths, median",
            "10 %",
            "90 %",
            "arbitrage",
            "fit, s",
            "estimate, s",
        ],
        rows,
        [_protocol(records[0]) if records else "No cell has been run yet."],
    )


def _row(records: Sequence[Record], estimator: str) -> list[Cell]:
    """Return the cells of one estimator of a fit."""
    scores = [r["estimators"][estimator] for r in records if estimator in r["estimators"]]
    return [
        over_seeds([s["held_out"]["rmse"] for s in scores], ".2f"),
        mean((s["held_out"]["noise"] for s in scores), ".2f"),
        *(
            mean((s["variance_ratio"][at] for s in scores), ".1f", "×")
            for at in ("median", "low", "high")
        ),
        _arbitrage(scores),
        mean((r["seconds"] for r in records), ".0f"),
        mean((s["seconds"] for s in scores), ".1f"),
    ]


def _arbitrage(scores: Sequence[Record]) -> str:
    """Return the violations beyond noise, of how many combinations of prices; all seeds together."""
    found = sum(score["arbitrage"][kind] for score in scores for kind in VIOLATIONS)
    return f"{found} of {sum(score['arbitrage']['checked'] for score in scores):,}"


def _protocol(record: Record) -> str:
    train, grid = record["settings"]["train"], record["settings"]["grid"]
    return (
        f"{record['surface']}, convention `market`, preset `quick`: {train['steps']:,} steps of "
        f"{train['paths']:,} paths on {grid['steps']} time steps; scored by "
        f"{record['paths']:,} paths. How many times the variance of a quote is below that of its "
        "payoff on plain paths of the same fit: median and deciles over the quotes."
    )


PARTS: dict[str, Callable[[Sequence[Record]], Table]] = {"readouts": compared}
