"""NaN and infinity come out where the scan has them, and stay on their path."""

import jax.numpy as jnp
import numpy as np
import pytest

from tests.flow.native.problems import Case, with_gradients

BAD = [np.nan, np.inf, -np.inf]


def kinds(x):
    """0 finite, 1 NaN, 2 +inf, 3 -inf."""
    x = np.asarray(x)
    return np.isnan(x) + 2 * (x == np.inf) + 3 * (x == -np.inf)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("where", ["initial", "noise", "previous"])
def test_a_bad_path_spoils_the_same_nodes_as_in_the_scan(where, bad):
    case = Case(paths=29, outputs=1)
    arrays = case.arrays("float32")
    arrays[where] = arrays[where].at[..., 1, 5].set(bad)
    got, want = case.native(arrays), case.reference(arrays)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_array_equal(kinds(mine), kinds(theirs))
    assert np.all(np.isfinite(np.delete(np.asarray(got.path), 5, axis=-1)))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("where", ["matrices", "vectors", "gate_bias", "gate_kernel"])
@pytest.mark.parametrize("basis", [0, 2])
def test_a_bad_coefficient_spoils_the_same_entries_as_in_the_scan(where, bad, basis):
    # 29 paths leave lanes without a path, which must not add a NaN of their own.
    case = Case(paths=29, basis=basis)
    arrays = case.arrays("float32")
    at = (1,) + (0,) * (arrays[where].ndim - 1)
    arrays[where] = arrays[where].at[at].set(bad)
    got, want = case.native(arrays), case.reference(arrays)
    np.testing.assert_array_equal(kinds(got.path), kinds(want.path))


@pytest.mark.parametrize("size", [30.0, 200.0, 1e4, np.inf])
def test_saturated_gates_are_the_limits_of_the_formulas(size):
    case = Case(paths=9)
    arrays = case.arrays("float32")
    signs = jnp.asarray(np.random.default_rng(0).choice([-1.0, 1.0], arrays["gate_bias"].shape))
    arrays["gate_bias"] = (size * signs).at[:, 3].set(0.5).astype("float32")
    got, want = with_gradients(case.native, arrays), with_gradients(case.reference, arrays)
    for name in got:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_gradients_of_a_bad_path_are_not_finite_and_of_good_ones_are():
    case = Case(paths=29)
    arrays = case.arrays("float32")
    arrays["initial"] = arrays["initial"].at[1, 5].set(np.nan)
    got = with_gradients(case.native, arrays)
    want = with_gradients(case.reference, arrays)
    for name in ("noise", "initial", "previous", "matrices", "vectors", "gate_kernel", "gate_bias"):
        key = f"gradient of {name}"
        np.testing.assert_array_equal(np.isfinite(got[key]), np.isfinite(want[key]), err_msg=key)
