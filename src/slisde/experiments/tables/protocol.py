"""What a table says of how its fits were made."""

from collections.abc import Sequence

from slisde.experiments.record import Record


def sweep_protocol(records: Sequence[Record]) -> str:
    """Return the sentence on the protocol of a sweep, which all of its cells share."""
    if not records:
        return "No cell has been run yet."
    config = records[0]["config"]
    train, steps = config["train"], config["grid"]["steps"]
    failed = sum("metrics" not in record for record in records)
    lost = f" {failed} fits failed to train." if failed else ""
    return (
        f"Ours: {train['steps']:,} steps of {train['paths']:,} paths on {steps} time steps for every row "
        f"(the paper: 1,000 of 1,024 on 512), otherwise the paper's training; scored by 2,048 paths as "
        f"in the paper, the population loss by 65,536.{lost}"
    )
