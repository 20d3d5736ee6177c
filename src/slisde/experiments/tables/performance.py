"""The performance tables, rendered from the records of `benchmarks/performance.py`."""

import math
from collections.abc import Sequence

from slisde.experiments.record import Record
from slisde.experiments.tables.markdown import markdown_table

PUBLISHED_STEP_S = 16.9
PUBLISHED_MEMORY_GB = 10.3
"""The authors' code at B = 1024, N = 512 on a machine of this kind."""

PAPER_GPU_MS = {(64, 512): (9.5, 54.0), (1024, 512): (69.0, 89.4), (4096, 512): (242.1, 178.6)}
"""Training steps of SLiSDE and the Neural SDE on an RTX 6000 Ada (paper: tab:timing-full)."""

FAMILIES = {
    "slisde": "SLiSDE, native engine",
    "slisde_sequential": "SLiSDE, JAX `sequential`",
    "slisde_chunked": "SLiSDE, JAX `chunked`",
    "neural_sde": "Neural SDE",
    "slice": "SLiCE",
}


def summary(records: Sequence[Record]) -> str:
    """Return the small table of the README: the published figure and ours."""
    main = _shape(records, 1024, 512)
    small, large = _shape(records, 64, 512), _shape(records, 4096, 512)
    rows = [
        [
            "training step, B = 1024, N = 512",
            f"{PUBLISHED_STEP_S} s",
            f"{main['slisde_step_s']:.2f} s",
        ],
        ["its peak memory", f"{PUBLISHED_MEMORY_GB} GB", f"{main['peak_memory_gb']:.2f} GB"],
    ]
    for record in (small, main, large):
        paths = record["paths"]
        ours, theirs = PAPER_GPU_MS[(paths, 512)]
        ratio = f"{record['speedup_vs_neural_sde']:.1f}×"
        rows.append(
            [f"faster than a Neural SDE, B = {paths}", f"{theirs / ours:.1f}× (GPU)", ratio]
        )
    return markdown_table(["", "paper's code", "this code"], rows)


def families(records: Sequence[Record]) -> str:
    """Return forward pass and training step of every family and evaluation, at all shapes."""
    rows = []
    for record in _of_kind(records, "families"):
        shape = f"{record['paths']} × {record['steps']}"
        for name, label in FAMILIES.items():
            if f"{name}_step_s" in record:
                forward, step = record[f"{name}_forward_s"], record[f"{name}_step_s"]
                ratio = step / record["slisde_step_s"]
                rows.append([f"{label}, {shape}", f"{forward:.3f}", f"{step:.3f}", f"{ratio:.1f}"])
    return markdown_table(["B × N", "forward (s)", "step (s)", "step / SLiSDE"], rows)


def peak(records: Sequence[Record]) -> str:
    """Return the engine's share of the matrix-product peak."""
    rows = [
        [
            f"{record['paths']} × {record['steps']}",
            f"{record['peak_gflops']:.0f}",
            f"{record['slisde_gflops']:.0f}",
            f"{100 * record['peak_fraction']:.0f} %",
            f"{record['peak_memory_gb']:.2f}",
        ]
        for record in _of_kind(records, "families")
    ]
    header = ["B × N", "peak (GFLOP/s)", "step (GFLOP/s)", "share", "memory (GB)"]
    return markdown_table(header, rows)


def scaling(records: Sequence[Record]) -> str:
    """Return step times along N and along B, with the exponent fitted to each."""
    parts = []
    for axis, name in (("steps", "N"), ("paths", "B")):
        points = sorted(
            (record[axis], record["seconds"])
            for record in _of_kind(records, "scaling")
            if record["axis"] == axis
        )
        rows = [
            [f"{size}", f"{seconds:.3f}", f"{1e3 * seconds / size:.3f}"] for size, seconds in points
        ]
        table = markdown_table([name, "step (s)", f"ms per unit of {name}"], rows)
        parts.append(f"{table}\n\nFitted exponent in {name}: **{exponent(points):.3f}**.")
    return "\n\n".join(parts)


def long_horizon(records: Sequence[Record]) -> str:
    """Return memory measured and memory predicted, up to the longest run."""
    rows = [
        [
            f"{record['paths']} × {record['steps']}",
            f"{record['peak_memory_gb']:.2f}",
            f"{record['predicted_memory_gb']:.2f}",
        ]
        for record in _of_kind(records, "alone")
    ]
    header = ["B × N", "peak memory (GB)", "`slisde inspect` says (GB)"]
    return markdown_table(header, rows)


def start(records: Sequence[Record]) -> str:
    """Return the sentence on the time from the command to the first step."""
    record = _shape(records, 1024, 512)
    return (
        f"With a warm compilation cache, a new process has made its first training step "
        f"{record['first_step_after_s']:.1f} s after it was started; {record['slisde_step_s']:.1f} s "
        f"of that is the step itself."
    )


def machine(records: Sequence[Record]) -> str:
    """Return the line that says what all of it ran on."""
    facts = _shape(records, 1024, 512)["machine"]
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB, {facts['system']}; "
        f"Python {facts['python']}, jax {facts['jax']}; {facts['engine_reason']}."
    )


PARTS = {
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


def _of_kind(records: Sequence[Record], kind: str) -> list[Record]:
    return [record for record in records if record["kind"] == kind]


def _shape(records: Sequence[Record], paths: int, steps: int) -> Record:
    matching = (
        record
        for record in _of_kind(records, "families")
        if (record["paths"], record["steps"]) == (paths, steps)
    )
    return next(matching)
