"""The TOY tables, from the records of `benchmarks/toy.py` (paper: tab:toy3-vanilla, tab:abl-dist)."""

from collections.abc import Callable, Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.table import Table, over_seeds, published

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

DISTANCES = ("ks_terminal", "w1_terminal", "ks_maximum", "w1_maximum")
BASELINE_DISTANCES = {
    "Neural SDE": ((0.019, 0.002), (0.020, 0.002), (0.059, 0.002), (0.047, 0.002)),
    "SLiCE": ((0.022, 0.002), (0.031, 0.003), (0.081, 0.003), (0.067, 0.003)),
}
"""The paper's two-layer baselines, in the order of `DISTANCES` (paper: tab:abl-dist)."""

VARIANTS = {
    "as published, at this size": ((), "last"),
    "averaged weights (EMA 0.99)": ((), "averaged"),
    "antithetic paths": (("antithetic",), "last"),
    "unbiased gradient": (("unbiased",), "last"),
    "four times the paths in the last fifth": (("late",), "last"),
    "straight-through indicators": (("straight",), "last"),
    "errors averaged over steps (memory 0.97)": (("memory",), "last"),
    "learning rate 3e-3": (("fast",), "last"),
    "memory and straight-through": (("memory", "straight"), "last"),
    "memory, straight-through, learning rate 3e-3": (("fast", "memory", "straight"), "last"),
}

OUR_TRAINING = ("fast", "memory", "straight")
"""Averaged errors, straight-through indicators and three times the learning rate."""
OUR_TRAINING_NOTE = (
    '"Our training" has the same sizes, with errors averaged over steps, straight-through '
    "indicators and a learning rate of 3e-3. These fits are older than sigmoids that averages follow and "
    "averages that lengthen (docs/toy.md); the families with our training are not."
)

PUBLISHED = "the paper's numbers are means over seven seeds ± standard errors."


def fits(records: Sequence[Record]) -> Table:
    """Return the published metrics beside ours, both depths."""
    rows = []
    for name, (label, unit, known) in METRICS.items():
        row = [label if unit == 1.0 else f"{label} ({POWERS[unit]})"]
        for depth in (2, 3):
            row.append(published(known.get(depth), ".3f"))
            for options in ((), OUR_TRAINING):
                values = [r["last"][name] / unit for r in _chosen(records, FULL, options, depth)]
                row.append(over_seeds(values, ".3f"))
        rows.append(row)
    columns = [
        f"{column}, L = {depth}" for depth in (2, 3) for column in ("paper", "ours", "our training")
    ]
    return Table(
        "SLiSDE fitted to TOY",
        ["", *columns],
        rows,
        [
            _protocol(FULL),
            OUR_TRAINING_NOTE,
            f"Paper: tab:toy3-vanilla, tab:abl-dist; {PUBLISHED}",
        ],
    )


def recovery(records: Sequence[Record]) -> Table:
    """Return distances of fitted laws to the true one, the paper's families first."""
    ours = [
        [
            f"SLiSDE, {training}, L = {depth}",
            *(
                over_seeds([r["last"][name] for r in _chosen(records, FULL, options, depth)], ".3f")
                for name in DISTANCES
            ),
        ]
        for training, options in (("ours", ()), ("our training", OUR_TRAINING))
        for depth in (2, 3)
    ]
    theirs = {**BASELINE_DISTANCES, "SLiSDE": [METRICS[name][2][2] for name in DISTANCES]}
    rows = [
        [f"{family}, paper, L = 2", *(published(value, ".3f") for value in values)]
        for family, values in theirs.items()
    ]
    return Table(
        "Distances of the fitted law of TOY to the true one",
        ["", *(METRICS[name][0] for name in DISTANCES)],
        [*rows, *ours],
        [
            f"{_protocol(FULL)} Distances are of 20,000 paths to the 200,000 of the ground truth.",
            OUR_TRAINING_NOTE,
            f"Paper: tab:abl-dist; {PUBLISHED}",
        ],
    )


def ablation(records: Sequence[Record]) -> Table:
    """Return what each departure from the paper's training does, at the reduced protocol."""
    rows = []
    for label, (options, weights) in VARIANTS.items():
        chosen = [record[weights] for record in _chosen(records, REDUCED, options, 2)]
        if not chosen:
            continue
        rows.append(
            [
                label,
                over_seeds([r["debiased_loss"] / 1e-4 for r in chosen], ".2f"),
                over_seeds([r["expected_loss_2048"] / 1e-4 for r in chosen], ".2f"),
                over_seeds([r["mae_barrier"] / 1e-2 for r in chosen], ".2f"),
                over_seeds([r["ks_maximum"] for r in chosen], ".3f"),
            ]
        )
    return Table(
        "What helps in training, on TOY",
        [
            "training",
            "population loss (10⁻⁴)",
            "expected loss, 2,048 paths (10⁻⁴)",
            "barrier MAE (10⁻²)",
            "KS, running maximum",
        ],
        rows,
        [f"Two layers. {_protocol(REDUCED)} A study of our own: the paper has no such table."],
    )


def _protocol(size: dict[str, int]) -> str:
    return (
        f"{size['steps']:,} training steps of {size['paths']:,} fresh paths on {size['grid']} time "
        "steps; indicators are sigmoids in training and hard in every number."
    )


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


PARTS: dict[str, Callable[[Sequence[Record]], Table]] = {"toy": fits, "ablation": ablation}
