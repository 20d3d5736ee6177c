"""The performance tables, from the records of `benchmarks/performance.py`."""

import math
from collections.abc import Callable, Sequence
from statistics import median

from slisde.errors import SlisdeError
from slisde.experiments.record import Record
from slisde.experiments.tables.markdown import grid
from slisde.experiments.tables.paper_times import PAPER
from slisde.experiments.tables.table import Number, Table

PUBLISHED_STEP_S = 16.9
PUBLISHED_MEMORY_GB = 10.3
"""The authors' code at B = 1024, N = 512 on a machine of this kind."""

FAMILIES = {
    "slisde": "SLiSDE, native engine",
    "slisde_sequential": "SLiSDE, JAX `sequential`",
    "slisde_chunked": "SLiSDE, JAX `chunked`",
    "neural_sde": "Neural SDE",
    "slice": "SLiCE",
}


def summary(records: Sequence[Record]) -> Table:
    """Return the small table of the README: the published figure and ours."""
    main = _main(records)
    rows = [
        [
            "training step, B = 1024, N = 512",
            Number(PUBLISHED_STEP_S, ".1f", " s"),
            Number(main["slisde_step_s"], ".2f", " s"),
        ],
        [
            "its peak memory",
            Number(PUBLISHED_MEMORY_GB, ".1f", " GB"),
            Number(main["peak_memory_gb"], ".2f", " GB"),
        ],
    ]
    for (paths, steps), theirs in PAPER.items():
        found = families_at(records, paths, steps)
        if found is not None:
            rows.append(
                [
                    f"faster than a Neural SDE, B = {paths}",
                    Number(theirs.speedup, ".1f", "× (GPU)"),
                    Number(found["speedup_vs_neural_sde"], ".1f", "×"),
                ]
            )
    return Table("Against the paper's code", ["", "paper's code", "this code"], rows)


def families(records: Sequence[Record]) -> Table:
    """Return forward pass and training step of every family and evaluation, at all shapes."""
    rows = []
    for record in of_kind(records, "families"):
        shape = f"{record['paths']} × {record['steps']}"
        for name, label in FAMILIES.items():
            if f"{name}_step_s" in record:
                forward, step = record[f"{name}_forward_s"], record[f"{name}_step_s"]
                ratio = step / record["slisde_step_s"]
                numbers = [Number(forward, ".3f"), Number(step, ".3f"), Number(ratio, ".1f")]
                rows.append([f"{label}, {shape}", *numbers])
    return Table("Families", ["B × N", "forward (s)", "step (s)", "step / SLiSDE"], rows)


def peak(records: Sequence[Record]) -> Table:
    """Return the engine's share of the matrix-product peak."""
    rows = [
        [
            f"{record['paths']} × {record['steps']}",
            Number(record["peak_gflops"], ".0f"),
            Number(record["slisde_gflops"], ".0f"),
            Number(100 * record["peak_fraction"], ".0f", " %"),
            Number(record["peak_memory_gb"], ".2f"),
        ]
        for record in of_kind(records, "families")
    ]
    header = ["B × N", "peak (GFLOP/s)", "step (GFLOP/s)", "share", "memory (GB)"]
    return Table("Share of the peak", header, rows)


def scaling(records: Sequence[Record]) -> str:
    """Return step times along N and along B in Markdown, with the exponent fitted to each."""
    parts = []
    for axis, name in (("steps", "N"), ("paths", "B")):
        points = sorted(
            (record[axis], record["seconds"])
            for record in of_kind(records, "scaling")
            if record["axis"] == axis
        )
        rows = [
            [f"{size}", Number(seconds, ".3f"), Number(1e3 * seconds / size, ".3f")]
            for size, seconds in points
        ]
        table = Table(f"Scaling in {name}", [name, "step (s)", f"ms per unit of {name}"], rows)
        parts.append(f"{grid(table)}\n\nFitted exponent in {name}: **{exponent(points):.3f}**.")
    return "\n\n".join(parts)


def long_horizon(records: Sequence[Record]) -> Table:
    """Return memory measured and memory predicted, up to the longest run."""
    rows = [
        [
            f"{record['paths']} × {record['steps']}",
            Number(record["peak_memory_gb"], ".2f"),
            Number(record["predicted_memory_gb"], ".2f"),
        ]
        for record in of_kind(records, "alone")
    ]
    header = ["B × N", "peak memory (GB)", "`slisde inspect` says (GB)"]
    return Table("Memory", header, rows)


def start(records: Sequence[Record]) -> str:
    """Return the sentence on the time from the command to the first step."""
    (record,) = of_kind(records, "starts")
    seconds = record["seconds"]
    return (
        f"With a warm compilation cache, a new process has made its first training step "
        f"{median(seconds):.1f} s after it was started (median of {len(seconds)} starts, "
        f"{min(seconds):.1f} to {max(seconds):.1f} s); {record['alone_step_s']:.1f} s of that is the "
        f"step itself."
    )


def machine(records: Sequence[Record]) -> str:
    """Return the line that says what all of it ran on."""
    facts = _main(records)["machine"]
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB, {facts['system']}; "
        f"Python {facts['python']}, jax {facts['jax']}; {facts['engine_reason']}."
    )


PARTS: dict[str, Callable[[Sequence[Record]], Table | str]] = {
    "machine": machine,
    "families": families,
    "peak": peak,
    "scaling": scaling,
    "long-horizon": long_horizon,
    "start": start,
}


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """Return the least-squares slope of log time on log size."""
    logs = [(math.log(size), math.log(seconds)) for size, seconds in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return covariance / sum((x - mean_x) ** 2 for x, _ in logs)


def of_kind(records: Sequence[Record], kind: str) -> list[Record]:
    """Return the records of one study."""
    return [record for record in records if record["kind"] == kind]


def families_at(records: Sequence[Record], paths: int, steps: int) -> Record | None:
    """Return the times of all families at a shape, None where it was not measured."""
    matching = (
        record
        for record in of_kind(records, "families")
        if (record["paths"], record["steps"]) == (paths, steps)
    )
    return next(matching, None)


def _main(records: Sequence[Record]) -> Record:
    record = families_at(records, 1024, 512)
    if record is None:
        raise SlisdeError("the families were not timed at B = 1024, N = 512: run the study first.")
    return record
