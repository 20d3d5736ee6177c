"""Noise type and block size on DAX, from the records of `slisde sweep configs/ablation.toml`."""

from collections.abc import Sequence
from statistics import fmean

from slisde.experiments.record import Record
from slisde.experiments.tables.choice import matching
from slisde.experiments.tables.contests import QUOTED_ONLY
from slisde.experiments.tables.metric import POPULATION, SURFACE
from slisde.experiments.tables.protocol import sweep_protocol
from slisde.experiments.tables.table import NOT_RUN, Cell, Number, Table

HEADS = ("parameters", "loss", "far puts", "time a step")
NOISE = {
    "multiplicative": (0.99, 1.05, 0.97, 0.93),
    "additive": (0.46, 0.95, 1.69, 0.78),
    "reference": (1.0, 1.0, 1.0, 1.0),
}
BLOCKS = {
    "block 1": (0.46, 0.95, 1.45, 0.60),
    "block 4": (0.69, 0.94, 0.95, 0.77),
    "reference": (1.0, 1.0, 1.0, 1.0),
    "block 16": (1.61, 0.97, 0.95, 1.41),
}


def noise(records: Sequence[Record]) -> Table:
    """Return the types of noise beside the upper half of tab:abl-structure."""
    return _table("Noise type on DAX", "general noise, block 8", NOISE, records)


def blocks(records: Sequence[Record]) -> Table:
    """Return the block sizes beside the lower half of tab:abl-structure."""
    return _table("Block size on DAX", "block 8, general noise", BLOCKS, records)


def _table(
    title: str, reference: str, rows: dict[str, tuple[float, ...]], records: Sequence[Record]
) -> Table:
    base = _means(matching(records, row="reference"))
    body: list[list[Cell]] = []
    for name, known in rows.items():
        ours = _means(matching(records, row=name))
        body.append([reference if name == "reference" else name])
        for index, value in enumerate(known):
            body[-1].append(Number(value, ".2f", "×"))
            ratio = ours[index] / base[index] if ours and base else None
            body[-1].append(NOT_RUN if ratio is None else Number(ratio, ".2f", "×"))
        body[-1].append(
            NOT_RUN if not ours or not base else Number(ours[-1] / base[-1], ".2f", "×")
        )
    heads = [f"{head}, {whose}" for head in HEADS for whose in ("paper", "ours")]
    seeds = len(matching(records, row="reference"))
    return Table(
        title,
        ["", *heads, "population loss, ours"],
        body,
        [
            f"Ratios of means over seeds to the reference ({reference}); ours have {seeds} seeds.",
            sweep_protocol(records),
            QUOTED_ONLY,
            "Paper: tab:abl-structure, seven seeds; it calls loss differences within a standard error.",
        ],
    )


def _means(records: Sequence[Record]) -> list[float]:
    """Return parameters, both losses, seconds and the population loss, each a mean over seeds."""
    fitted = [record for record in records if "metrics" in record]
    if not fitted:
        return []
    loss, far = SURFACE
    return [
        fmean(of(record) for record in fitted)
        for of in (
            lambda record: record["parameters"],
            loss.of,
            far.of,
            lambda record: record["seconds_per_step"],
            POPULATION.of,
        )
    ]
