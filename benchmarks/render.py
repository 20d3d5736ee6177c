"""Render every generated table of README and docs from results/ (`make tables`)."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slisde.errors import StorageError
from slisde.experiments.record import Record, read
from slisde.experiments.tables import (
    grid_cost,
    performance,
    rare,
    readouts,
    surfaces,
    tilt,
    toy,
    toy_grid,
)
from slisde.experiments.tables.markdown import grid, replace_between, whole
from slisde.experiments.tables.registry import ENTRIES, build, maker
from slisde.experiments.tables.table import Table

ROOT = Path(__file__).parents[1]
INTRODUCTION = """# Results

Every table that `slisde table` knows, made from the records in `results/` by `make tables`; nothing on this
page is written by hand. The paper's numbers stand beside ours, and below each table its protocol. Losses
of one sample hold its Monte-Carlo noise, as in the paper; population losses do not."""

Parts = Mapping[str, Callable[[Sequence[Record]], Table | str]]


def rendered() -> dict[Path, str]:
    """Return every document with its generated parts made anew."""
    documents: dict[Path, str] = {}
    for name, parts, study in (
        ("README.md", {"summary": performance.summary}, "performance"),
        ("README.md", {"held-out": surfaces.beside}, "surfaces"),
        ("docs/performance.md", performance.PARTS, "performance"),
        ("docs/toy.md", toy.PARTS, "toy"),
        ("docs/toy.md", {"toy-grid": toy_grid.true_system}, "toy_grid"),
        ("docs/surfaces.md", surfaces.PARTS, "surfaces"),
        ("docs/surfaces.md", readouts.PARTS, "readouts"),
        ("docs/tilt.md", tilt.PARTS, "tilt"),
        ("docs/tilt.md", {"rare": rare.short}, "rare"),
        ("docs/scaling.md", grid_cost.PARTS, "performance"),
    ):
        path, records = ROOT / name, read(ROOT / "results" / f"{study}.jsonl")
        text = documents.get(path) or path.read_text(encoding="utf-8")
        documents[path] = _with_parts(text, parts, records)
    documents[ROOT / "docs" / "results.md"] = _all_tables()
    return documents


def _all_tables() -> str:
    """Return the page of all tables; what has not been run says how to."""
    parts = [INTRODUCTION]
    for name, entry in ENTRIES.items():
        parts.append(f"## `slisde table {name}`: {entry.line}")
        try:
            parts += [whole(table) for table in build(name, ROOT / "results")]
        except StorageError:
            parts.append(f"Not run yet: `{maker(entry.parts[0][0])}`.")
    return "\n\n".join(parts) + "\n"


def _with_parts(text: str, parts: Parts, records: Sequence[Record]) -> str:
    for name, part in parts.items():
        content = part(records)
        text = replace_between(text, name, grid(content) if isinstance(content, Table) else content)
    return text


def main() -> None:
    for path, text in rendered().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"rewrote {path.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
