"""What a table says of how its fits were made."""

from collections.abc import Mapping, Sequence
from typing import Any

from slisde.experiments.record import Record


def sweep_protocol(records: Sequence[Record]) -> str:
    """Return the sentence on the protocol of a sweep, which all of its cells share."""
    if not records:
        return "No cell has been run yet."
    config = records[0]["config"]
    train, steps = config["train"], config["grid"]["steps"]
    ours = _departures(train)
    training = (
        f"the paper's training but for {' and '.join(ours)}" if ours else "the paper's training"
    )
    failed = sum("metrics" not in record for record in records)
    lost = f" {failed} fits failed to train." if failed else ""
    return (
        f"Ours: {train['steps']:,} steps of {train['paths']:,} paths on {steps} time steps for every row "
        f"(the paper: 1,000 of 1,024 on 512), otherwise {training}; scored by 2,048 paths as "
        f"in the paper, the population loss by 65,536.{lost}"
    )


def _departures(train: Mapping[str, Any]) -> list[str]:
    """Return what the training has that the paper's has not."""
    found = []
    if train.get("memory"):
        found.append(f"errors averaged over steps (memory {train['memory']:g})")
    if train.get("straight_through"):
        found.append("straight-through indicators")
    return found
