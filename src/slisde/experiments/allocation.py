"""How a process that trains handles memory."""

import ctypes
import gc

TRIM_THRESHOLD, MMAP_MAX = -1, -4
"""Names of glibc's `mallopt` parameters, from malloc.h."""
LARGEST = 2**31 - 1

YOUNG_OBJECTS = 100_000
"""New objects between two garbage collections; Python's own value is 700."""


def collect_rarely() -> None:
    """Look for garbage seldom: importing and tracing make many objects, and nearly all of them stay.

    To be called before JAX is imported, which it makes a tenth faster.
    """
    gc.set_threshold(YOUNG_OBJECTS, 50, 50)


def keep_freed_memory() -> bool:
    """Let the allocator keep freed memory for the next step, and return whether it does.

    By itself glibc gives large arrays back to the system when they are freed, and every training
    step pays for touching them anew: a fifth of its time where layer paths take gigabytes.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(mallopt(MMAP_MAX, 0) and mallopt(TRIM_THRESHOLD, LARGEST))
