"""Markdown tables, and documents with one generated part."""

from slisde.errors import SlisdeError
from slisde.experiments.tables.table import Table


def grid(table: Table) -> str:
    """Return head and rows: the first column is text, the others are numbers."""
    head = ["| " + " | ".join(table.columns) + " |"]
    head += ["|---" + "|---:" * (len(table.columns) - 1) + "|"]
    return "\n".join([*head, *("| " + " | ".join(map(str, row)) + " |" for row in table.rows)])


def whole(table: Table) -> str:
    """Return the table between its title and its notes."""
    return "\n\n".join([f"**{table.title}**", grid(table), *table.notes])


def replace_between(text: str, name: str, content: str) -> str:
    """Return the document with what stands between `<!-- name -->` and `<!-- /name -->` replaced."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SlisdeError(f"the document has no part between `{start}` and `{end}`.")
    return f"{before}{start}\n{content}\n{end}{after}"
