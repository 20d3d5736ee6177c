"""Finds and loads the compiled kernels, and says in plain words why there are none.

``SLISDE_NATIVE_LIBRARY`` names another shared object to load (a sanitizer build, say), and
``SLISDE_ISA`` forces a lower instruction set: ``avx512``, ``avx2`` or ``baseline``.
"""

import ctypes
import os
from functools import cache
from pathlib import Path

FORWARD = "slisde_forward"
BACKWARD = "slisde_backward"

_FOLDER = Path(__file__).parent
# Written by setup.py when the kernels could not be compiled.
_BUILD_ERROR = _FOLDER / "_build_error.txt"


def _path() -> Path | None:
    chosen = os.environ.get("SLISDE_NATIVE_LIBRARY")
    if chosen:
        return Path(chosen)
    return next(iter(sorted(_FOLDER.glob("_kernels*.so"))), None)


@cache
def _load() -> tuple[ctypes.CDLL | None, str]:
    """The library, or None and the reason."""
    path = _path()
    if path is None:
        if _BUILD_ERROR.exists():
            return None, f"not built at install time: {_BUILD_ERROR.read_text().strip()}"
        return None, "not built: reinstall with a C++ compiler on the path (`pip install .`)"
    try:
        library = ctypes.CDLL(str(path))
        library.slisde_instruction_set.restype = ctypes.c_char_p
        for name in (FORWARD, BACKWARD):
            getattr(library, name)
    except (OSError, AttributeError) as error:
        return None, f"{path} could not be loaded: {error}"
    return library, ""


def available() -> bool:
    """Whether the kernels were built and can be loaded."""
    return _load()[0] is not None


def reason() -> str:
    """Why the kernels are not available; empty when they are."""
    return _load()[1]


def instruction_set() -> str:
    """The instruction set the kernels use on this machine: ``avx512``, ``avx2`` or ``baseline``."""
    return _require().slisde_instruction_set().decode()


def _require() -> ctypes.CDLL:
    library, why = _load()
    if library is None:
        raise RuntimeError(f"the native engine is not available: {why}")
    return library


@cache
def register() -> None:
    """Makes the kernels known to XLA, once."""
    import jax

    library = _require()
    for name in (FORWARD, BACKWARD):
        capsule = jax.ffi.pycapsule(getattr(library, name))
        jax.ffi.register_ffi_target(name, capsule, platform="cpu")
