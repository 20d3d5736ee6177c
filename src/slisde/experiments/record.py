"""JSON-lines records: one measurement a line, appended whole or not at all."""

import json
import os
from pathlib import Path
from typing import Any

from slisde.errors import SlisdeError

Record = dict[str, Any]


def append(path: Path, record: Record) -> None:
    """Add one record; a line is written in a single call, so readers never see half of it."""
    line = json.dumps(record, sort_keys=True) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> list[Record]:
    """Return all records, or say which line is not one."""
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise SlisdeError(
                f"{path}, line {number}, is not a JSON record: {error.msg}."
            ) from None
        if not isinstance(record, dict):
            raise SlisdeError(f"{path}, line {number}, is not a JSON object.")
        records.append(record)
    return records
