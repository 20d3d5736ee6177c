"""Affine pairs compose associatively inside their family (eq:model-affine-combine, eq:app-prefix)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.flow.affine import AffineMap, compose
from slisde.flow.structure import from_blocks
from tests.builders import FAMILIES, relative_error

TOLERANCE = 1e-13


def random_map(rng, block_size, paths=2):
    """Return an affine map of four latent dimensions, one per path."""
    blocks = jnp.asarray(rng.normal(size=(4 // block_size, block_size, block_size, paths)))
    return AffineMap(from_blocks(blocks), jnp.asarray(rng.normal(size=(4, paths))))


def augmented(pair):
    """Return ι(F, g) of eq:app-augmented for every path, as full matrices."""
    dense = np.moveaxis(np.asarray(pair.transition.dense()), -1, 0)
    top = np.concatenate([dense, np.asarray(pair.offset).T[:, :, None]], axis=2)
    bottom = np.broadcast_to(np.eye(5)[-1], (top.shape[0], 1, 5))
    return np.concatenate([top, bottom], axis=1)


@pytest.mark.parametrize("block_size", FAMILIES.values(), ids=FAMILIES)
class TestEveryFamily:
    """The laws of composition, the same for each family."""

    def test_composing_is_applying_one_after_the_other(self, block_size):
        rng = np.random.default_rng(1)
        first, second = random_map(rng, block_size), random_map(rng, block_size)
        z = jnp.asarray(rng.normal(size=(4, 2)))
        both, steps = jax.jit(lambda b, a, z: (compose(b, a)(z), b(a(z))))(second, first, z)
        assert relative_error(both, steps) <= TOLERANCE

    def test_composition_is_associative(self, block_size):
        rng = np.random.default_rng(2)
        a, b, c = (random_map(rng, block_size) for _ in range(3))
        left, right = jax.jit(
            lambda a, b, c: (compose(compose(c, b), a), compose(c, compose(b, a)))
        )(a, b, c)
        assert relative_error(left, right) <= TOLERANCE

    def test_composition_is_the_product_of_augmented_matrices(self, block_size):
        rng = np.random.default_rng(3)
        first, second = random_map(rng, block_size), random_map(rng, block_size)
        product = augmented(second) @ augmented(first)
        assert relative_error(augmented(jax.jit(compose)(second, first)), product) <= TOLERANCE

    def test_composition_does_not_commute(self, block_size):
        rng = np.random.default_rng(4)
        a, b = random_map(rng, block_size), random_map(rng, block_size)
        assert relative_error(jax.jit(compose)(a, b).offset, jax.jit(compose)(b, a).offset) > 0.1

    def test_products_and_gated_pairs_stay_in_the_family(self, block_size):
        rng = np.random.default_rng(5)
        a, b = random_map(rng, block_size), random_map(rng, block_size)
        scale, offset = (jnp.asarray(rng.normal(size=(4, 2))) for _ in range(2))
        product, gated = jax.jit(lambda: (compose(b, a), b.gated(scale, offset)))()
        outside = np.kron(np.eye(4 // block_size), np.ones((block_size, block_size))) == 0
        for pair in (product, gated):
            assert type(pair.transition) is type(a.transition)
            assert not np.any(np.asarray(pair.transition.dense())[outside])

    def test_gating_scales_the_diagonal_only_and_adds_to_the_offset(self, block_size):
        rng = np.random.default_rng(6)
        pair = random_map(rng, block_size)
        scale, offset = (rng.normal(size=(4, 2)) for _ in range(2))
        gated = jax.jit(AffineMap.gated)(pair, jnp.asarray(scale), jnp.asarray(offset))
        expected = np.array(pair.transition.dense())
        expected[np.arange(4), np.arange(4)] *= scale
        assert relative_error(gated.transition.dense(), expected) == 0.0
        assert relative_error(gated.offset, np.asarray(pair.offset) + offset) == 0.0
