"""What a table says of how its fits were made."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from slisde.experiments.config import TrainConfig
from slisde.experiments.record import Record

SIZES = ("steps", "paths", "seed", "validate_every", "validation_paths")
"""Keys of a training that are said otherwise, or change nothing in the fit."""


def sweep_protocol(records: Sequence[Record]) -> str:
    """Return the sentence on the protocol of a sweep, which all of its cells share."""
    if not records:
        return "No cell has been run yet."
    config = records[0]["config"]
    train, steps = config["train"], config["grid"]["steps"]
    fitted = [record["metrics"] for record in records if "metrics" in record]
    scored = sorted({metrics["population"]["paths"] for metrics in fitted})
    population = f", the population by {' or '.join(f'{n:,}' for n in scored)}" if scored else ""
    failed = len(records) - len(fitted)
    lost = f" {failed} fits failed to train." if failed else ""
    return (
        f"Ours: {train['steps']:,} steps of {train['paths']:,} paths on {steps} time steps for every row "
        f"(the paper: 1,000 of 1,024 on 512), otherwise the paper's training{_departures(train)}; scored by "
        f"2,048 paths as in the paper{population}.{lost}"
    )


def _departures(train: Mapping[str, Any]) -> str:
    """Return the keys by which a training is not the paper's, apart from its sizes."""
    published = TrainConfig().model_dump()
    ours = [
        f"{key} = {json.dumps(value)}"
        for key, value in train.items()
        if key not in SIZES and value != published[key]
    ]
    return f" but for {', '.join(ours)}" if ours else ""
