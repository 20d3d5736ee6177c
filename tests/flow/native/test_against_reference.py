"""The kernels against a scan differentiated by JAX: values and every gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from slisde.flow import native
from tests.flow.native.problems import Case, assert_close, cases, with_gradients

BOUNDS = {
    "float32": {"value": 1e-5, "gradient": 1e-4},
    "float64": {"value": 1e-12, "gradient": 1e-11},
}


def check(case: Case, dtype: str) -> None:
    arrays = case.arrays(dtype)
    got = with_gradients(case.native, arrays)
    want = with_gradients(case.reference, arrays)
    assert all(x.dtype == dtype for x in got.values())
    assert_close(got, want, **BOUNDS[dtype])


@given(case=cases())
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_values_and_gradients_equal_the_scan_for_any_shape(dtype, case):
    check(case, dtype)


@pytest.mark.parametrize(
    "case",
    [
        Case(kind="gated", steps=3, paths=130, blocks=8, side=8, noise=8, outputs=1),
        Case(kind="gated", steps=9, paths=130, blocks=8, side=8, noise=8, outputs=1, basis=9),
        Case(kind="plain", steps=6, paths=50, blocks=3, side=5, noise=2, basis=2),
        Case(kind="plain", steps=3, paths=50, blocks=1, side=33, noise=2),
        Case(kind="scaled", steps=4, paths=75, blocks=9, side=1, noise=5, norm="layer"),
        Case(kind="gated", steps=2, paths=20, blocks=3, side=5, noise=2, matrix_noise=False),
        Case(kind="gated", steps=2, paths=20, blocks=1, side=6, vector_noise=False, norm="layer"),
    ],
    ids=lambda case: f"{case.kind}-{case.blocks}x{case.side}-{case.basis}",
)
def test_each_family_equals_the_scan(dtype, case):
    check(case, dtype)


@pytest.mark.parametrize("basis", [0, 5])
def test_time_is_cut_into_segments_without_a_seam(basis):
    # Long enough that the sums of the coefficient gradients do not fit into one segment.
    case = Case(steps=400, paths=40, blocks=4, side=8, noise=8, outputs=1, basis=basis)
    check(case, "float32")


def test_chunks_of_time_compose_to_the_whole():
    arrays = Case(kind="plain", steps=9).arrays("float32")
    whole = native.recurrence(**arrays).path
    by_step = ("matrices", "vectors", "dt", "noise")
    first = native.recurrence(**arrays | {n: arrays[n][:4] for n in by_step})
    rest = arrays | {n: arrays[n][4:] for n in by_step} | {"initial": first.end}
    np.testing.assert_array_equal(whole[:5], first.path)
    np.testing.assert_allclose(whole[4:], native.recurrence(**rest).path, rtol=1e-6)


def test_the_noise_gradient_is_computed_only_when_asked_for():
    case = Case(kind="plain")
    arrays = case.arrays("float32")

    def loss(matrices, noise):
        return jnp.sum(case.native(arrays | {"matrices": matrices, "noise": noise}).path ** 2)

    def results(argnums):
        jaxpr = jax.make_jaxpr(jax.grad(jax.jit(loss), argnums))(
            arrays["matrices"], arrays["noise"]
        )
        return str(jaxpr).count(f"{','.join(map(str, arrays['noise'].shape))}]")

    assert results((0, 1)) > results(0)


@pytest.mark.parametrize("output", ["observed", "end"])
def test_a_cotangent_of_the_readout_or_the_end_alone_needs_no_dense_one(output):
    case = Case(kind="gated", outputs=1)
    arrays = case.arrays("float32")
    through = {}
    for name, run in (("native", case.native), ("scan", case.reference)):
        loss = lambda a, run=run: jnp.sum(jnp.sin(getattr(run(a), output)))  # noqa: E731
        through[name] = jax.grad(loss)(arrays)
        through[name].pop("dt")
    assert_close(through["native"], through["scan"], value=1e-4, gradient=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("paths", [1024, 1031])
def test_a_path_larger_than_the_caches_equals_the_scan(paths):
    # Above 64 MiB results are stored past the caches, when rows are aligned.
    case = Case(steps=300, paths=paths, blocks=8, side=8, noise=2, outputs=1)
    arrays = case.arrays("float32")
    whole = with_gradients(case.native, arrays)
    want = with_gradients(case.reference, arrays)
    assert_close(whole, want, value=1e-5, gradient=1e-4)
