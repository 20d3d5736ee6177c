"""Wrong operands are answered by name; a missing library in plain words."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.flow import native
from slisde.flow.native import calls
from tests.flow.native.problems import Case


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("dt", (4,), "`dt` must have shape"),
        ("initial", (8, 36), "`initial` must have shape"),
        ("vectors", (3, 3, 8), "`vectors` must have 1 channel"),
        ("gate_bias", (2, 4, 8), "`gate_bias` must have shape"),
        ("gate_kernel", (4, 8, 7), "`gate_kernel` must have shape"),
        ("features", (3, 2), "`features` must have shape"),
    ],
)
def test_a_wrong_shape_is_answered_by_name(name, shape, message):
    # Past the public functions, whose annotations the tests execute: these are the kernels' checks.
    arrays = Case().arrays("float32") | {name: jnp.zeros(shape, "float32")}
    with pytest.raises(Exception, match=message):
        jax.block_until_ready(calls._run(calls._Gate(), calls._Operands(**arrays)))


def test_an_unknown_norm_is_refused():
    arrays = Case().arrays("float32")
    options = {"amplitude": 0.5, "norm": "batch", "norm_epsilon": 1e-5}
    with pytest.raises(Exception, match="norm"):
        native.gated_recurrence(**arrays, **options)


def test_vmap_runs_one_problem_after_the_other():
    case = Case(kind="plain", paths=10)
    arrays = case.arrays("float32")
    initial = jnp.stack([arrays["initial"], 2 * arrays["initial"]])
    both = jax.vmap(lambda z: case.native(arrays | {"initial": z}).path)(initial)
    for z, path in zip(initial, both, strict=True):
        np.testing.assert_array_equal(path, case.native(arrays | {"initial": z}).path)


def test_importing_loads_no_jax_and_a_missing_library_is_explained():
    code = (
        "import sys; from slisde.flow import native; assert 'jax' not in sys.modules;"
        "print(native.available(), native.reason())"
    )
    environment = {**os.environ, "SLISDE_NATIVE_LIBRARY": "/nowhere/kernels.so"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("False /nowhere/kernels.so could not be loaded")
