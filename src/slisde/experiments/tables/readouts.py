"""Readouts and estimators side by side, from the records of `benchmarks/readouts.py`."""

import statistics
from collections.abc import Callable, Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.table import Number, Table, over_seeds

ESTIMATORS = ("paths", "conditional", "hedged")
"""The first is what variances are compared with."""
VIOLATIONS = ("monotone", "convex", "calendar")


def compared(records: Sequence[Record]) -> Table:
    """Return a row for each readout and each estimator that applies to it."""
    rows = []
    for fit in dict.fromkeys(record["fit"] for record in records):
        chosen = [record for record in records if record["fit"] == fit]
        for estimator in ESTIMATORS:
            scores = [r["estimators"][estimator] for r in chosen if estimator in r["estimators"]]
            if not scores:
                continue
            rows.append(
                [
                    f"{fit}, {estimator}",
                    over_seeds([s["held_out"]["rmse"] for s in scores], ".2f"),
                    Number(statistics.fmean(s["held_out"]["noise"] for s in scores), ".2f"),
                    *(
                        Number(
                            statistics.fmean(s["variance_ratio"][at] for s in scores), ".1f", "×"
                        )
                        for at in ("median", "low", "high")
                    ),
                    _arbitrage(scores),
                    Number(statistics.fmean(r["seconds"] for r in chosen), ".0f"),
                    Number(statistics.fmean(s["seconds"] for s in scores), ".1f"),
                ]
            )
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


def _arbitrage(scores: Sequence[Record]) -> str:
    """Return the violations beyond noise, of how many combinations of prices; all seeds together."""
    found = sum(score["arbitrage"][kind] for score in scores for kind in VIOLATIONS)
    return f"{found} of {sum(score['arbitrage']['checked'] for score in scores):,}"


def _protocol(record: Record) -> str:
    train, grid = record["settings"]["train"], record["settings"]["grid"]
    return (
        f"{record['surface']}, convention `market`: {train['steps']:,} steps of {train['paths']:,} "
        f"paths on {grid['steps']} time steps, otherwise the preset `standard`; scored by "
        f"{record['paths']:,} paths. How many times the variance of a quote is below that of its "
        "payoff on plain paths of the same fit: median and deciles over the quotes."
    )


PARTS: dict[str, Callable[[Sequence[Record]], Table]] = {"readouts": compared}
