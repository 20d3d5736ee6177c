"""Times beside the paper's, from the records of `benchmarks/performance.py`.

Paper: tab:timing-main, tab:timing-full.
"""

from collections.abc import Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.paper_times import PAPER
from slisde.experiments.tables.performance import families_at, machine, of_kind
from slisde.experiments.tables.table import Cell, Number, Table

NOT_MEASURED = "—"
NO_MEMORY = "OOM"
FAMILIES = {"slisde": "SLiSDE", "neural_sde": "Neural SDE", "slice": "SLiCE"}


def steps(records: Sequence[Record]) -> Table:
    """Return the training step of every family at the paper's shapes."""
    rows = []
    for (paths, length), theirs in PAPER.items():
        step = {family: _step(records, family, paths, length) for family in FAMILIES}
        published = (theirs.slisde_step, theirs.neural_sde_step, theirs.slice_step)
        row: list[Cell] = [f"{paths} × {length}"]
        for value, ours in zip(published, step.values(), strict=True):
            row += [_paper(value), _ours(ours)]
        row += [Number(theirs.speedup, ".1f", "×")]
        row += [_ratio(step["neural_sde"], step["slisde"])]
        rows.append(row)
    heads = [f"{name}, {who}" for name in FAMILIES.values() for who in ("paper", "ours")]
    return Table(
        "Training step in milliseconds",
        ["B × N", *heads, "Neural SDE / SLiSDE, paper", "ours"],
        rows,
        _notes(records, "tab:timing-main (SLiSDE evaluated sequentially)"),
    )


def forward(records: Sequence[Record]) -> Table:
    """Return the forward passes at the paper's shapes."""
    rows = []
    for (paths, length), theirs in PAPER.items():
        found = families_at(records, paths, length) or {}
        ours = (
            ("slisde", theirs.slisde_forward),
            ("slisde_chunked", theirs.scan_forward),
            ("neural_sde", theirs.neural_sde_forward),
        )
        row: list[Cell] = [f"{paths} × {length}"]
        for family, value in ours:
            row += [_paper(value), _ours(found.get(f"{family}_forward_s"))]
        rows.append(row)
    return Table(
        "Forward pass in milliseconds",
        [
            "B × N",
            "SLiSDE, paper (sequential)",
            "ours (native engine)",
            "SLiSDE, paper (scan)",
            "ours (JAX `chunked`)",
            "Neural SDE, paper",
            "ours",
        ],
        rows,
        _notes(records, "tab:timing-full"),
    )


def _step(records: Sequence[Record], family: str, paths: int, length: int) -> float | None:
    """Return the seconds of a step; SLiSDE alone is also timed along N."""
    found = families_at(records, paths, length)
    if found is not None:
        return found[f"{family}_step_s"]
    along = (
        record["seconds"]
        for record in of_kind(records, "scaling")
        if (record["paths"], record["steps"]) == (paths, length)
    )
    return next(along, None) if family == "slisde" else None


def _notes(records: Sequence[Record], label: str) -> list[str]:
    return [
        f"Ours: {machine(records)} Medians of runs that alternate between the families, SLiSDE alone "
        f"where the others were not timed; {NOT_MEASURED} was not measured.",
        f"Paper: {label}, on an RTX 6000 Ada; {NO_MEMORY}: more than its 42.6 GiB. Only ratios "
        "between families of one machine compare.",
    ]


def _paper(value: float | None) -> Cell:
    return NO_MEMORY if value is None else Number(value, ".1f")


def _ours(seconds: float | None) -> Cell:
    return NOT_MEASURED if seconds is None else Number(1e3 * seconds, ".0f")


def _ratio(slower: float | None, faster: float | None) -> Cell:
    if slower is None or faster is None:
        return NOT_MEASURED
    return Number(slower / faster, ".1f", "×")
