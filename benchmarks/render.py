"""Render every generated table of README and docs from results/ (`make tables`)."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slisde.experiments.record import Record, read
from slisde.experiments.tables import performance, readouts, surfaces, tilt, toy
from slisde.experiments.tables.markdown import grid, replace_between
from slisde.experiments.tables.table import Table

ROOT = Path(__file__).parents[1]
Parts = Mapping[str, Callable[[Sequence[Record]], Table | str]]


def rendered() -> dict[Path, str]:
    """Return every document with its generated parts made anew."""
    documents: dict[Path, str] = {}
    for name, parts, study in (
        ("README.md", {"summary": performance.summary}, "performance"),
        ("docs/performance.md", performance.PARTS, "performance"),
        ("docs/toy.md", toy.PARTS, "toy"),
        ("docs/surfaces.md", surfaces.PARTS, "surfaces"),
        ("docs/surfaces.md", readouts.PARTS, "readouts"),
        ("docs/tilt.md", tilt.PARTS, "tilt"),
    ):
        path, records = ROOT / name, read(ROOT / "results" / f"{study}.jsonl")
        text = documents.get(path) or path.read_text(encoding="utf-8")
        documents[path] = _with_parts(text, parts, records)
    return documents


def _with_parts(text: str, parts: Parts, records: Sequence[Record]) -> str:
    for name, part in parts.items():
        content = part(records)
        text = replace_between(text, name, grid(content) if isinstance(content, Table) else content)
    return text


def main() -> None:
    for path, text in rendered().items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"rewrote {path.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
