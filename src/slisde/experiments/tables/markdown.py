"""Markdown tables, and documents with one generated part."""

from collections.abc import Iterable, Sequence

from slisde.errors import SlisdeError


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def replace_between(text: str, name: str, content: str) -> str:
    """Return the document with what stands between `<!-- name -->` and `<!-- /name -->` replaced."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SlisdeError(f"the document has no part between `{start}` and `{end}`.")
    return f"{before}{start}\n{content}\n{end}{after}"
