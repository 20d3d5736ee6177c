"""All evaluations agree, values and gradients, for any sizes, noise and odd lengths."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slisde.flow.adjoint import solve
from slisde.flow.scan import CHUNK, associative, chunked, scan_chunks, sequential
from tests.builders import random_flow, random_gates, relative_error

pytestmark = pytest.mark.usefixtures("exact")

SIZES = st.fixed_dictionaries(
    {
        "shape": st.sampled_from([(1, 1), (3, 1), (6, 2), (6, 3), (5, 5)]),
        "noise": st.integers(1, 3),
        "steps": st.sampled_from([1, 2, 3, 5, 7, 13, CHUNK, CHUNK + 1, 31, 2 * CHUNK]),
        "paths": st.integers(1, 3),
        "matrix_noise": st.booleans(),
        "vector_noise": st.booleans(),
        "time_dependent": st.booleans(),
    }
)
SMALLEST = {
    "shape": (1, 1),
    "noise": 1,
    "steps": 1,
    "paths": 1,
    "matrix_noise": True,
    "vector_noise": True,
    "time_dependent": True,
}


@given(sizes=SIZES, gated=st.booleans())
@example(sizes=SMALLEST, gated=True)
@example(
    sizes=SMALLEST | {"shape": (6, 3), "steps": 2, "matrix_noise": False, "time_dependent": False},
    gated=False,
)
@settings(derandomize=True, deadline=None, max_examples=8)
def test_evaluations_agree_with_the_definition(sizes, gated):
    (latent, block_size), options = sizes["shape"], {k: v for k, v in sizes.items() if k != "shape"}
    rng = np.random.default_rng(71)
    flow = random_flow(rng, latent=latent, block_size=block_size, **options)
    gates = random_gates(rng, flow) if gated else None
    initial = jnp.asarray(rng.normal(size=(latent, options["paths"])))
    cotangent = jnp.asarray(rng.normal(size=(options["steps"] + 1, latent, options["paths"])))

    def run(evaluator):
        path, pullback = jax.vjp(evaluator, flow, gates, initial)
        flow_bar, gates_bar, initial_bar = pullback(cotangent)
        return path, (flow_bar.matrices, flow_bar.vectors, flow_bar.noise, gates_bar, initial_bar)

    reference = jax.jit(partial(run, sequential))()
    for evaluator in (associative, chunked):
        result = jax.jit(partial(run, partial(solve, evaluator)))()
        assert relative_error(result, reference) <= 1e-10


@pytest.mark.parametrize("reverse", [False, True])
@given(steps=st.integers(1, 12), chunk=st.integers(1, 12))
@settings(derandomize=True, deadline=None, max_examples=15)
def test_chunks_cover_every_step_once_and_in_order(steps, chunk, reverse):
    def remember(carry, piece):
        order = piece[::-1] if reverse else piece
        return jnp.concatenate([carry, order])[-1:], piece + carry

    inputs = jnp.arange(1.0, steps + 1)
    carry, outputs = scan_chunks(remember, jnp.zeros(1), inputs, chunk, reverse=reverse)
    # Each piece sees the last step of the piece before it, in the direction of travel.
    starts = np.arange(0, steps, chunk)
    before = {s: (0.0 if s == 0 else float(s)) for s in starts}
    after = {s: (0.0 if s + chunk >= steps else float(s + chunk + 1)) for s in starts}
    seen = [(after if reverse else before)[s] for s in np.repeat(starts, chunk)[:steps]]
    assert outputs.tolist() == (np.arange(1.0, steps + 1) + seen).tolist()
    assert carry.tolist() == [1.0 if reverse else float(steps)]
