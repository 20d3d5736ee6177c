"""JSON-lines records: one measurement a line, appended whole or not at all."""

import errno
import json
import os
from pathlib import Path
from typing import Any

from slisde.errors import SlisdeError
from slisde.files import writing

Record = dict[str, Any]


def append(path: Path, record: Record) -> None:
    """Add one record; a line is written in a single call, so readers never see half of it."""
    line = (json.dumps(record, sort_keys=True) + "\n").encode()
    with writing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def mend(path: Path) -> None:
    """Cut off a last line that was not written to its end, as a full disk leaves it.

    It is no record, so nothing is lost; the next one would be glued to it. A whole record that only
    lacks its line break gets one.
    """
    if not path.exists():
        return
    with writing(path), path.open("r+b") as file:
        content = file.read()
        start = content.rfind(b"\n") + 1
        if start == len(content):
            return
        if _is_json(content[start:]):
            file.write(b"\n")
        else:
            file.truncate(start)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


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
