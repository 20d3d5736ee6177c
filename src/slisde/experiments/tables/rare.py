"""Rare events of TOY, from the records of `benchmarks/rare.py` (paper: tab:girsanov-estimator, tab:girsanov-full)."""

import math
from collections.abc import Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.table import NOT_RUN, Cell, Number, Table, over_seeds, published

PROBABILITIES = (1e-2, 1e-3, 1e-4)
BUDGETS = (256, 1024, 4096)
POWERS = {1e-2: "10⁻²", 1e-3: "10⁻³", 1e-4: "10⁻⁴"}

Row = tuple[tuple[float, float], ...]

# estimator: relative RMSE of the paper at the three budgets, for each probability
PAPER: dict[str, dict[float, Row]] = {
    "plain": {
        1e-2: ((0.645, 0.017), (0.320, 0.005), (0.163, 0.005)),
        1e-3: ((1.953, 0.083), (1.051, 0.019), (0.501, 0.014)),
        1e-4: ((6.64, 0.95), (3.39, 0.39), (1.65, 0.10)),
    },
    "is": {
        1e-2: ((0.411, 0.084), (0.156, 0.018), (0.140, 0.033)),
        1e-3: ((0.649, 0.147), (0.394, 0.104), (0.330, 0.075)),
        1e-4: ((1.77, 0.59), (0.785, 0.184), (0.816, 0.235)),
    },
    "truncated": {
        1e-2: ((0.391, 0.070), (0.156, 0.018), (0.119, 0.017)),
        1e-3: ((0.649, 0.147), (0.394, 0.104), (0.330, 0.075)),
        1e-4: ((1.77, 0.59), (0.785, 0.184), (0.816, 0.235)),
    },
    "snis": {
        1e-2: ((0.645, 0.131), (0.274, 0.021), (0.197, 0.034)),
        1e-3: ((1.610, 0.287), (0.789, 0.106), (0.482, 0.066)),
        1e-4: ((4.06, 1.08), (1.88, 0.42), (1.81, 0.72)),
    },
}
ESTIMATORS = {
    "plain": "plain Monte Carlo",
    "is": "weighted",
    "truncated": "truncated at √n",
    "snis": "self-normalised",
}
VARIANTS = {
    "paper": "the paper's tilt",
    "all": "all noise",
    "all-covariance": "all noise, scales of the initial state",
    "all-defensive": "all noise, a tenth of plain paths",
    "guided": "guided, branching",
}
DETAILED = ("paper", "guided")
"""Variants of which more is shown."""
MODELS = "paper"
"""Training of the models that are compared with the paper's."""
RESTLESS = "ours"
"""Training of those with heavier tails, which are shown below them."""
COSTS = {
    "last": "the paper's tilt",
    "all": "a tilt of all noise",
    "guided": "a guided one that branches",
}


def short(records: Sequence[Record]) -> Table:
    """Return relative errors at 1,024 paths beside tab:girsanov-estimator."""
    notes, costs, restless = _notes(records), records, _of_training(records, RESTLESS)
    records = _of_training(records, MODELS)
    rows: list[list[Cell]] = [_plain_row()]
    for estimator in ("is", "snis"):
        name = f"{VARIANTS['paper']}, {ESTIMATORS[estimator]}"
        rows.append([name, *_across(records, "paper", estimator, known=PAPER[estimator])])
    rows += [
        [name, *_across(records, variant, "is")]
        for variant, name in VARIANTS.items()
        if variant != "paper"
    ]
    seconds = next((each["seconds"] for each in costs if "seconds" in each), None)
    rows += [
        [f"{name}, over the paper's tilt at equal cost", *_beside(records, variant, seconds)]
        for variant, name in VARIANTS.items()
        if variant != "paper" and seconds is not None
    ]
    rows += [
        [f"{VARIANTS[variant]}: spread of the estimates", *_across(records, variant, "is_spread")]
        for variant in DETAILED
    ]
    rows += [
        [f"{name}: {label}", *_across_diagnostic(records, variant, key, form)]
        for variant, name in VARIANTS.items()
        if variant in DETAILED
        for key, label, form in (
            ("mean_weight", "mean weight", ".3f"),
            ("hit_rate", "hit rate", ".0%"),
        )
    ]
    rows += [
        [f"{VARIANTS[variant]}: mean estimate over the known one", *_ratios(records, variant)]
        for variant in DETAILED
    ]
    rows += [
        [f"models of our training: {VARIANTS[variant]}", *_across(restless, variant, "is")]
        for variant in DETAILED
        if restless
    ]
    heads = [f"p ≈ {POWERS[p]}, {whose}" for p in PROBABILITIES for whose in ("paper", "ours")]
    return Table(
        "Rare events of TOY: relative error of an estimate from 1,024 paths",
        ["", *heads],
        rows,
        [*notes, "Paper: tab:girsanov-estimator; seven models ± standard errors."],
    )


def full(records: Sequence[Record]) -> Table:
    """Return relative errors of all estimators and budgets beside tab:girsanov-full."""
    notes, records = _notes(records), _of_training(records, MODELS)
    rows: list[list[Cell]] = []
    for probability in PROBABILITIES:
        for estimator, name in ESTIMATORS.items():
            row: list[Cell] = [f"p ≈ {POWERS[probability]}, {name}"]
            for index, budget in enumerate(BUDGETS):
                row.append(published(PAPER[estimator][probability][index], ".2f"))
                if estimator == "plain":
                    row += [Number(plain_error(probability, budget), ".2f"), ""]
                    continue
                row += [
                    _errors(records, variant, estimator, probability, budget)
                    for variant in DETAILED
                ]
            rows.append(row)
    heads = [
        f"n = {budget:,}, {whose}"
        for budget in BUDGETS
        for whose in ("paper", "ours, the paper's tilt", "ours, guided")
    ]
    return Table(
        "Rare events of TOY: relative errors of all estimators and budgets",
        ["", *heads],
        rows,
        [*notes, "Paper: tab:girsanov-full; seven models ± standard errors."],
    )


def plain_error(probability: float, paths: int) -> float:
    """Return the relative error of plain Monte Carlo, which is known.

    >>> round(plain_error(1e-2, 1024), 3)
    0.311
    """
    return math.sqrt((1.0 - probability) / (probability * paths))


def _plain_row() -> list[Cell]:
    row: list[Cell] = ["plain Monte Carlo"]
    for probability in PROBABILITIES:
        row.append(published(PAPER["plain"][probability][1], ".2f"))
        row.append(Number(plain_error(probability, 1024), ".2f"))
    return row


def _across(
    records: Sequence[Record],
    variant: str,
    estimator: str,
    known: dict[float, Row] | None = None,
) -> list[Cell]:
    row: list[Cell] = []
    for probability in PROBABILITIES:
        row.append("" if known is None else published(known[probability][1], ".2f"))
        row.append(_errors(records, variant, estimator, probability, 1024))
    return row


def _across_diagnostic(records: Sequence[Record], variant: str, key: str, form: str) -> list[Cell]:
    row: list[Cell] = []
    for probability in PROBABILITIES:
        found = [event["pooled"][key] for event in _events(records, variant, probability)]
        row += ["", over_seeds(found, form) if found else NOT_RUN]
    return row


def _ratios(records: Sequence[Record], variant: str) -> list[Cell]:
    row: list[Cell] = []
    for probability in PROBABILITIES:
        found = [
            event["errors"]["1024"]["is_mean"] / event["probability"]
            for event in _events(records, variant, probability)
        ]
        row += ["", over_seeds(found, ".2f") if found else NOT_RUN]
    return row


def _beside(records: Sequence[Record], variant: str, seconds: dict[str, float]) -> list[Cell]:
    """Return a variant's errors over those of the paper's tilt on the same models, at equal cost.

    An error falls with the square root of the paths, and so of the time, that it is given.
    """
    kind = variant if variant in seconds else variant.partition("-")[0]
    dearer = math.sqrt(seconds[kind] / seconds["last"])
    row: list[Cell] = []
    for probability in PROBABILITIES:
        ours, papers = (_by_model(records, each, probability) for each in (variant, "paper"))
        ratios = [dearer * ours[model] / papers[model] for model in ours if model in papers]
        row += ["", over_seeds(ratios, ".2f")]
    return row


def _by_model(
    records: Sequence[Record], variant: str, probability: float
) -> dict[tuple[int, str | None], float]:
    """Return errors by seed and weights: one seed gives other models on other processors."""
    return {
        (record["seed"], record.get("model")): event["errors"]["1024"]["is"]
        for record in records
        if record["variant"] == variant
        for event in record["events"]
        if event["nominal"] == probability
    }


def _errors(
    records: Sequence[Record], variant: str, estimator: str, probability: float, budget: int
) -> Cell:
    budgets = [event["errors"].get(str(budget)) for event in _events(records, variant, probability)]
    return over_seeds([errors[estimator] for errors in budgets if errors], ".2f")


def _of_training(records: Sequence[Record], training: str) -> list[Record]:
    return [record for record in records if record.get("training") == training]


def _events(records: Sequence[Record], variant: str, probability: float) -> list[Record]:
    return [
        event
        for record in records
        if record.get("variant") == variant
        for event in record["events"]
        if event["nominal"] == probability
    ]


def _notes(records: Sequence[Record]) -> list[str]:
    studied = [record for record in records if "variant" in record]
    if not studied:
        return ["No cell has been run yet."]
    first = studied[0]
    notes = [
        f"Ours: three-layer TOY models on {first['grid']} time steps with ρ = 0, fitted by the paper's training with "
        "256 paths a step; a seed is a model. "
        f"Probabilities are known from {first['reference_paths']:,} plain paths, "
        f"errors are over replications from a pool of {first['pool']:,} tilted ones. Plain Monte Carlo's error is "
        "that of its binomial law. Guided tilts have three tenths of plain paths or more. "
        "Branching paths are drawn 1,024 at a time, or 256 where that is the budget. The spread is relative to "
        "the mean of the estimates and so without the error of the known probability, "
        f"which at 10⁻⁴ is {1.0 / math.sqrt(1e-4 * first['reference_paths']):.0%}.",
        f"Tilts are trained by rounds of 1,024 paths at the event, {_rounds(studied)} of them (the paper's by 1,000); "
        "guided ones are not trained but fitted to 8,192 plain paths.",
        "Models of our training: 300 steps of 512 paths with averaged errors, straight-through indicators and a "
        "learning rate of 3e-3. Their laws have heavier tails; their tilts have 16 + 32 rounds. The rounds for the paper's "
        "tilt were chosen after 16 + 32 had missed its errors on models of its training. The laws of the "
        "guided tilt and their shares were chosen on the models of seeds 4 to 6; those of later seeds had no part in it. "
        "The model of seed 4 has a second way into its event at 10⁻⁴, by paths that grow wild late. Its known probability is about a fifth "
        "above the mean of all guided estimates, two of its own standard errors. The paper's tilt hardly takes this way, and has a small spread about "
        "too small a probability there.",
    ]
    return notes + [_cost(record["seconds"]) for record in records if "seconds" in record]


def _rounds(records: Sequence[Record]) -> str:
    """Return how many rounds the paper's tilt has, on the cross-entropy and after it."""
    counts = {
        f"{record['rounds']} + {record['polish']}"
        for record in _of_training(records, MODELS)
        if record["variant"] == "paper"
    }
    return " or ".join(sorted(counts))


def _cost(seconds: dict[str, float]) -> str:
    ratios = [
        f"{name} {seconds[key] / seconds['plain']:.2f}"
        for key, name in COSTS.items()
        if key in seconds
    ]
    return (
        f"Relative to a plain path, a path costs under {', under '.join(ratios)} times as much "
        "(medians of batches that were timed in turns)."
    )
