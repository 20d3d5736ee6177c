"""The same bits twice; the same numbers with one thread and with each instruction set."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from slisde.flow import native
from tests.flow.native.problems import Case, assert_close, with_gradients

ROOT = Path(__file__).parents[3]
CASE = Case(steps=40, paths=500, blocks=4, side=8, noise=8, outputs=1, basis=5)

SCRIPT = """
import sys
import numpy as np
from slisde.flow import native
from tests.flow.native.problems import with_gradients
from tests.flow.native.test_determinism import CASE
arrays = {k: v for k, v in with_gradients(CASE.native, CASE.arrays("float32")).items()}
np.savez(sys.argv[1], instruction_set=native.instruction_set(), **arrays)
"""


def run_elsewhere(tmp_path: Path, wrap: tuple[str, ...] = (), **environment: str) -> dict:
    file = tmp_path / "out.npz"
    command = [*wrap, sys.executable, "-c", SCRIPT, str(file)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **environment})
    return dict(np.load(file))


def test_two_runs_give_the_same_bits():
    arrays = CASE.arrays("float32")
    first = with_gradients(CASE.native, arrays)
    for _ in range(3):
        again = with_gradients(CASE.native, arrays)
        for name, x in first.items():
            np.testing.assert_array_equal(x, again[name], err_msg=name)


def test_one_thread_agrees_with_many_to_rounding(tmp_path):
    # XLA sizes its pool by the processors the process may use.
    cpu = str(min(os.sched_getaffinity(0)))
    alone = run_elsewhere(tmp_path, wrap=("taskset", "-c", cpu))
    alone.pop("instruction_set")
    here = with_gradients(CASE.native, CASE.arrays("float32"))
    assert_close(alone, here, value=1e-6, gradient=1e-5)


@pytest.mark.parametrize("name", ["baseline", "avx2"])
def test_each_instruction_set_agrees_to_rounding(tmp_path, name):
    there = run_elsewhere(tmp_path, SLISDE_ISA=name)
    if str(there.pop("instruction_set")) != name:
        pytest.skip(f"this machine or build has no {name}")
    here = with_gradients(CASE.native, CASE.arrays("float32"))
    assert_close(there, here, value=1e-5, gradient=1e-4)


def test_the_instruction_set_has_a_name():
    assert native.instruction_set() in ("baseline", "avx2", "avx512")
