"""Tables as JSON objects, numbers unrounded."""

from typing import Any

from slisde.experiments.tables.table import Cell, Table


def as_json(table: Table) -> dict[str, Any]:
    """Return title, columns, rows and notes; a number is an object with its error and seeds."""
    return {
        "title": table.title,
        "columns": list(table.columns),
        "rows": [[_cell(cell) for cell in row] for row in table.rows],
        "notes": list(table.notes),
    }


def _cell(cell: Cell) -> str | dict[str, float | int | str]:
    if isinstance(cell, str):
        return cell
    parts = {
        "value": cell.value,
        "unit": cell.unit.strip() or None,
        "standard_error": cell.error,
        "seeds": cell.seeds,
    }
    return {name: part for name, part in parts.items() if part is not None}
