"""Where compiled programs are kept between processes."""

import os
from pathlib import Path


def keep_compiled_programs() -> None:
    """Let JAX reuse what earlier processes compiled: tenths of a second instead of ten.

    Has to be called before JAX is imported. Settings of the user's own come first.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache / "slisde" / "compiled"))
    # The many small programs that draw initial weights add up to seconds, too.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
