"""Option surfaces: SLiSDE beside Heston and Bates, from the records of `benchmarks/surfaces.py`."""

import statistics
from collections.abc import Callable, Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.markdown import markdown_table
from slisde.experiments.tables.toy import mean_and_error

FITTERS = {"heston": "Heston", "bates": "Bates", "slisde": "SLiSDE"}
WHOLE = "dax_2002-07-05"
"""Fitted whole: its score is the sum of squared vol points, as in QuantLib's test suite."""
QUANTLIB_TESTS = {"heston": 177.2, "bates": 36.6}
"""Squared vol points on that table, reported by QuantLib's own tests."""


def held_out(records: Sequence[Record]) -> str:
    """Return errors on held-out strikes and the share of them inside bid and ask."""
    rows = []
    for surface in dict.fromkeys(record["surface"] for record in records):
        if surface == WHOLE:
            continue
        for fitter, label in FITTERS.items():
            chosen = [r for r in records if (r["surface"], r["fitter"]) == (surface, fitter)]
            if not chosen:
                continue
            inside = [r["held_out"]["inside"] for r in chosen]
            rows.append(
                [
                    f"{surface}, {label}",
                    _over_seeds([r["held_out"]["rmse"] for r in chosen], "{:.3f}"),
                    _over_seeds([r["fitted"]["rmse"] for r in chosen], "{:.3f}"),
                    "no two sides" if None in inside else _over_seeds(inside, "{:.0%}"),
                    f"{statistics.fmean(r['seconds'] for r in chosen):.0f}",
                ]
            )
    header = [
        "",
        "held-out RMSE, vol points",
        "fitted RMSE, vol points",
        "held-out inside bid/ask",
        "seconds",
    ]
    return markdown_table(header, rows)


def whole(records: Sequence[Record]) -> str:
    """Return the sums of squared vol points on the table of 2002."""
    rows = []
    for fitter, label in FITTERS.items():
        chosen = [r for r in records if (r["surface"], r["fitter"]) == (WHOLE, fitter)]
        sums = [r["fitted"]["quotes"] * r["fitted"]["rmse"] ** 2 for r in chosen]
        reported = QUANTLIB_TESTS.get(fitter)
        if sums:
            rows.append([label, _over_seeds(sums, "{:.1f}"), f"{reported}" if reported else ""])
    return markdown_table(["", "squared vol points, 104 quotes", "QuantLib's tests"], rows)


def _over_seeds(values: Sequence[float], form: str) -> str:
    return form.format(values[0]) if len(values) == 1 else mean_and_error(values, form)


PARTS: dict[str, Callable[[Sequence[Record]], str]] = {"held-out": held_out, "whole": whole}
