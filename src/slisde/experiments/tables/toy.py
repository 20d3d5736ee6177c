"""The TOY tables, rendered from the records of `benchmarks/toy.py` (paper: tab:toy3-vanilla, tab:abl-dist)."""

import statistics
from collections.abc import Callable, Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.markdown import markdown_table

FULL = {"grid": 512, "paths": 1024, "steps": 1000}
"""The published protocol."""
REDUCED = {"grid": 64, "paths": 512, "steps": 400}
"""The protocol of the ablation, the same for all its rows."""

POWERS = {1e-4: "10⁻⁴", 1e-2: "10⁻²"}

# metric: label, unit, published value and standard error over seven seeds for L = 2 and L = 3
METRICS = {
    "loss_2048": ("loss, 2,048 paths", 1e-4, {2: (0.852, 0.168), 3: (0.659, 0.059)}),
    "expected_loss_2048": ("its expectation, from 131,072 paths", 1e-4, {}),
    "noise_floor_2048": ("of which noise", 1e-4, {}),
    "debiased_loss": ("population loss, debiased", 1e-4, {}),
    "mae_2048_barrier": ("barrier MAE, 2,048 paths", 1e-2, {2: (0.658, 0.054), 3: (0.672, 0.057)}),
    "ks_terminal": ("KS, terminal value", 1.0, {2: (0.015, 0.001)}),
    "w1_terminal": ("W₁, terminal value", 1.0, {2: (0.023, 0.002)}),
    "ks_maximum": ("KS, running maximum", 1.0, {2: (0.036, 0.002)}),
    "w1_maximum": ("W₁, running maximum", 1.0, {2: (0.037, 0.002)}),
}

VARIANTS = {
    "as published, at this size": ((), "last"),
    "averaged weights (EMA 0.99)": ((), "averaged"),
    "antithetic paths": (("antithetic",), "last"),
    "unbiased gradient": (("unbiased",), "last"),
    "four times the paths in the last fifth": (("late",), "last"),
    "straight-through indicators": (("straight",), "last"),
    "antithetic and straight-through": (("antithetic", "straight"), "last"),
    "antithetic, straight-through, late paths": (("antithetic", "late", "straight"), "last"),
}


def fits(records: Sequence[Record]) -> str:
    """Return the published metrics beside ours, both depths."""
    rows = []
    for name, (label, unit, published) in METRICS.items():
        scale = "" if unit == 1.0 else f" ({POWERS[unit]})"
        row = [label + scale]
        for depth in (2, 3):
            row.append(_published(published.get(depth)))
            values = [r["last"][name] / unit for r in _chosen(records, FULL, (), depth)]
            row.append(mean_and_error(values, "{:.3f}"))
        rows.append(row)
    header = ["", "paper, L = 2", "ours, L = 2", "paper, L = 3", "ours, L = 3"]
    return markdown_table(header, rows)


def ablation(records: Sequence[Record]) -> str:
    """Return what each departure from the paper's training does, at the reduced protocol."""
    rows = []
    for label, (options, weights) in VARIANTS.items():
        chosen = _chosen(records, REDUCED, options, 2)
        if not chosen:
            continue
        rows.append(
            [
                label,
                mean_and_error([r[weights]["debiased_loss"] / 1e-4 for r in chosen], "{:.2f}"),
                mean_and_error([r[weights]["expected_loss_2048"] / 1e-4 for r in chosen], "{:.2f}"),
                mean_and_error([r[weights]["mae_barrier"] / 1e-2 for r in chosen], "{:.2f}"),
                mean_and_error([r[weights]["ks_maximum"] for r in chosen], "{:.3f}"),
            ]
        )
    header = [
        "training",
        "population loss (10⁻⁴)",
        "expected loss, 2,048 paths (10⁻⁴)",
        "barrier MAE (10⁻²)",
        "KS, running maximum",
    ]
    return markdown_table(header, rows)


def mean_and_error(values: Sequence[float], form: str) -> str:
    """Return mean ± standard error with the number of seeds; one seed has no error.

    >>> mean_and_error([1.0, 3.0], "{:.1f}")
    '2.0 ± 1.0 (2 seeds)'
    >>> mean_and_error([1.0], "{:.1f}")
    '1.0 (1 seed)'
    """
    if not values:
        return "not run yet"
    mean = form.format(statistics.fmean(values))
    if len(values) == 1:
        return f"{mean} (1 seed)"
    error = form.format(statistics.stdev(values) / len(values) ** 0.5)
    return f"{mean} ± {error} ({len(values)} seeds)"


def _published(value: tuple[float, float] | None) -> str:
    return "" if value is None else f"{value[0]:.3f} ± {value[1]:.3f}"


def _chosen(
    records: Sequence[Record], protocol: dict[str, int], options: Sequence[str], layers: int
) -> list[Record]:
    return [
        record
        for record in records
        if record["layers"] == layers
        and record["options"] == sorted(options)
        and all(record[key] == value for key, value in protocol.items())
    ]


PARTS: dict[str, Callable[[Sequence[Record]], str]] = {"toy": fits, "ablation": ablation}
