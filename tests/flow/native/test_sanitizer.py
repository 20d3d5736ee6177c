"""The kernel tests again on a build that watches every access to memory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TESTS = ("test_against_reference.py", "test_propagation.py")


def find(compiler: str, library: str) -> str:
    command = [compiler, f"-print-file-name={library}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_kernels_touch_no_memory_that_is_not_theirs(tmp_path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    # The C++ library must come with the sanitizer's, which looks up its exceptions in it.
    runtime = [find(compiler, name) for name in ("libasan.so", "libstdc++.so.6")]
    if not Path(runtime[0]).is_absolute():
        pytest.skip("the compiler has no address sanitizer")
    library = tmp_path / "library"
    subprocess.run(
        [
            *(sys.executable, "setup.py", "-q", "build_ext"),
            *("--build-lib", str(library), "--build-temp", str(tmp_path / "objects")),
        ],
        cwd=ROOT,
        env={**os.environ, "SLISDE_NATIVE_FLAGS": "-fsanitize=address -g -O1"},
        check=True,
    )
    environment = {
        **os.environ,
        "SLISDE_NATIVE_LIBRARY": str(library / "slisde/flow/native/_kernels.so"),
        # Python and XLA are not instrumented: their leaks are not ours, and theirs to explain.
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
        "LD_PRELOAD": " ".join(runtime),
    }
    files = [str(Path(__file__).with_name(name)) for name in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", *files]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "skipped" not in run.stdout
