"""Calibration with tilted far tails, from the records of `benchmarks/tilt.py`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import ttest_rel

from slisde.experiments.record import Record
from slisde.experiments.tables.choice import matching
from slisde.experiments.tables.table import Cell, Table, over_seeds, published

METRICS = {
    "held_out_loss": ("loss (10⁻⁴)", 1e-4),
    "far_puts": ("far put (10⁻⁶)", 1e-6),
    "far_calls": ("far call (10⁻⁶)", 1e-6),
}

# arm: label, and the published values of the metrics in their order
ARMS: dict[str, tuple[str, list[tuple[float, float]]]] = {
    "vanilla": ("vanilla", [(1.15, 0.12), (0.93, 0.46), (3.15, 0.33)]),
    "untilted": ("untilted, ρ = 0", [(1.18, 0.19), (0.87, 0.42), (3.62, 0.78)]),
    "untilted-double": (
        "untilted, ρ = 0, twice the paths",
        [(0.95, 0.13), (0.81, 0.30), (2.59, 0.49)],
    ),
    "combined": ("tilt, combined estimate", [(0.98, 0.10), (0.82, 0.27), (2.03, 0.78)]),
    "tilted-only": ("tilt, tilted paths only", [(0.88, 0.10), (0.48, 0.08), (3.25, 1.04)]),
}
CONTROLLERS: dict[str, tuple[str, list[tuple[float, float]]]] = {
    "combined": ("cross-entropy, κ = 6, combined", ARMS["combined"][1]),
    "tilted-only": ("cross-entropy, κ = 6, tilted paths only", ARMS["tilted-only"][1]),
    "wall-2": ("cross-entropy, κ = 2, combined", [(1.13, 0.20), (0.59, 0.01), (2.46, 1.03)]),
    "snis-variance": ("SNIS variance, combined", [(1.18, 0.35), (1.18, 0.33), (2.71, 1.10)]),
}
EFFECTIVE = {
    "combined": "0.05 / 0.09",
    "tilted-only": "0.05 / 0.12",
    "wall-2": "0.06 / 0.08",
    "snis-variance": "1.00 / 0.99",
}
"""The paper's ESS/n of the put and the call controller."""


PAIRS = [
    ("combined", "vanilla", "far_calls", "0.64× (6 of 7 seeds lower, p = 0.03)"),
    ("combined", "untilted-double", "far_calls", "0.78×, not significant"),
    ("tilted-only", "untilted-double", "far_puts", "0.60×, not significant"),
]
"""Arms that the paper compares, the error, and what it found."""


def arms(records: Sequence[Record]) -> Table:
    """Return the arms of tab:dax3-girsanov, the paper's numbers beside ours."""
    table = _table("DAX with tilted far tails", "tab:dax3-girsanov", ARMS, records)
    compared = [_compared(records, *pair) for pair in PAIRS]
    costs = [_cost(record) for record in matching(records, arm="cost")]
    return replace(table, notes=[*table.notes, *(note for note in compared if note), *costs])


def _cost(record: Record) -> str:
    seconds = record["seconds"]
    ratio = seconds["combined"] / seconds["untilted-double"]
    return (
        f"A step with two tilts takes {ratio:.2f} times as long as an untilted one of as many paths, {record['paths']:,} "
        f"on {record['grid']} time steps (medians of steps that were timed in turns; the paper: 1.32)."
    )


def _compared(records: Sequence[Record], arm: str, other: str, key: str, paper: str) -> str:
    """Return the ratio of mean errors of two arms on their common seeds, with a paired test."""
    ours, theirs = (
        {record["seed"]: record[key] for record in matching(records, arm=name)}
        for name in (arm, other)
    )
    seeds = sorted(ours.keys() & theirs.keys())
    if len(seeds) < 2:
        return ""
    pairs = [(ours[seed], theirs[seed]) for seed in seeds]
    ratio = sum(pair[0] for pair in pairs) / sum(pair[1] for pair in pairs)
    lower = sum(pair[0] < pair[1] for pair in pairs)
    log_ours, log_theirs = ([math.log(pair[side]) for pair in pairs] for side in (0, 1))
    p_value = float(np.asarray(ttest_rel(log_ours, log_theirs))[1])
    name = METRICS[key][0].partition(" (")[0]
    return (
        f"{ARMS[arm][0]} against {ARMS[other][0]}, {name}: {ratio:.2f}×, lower on {lower} of {len(seeds)} "
        f"seeds, paired t-test on log-errors p = {p_value:.2f}; the paper: {paper}."
    )


def controllers(records: Sequence[Record]) -> Table:
    """Return the controllers of tab:abl-kl, the paper's numbers beside ours."""
    table = _table("Controllers of tilted far tails", "tab:abl-kl", CONTROLLERS, records)
    return replace(table, notes=[*table.notes, *_idle_walls(records)])


def _idle_walls(records: Sequence[Record]) -> list[str]:
    """Return that the lower wall was never reached, where its fits are those of the higher one."""
    high, low = (
        {record["seed"]: record["held_out_loss"] for record in matching(records, arm=arm)}
        for arm in ("combined", "wall-2")
    )
    if not low or any(high.get(seed) != loss for seed, loss in low.items()):
        return []
    return [
        "No tilt came to 2 nats here, so that the fits with the lower wall are those with the higher one to the "
        "last digit."
    ]


def _table(
    title: str,
    label: str,
    rows: dict[str, tuple[str, list[tuple[float, float]]]],
    records: Sequence[Record],
) -> Table:
    columns = [f"{name}, {whose}" for name, _ in METRICS.values() for whose in ("paper", "ours")]
    return Table(
        title,
        ["", *columns, "ESS/n put / call, paper", "ours"],
        [[name, *_row(arm, values, records)] for arm, (name, values) in rows.items()],
        [_protocol(records), f"Paper: {label}; means over seeds ± standard errors."],
    )


def _row(arm: str, values: list[tuple[float, float]], records: Sequence[Record]) -> list[Cell]:
    chosen = matching(records, arm=arm)
    row: list[Cell] = []
    for (key, (_, unit)), known in zip(METRICS.items(), values, strict=True):
        row += [
            published(known, ".2f"),
            over_seeds([record[key] / unit for record in chosen], ".2f"),
        ]
    shares = [record["effective"] for record in chosen if record["effective"]]
    means = [sum(column) / len(shares) for column in zip(*shares, strict=True)]
    return [*row, EFFECTIVE.get(arm, ""), " / ".join(f"{mean:.2f}" for mean in means)]


def _protocol(records: Sequence[Record]) -> str:
    first = next((record for record in records if record["arm"] != "cost"), None)
    if first is None:
        return "No cell has been run yet."
    return (
        f"DAX 2026-02, convention `paper`, three layers: {first['steps']:,} steps of {first['paths']:,} "
        f"paths on {first['grid']} time steps (the paper: 1,000 of 1,024 on 512), tilts from a fifth of "
        "the steps on with half a batch for each tail; scored by 32,768 plain paths on held-out strikes."
    )


PARTS: dict[str, Callable[[Sequence[Record]], Table]] = {
    "tilt-dax": arms,
    "tilt-controller": controllers,
}
