"""Render every generated table of README and docs from results/ (`make tables`)."""

import sys
from pathlib import Path

from slisde.experiments.record import read
from slisde.experiments.tables.markdown import replace_between
from slisde.experiments.tables.performance import PARTS, summary

ROOT = Path(__file__).parents[1]


def rendered() -> dict[Path, str]:
    """Return every document with its generated parts made anew."""
    records = read(ROOT / "results" / "performance.jsonl")
    readme, performance = ROOT / "README.md", ROOT / "docs" / "performance.md"
    text = performance.read_text(encoding="utf-8")
    for name, part in PARTS.items():
        text = replace_between(text, name, part(records))
    return {
        readme: replace_between(readme.read_text(encoding="utf-8"), "summary", summary(records)),
        performance: text,
    }


def main() -> None:
    for path, text in rendered().items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"rewrote {path.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
