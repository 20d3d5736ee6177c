"""What a table says of how its fits were made."""

import json
from collections.abc import Sequence

from slisde.experiments.config import TrainConfig
from slisde.experiments.record import Record

SIZES = ("steps", "paths", "seed", "validate_every", "validation_paths")
"""Keys of a training that are said otherwise, or change nothing in the fit."""


def sweep_protocol(records: Sequence[Record]) -> str:
    """Return the sentence on the protocol of a sweep: the sizes and settings that all of its cells share."""
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
        f"(the paper: 1,000 of 1,024 on 512), otherwise the paper's training{_departures(records)}; scored by "
        f"2,048 paths as in the paper{population}.{lost}"
    )


def _departures(records: Sequence[Record]) -> str:
    """Return the keys by which a training is not the paper's, apart from its sizes; of some, that rows differ in them."""
    published = TrainConfig().model_dump()
    trainings = [record["config"]["train"] for record in records]
    shared, varied = [], []
    for key in sorted({key for train in trainings for key in train} - {*SIZES}):
        values = [train.get(key, published[key]) for train in trainings]
        if any(value != values[0] for value in values):
            varied.append(key)
        elif values[0] != published[key]:
            shared.append(f"{key} = {json.dumps(values[0])}")
    some = f"{', '.join(varied)} in some rows" if varied else ""
    every = ", ".join(shared)
    said = ", and ".join(part for part in (every, some) if part)
    return f" but for {said}" if said else ""
