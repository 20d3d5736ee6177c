"""Files that are whole or absent: written aside, flushed to the disk, then renamed."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from slisde.errors import StorageError


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file in one instant, so that a crash leaves the old content or the new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with writing(path):
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make renames in a directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def alone(lock: Path, busy: str) -> Iterator[None]:
    """Hold a lock file, or say who has it; the system lets go when this process ends."""
    with writing(lock):
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(busy) from None
        yield
    finally:
        os.close(descriptor)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one line what could not be written and why."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}.") from None


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say in one line what could not be read and why."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}.") from None
