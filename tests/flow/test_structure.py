"""The matrix families do what full matrices do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.errors import ArgumentError
from slisde.flow.structure import BlockDiagonal, Dense, Diagonal, check_block_size, from_blocks
from tests.builders import FAMILIES, relative_error

pytestmark = pytest.mark.usefixtures("exact")

SHAPES = {"one number": (1, 1), "diagonal": (3, 1), "blocks": (2, 3), "dense": (1, 4)}


@pytest.fixture(params=SHAPES.values(), ids=list(SHAPES))
def pair(request):
    """Two members of a family with a batch of three, and the same as full matrices, batch first."""
    rng = np.random.default_rng(11)
    count, size = request.param
    blocks = rng.normal(size=(2, count, size, size, 3))
    full = [[scipy.linalg.block_diag(*matrix[..., b]) for b in range(3)] for matrix in blocks]
    return [from_blocks(jnp.asarray(matrix)) for matrix in blocks], np.array(full)


def batch_first(matrix):
    """Return the full matrices of a structured one, batch axis first."""
    return np.moveaxis(np.asarray(matrix.dense()), -1, 0)


def test_the_cheapest_family_is_chosen():
    assert isinstance(from_blocks(jnp.zeros((4, 1, 1))), Diagonal)
    assert isinstance(from_blocks(jnp.zeros((2, 2, 2))), BlockDiagonal)
    assert isinstance(from_blocks(jnp.zeros((1, 4, 4))), Dense)


def test_blocks_and_diagonal_are_those_of_the_full_matrix(pair):
    (matrix, _), (full, _) = pair
    assert relative_error(batch_first(matrix), full) == 0.0
    assert relative_error(batch_first(from_blocks(matrix.blocks)), full) == 0.0
    assert relative_error(matrix.diagonal.T, np.diagonal(full, axis1=1, axis2=2)) == 0.0


def test_apply_is_the_matrix_vector_product(pair):
    (matrix, _), (full, _) = pair
    vector = np.random.default_rng(12).normal(size=(full.shape[-1], 3))
    expected = np.einsum("bij,jb->ib", full, vector)
    assert (
        relative_error(jax.jit(type(matrix).apply)(matrix, jnp.asarray(vector)), expected) <= 1e-13
    )


def test_compose_is_the_matrix_product(pair):
    (later, earlier), (full_later, full_earlier) = pair
    product = jax.jit(type(later).compose)(later, earlier)
    assert relative_error(batch_first(product), full_later @ full_earlier) <= 1e-13


def test_exponential_is_the_matrix_exponential(pair):
    (matrix, _), (full, _) = pair
    result = jax.jit(type(matrix).exponential)(matrix)
    assert relative_error(batch_first(result), scipy.linalg.expm(full)) <= 1e-12


def test_members_work_without_batch_axes():
    for size in FAMILIES.values():
        matrix = from_blocks(jnp.ones((4 // size, size, size)))
        assert matrix.apply(jnp.ones(4)).tolist() == [size] * 4
        assert matrix.diagonal.tolist() == [1.0] * 4


@given(latent=st.integers(1, 64), size=st.integers(-2, 65))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_blocks_must_tile_the_latent_space(latent, size):
    if size >= 1 and latent % size == 0:
        check_block_size(latent, size)
        return
    with pytest.raises(
        ArgumentError, match=rf"`block_size` must divide `latent` = {latent}, got {size}: "
    ):
        check_block_size(latent, size)
