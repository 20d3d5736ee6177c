"""What a result was computed with: versions, devices, engine."""

import os
import platform
import resource
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from slisde import __version__
from slisde.flow.engine import choose_engine

LIBRARIES = ("jax", "jaxlib", "equinox", "optax", "numpy")


def describe() -> dict[str, Any]:
    """Return the facts that explain a speed or a failure."""
    choice = choose_engine()
    return {
        "version": __version__,
        "engine": choice.engine,
        "engine_reason": choice.reason,
        "devices": [f"{device.platform}:{device.id}" for device in jax.devices()],
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "memory_gb": round(total_memory() / 1e9, 1),
    }


def processor_name() -> str:
    """Return the processor's own name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        "unknown",
    )


def total_memory() -> int:
    """Return the installed memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def peak_memory() -> int:
    """Return the highest resident memory of this process so far, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # Not getrusage: it counts the memory of the parent that started this process.
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
