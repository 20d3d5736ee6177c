"""Structured coefficients, their initial values and their time decoder."""

import jax
import numpy as np
import pytest

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.model.coefficients import Coefficients, NoiseType
from slisde.model.time_features import decoder_features
from tests.builders import perturbed, relative_error

pytestmark = pytest.mark.usefixtures("exact")

GRID = TimeGrid.uniform(2.0, 5)


@pytest.mark.parametrize("noise_type", NoiseType)
def test_the_noise_type_decides_which_diffusion_terms_there_are(noise_type, key):
    layer = Coefficients(6, 3, block_size=2, noise_type=noise_type, key=key)
    matrices, vectors = layer.on_grid(GRID)
    has_matrices, has_vectors = noise_type != "additive", noise_type != "multiplicative"
    assert matrices.shape == (5, 1 + 3 * has_matrices, 3, 2, 2)
    assert vectors.shape == (5, 1 + 3 * has_vectors, 6)


def test_constant_coefficients_are_kept_once(key):
    layer = Coefficients(6, 3, block_size=2, time_dependent=False, key=key)
    matrices, vectors = layer.on_grid(GRID)
    assert matrices.shape[0] == vectors.shape[0] == 1


def test_decoders_start_at_zero_so_that_time_does_not_matter_yet(key):
    decoded = Coefficients(6, 3, block_size=2, key=key).on_grid(GRID)
    constant = Coefficients(6, 3, block_size=2, time_dependent=False, key=key).on_grid(GRID)
    for varying, once in zip(decoded, constant, strict=True):
        assert np.array_equal(varying, np.broadcast_to(once, varying.shape))
        assert np.any(np.asarray(varying) != 0.0)


def test_decoded_coefficients_are_those_of_the_paper(key):
    layer = perturbed(np.random.default_rng(81), Coefficients(6, 3, block_size=2, key=key))
    matrices, vectors = layer.on_grid(GRID)
    decoder = jax.tree.map(np.asarray, layer.decoder)
    features = np.asarray(decoder_features(GRID))
    for k, hidden in enumerate(np.tanh(features @ decoder.hidden_kernel.T + decoder.hidden_bias)):
        drift = np.asarray(layer.drift) + decoder.drift @ hidden
        diffusion = np.asarray(layer.diffusion) * (1.0 + decoder.channels @ hidden)
        assert relative_error(matrices[k], layer.matrices + decoder.matrices @ hidden) <= 1e-14
        assert relative_error(vectors[k], np.concatenate([drift[None], diffusion.T])) <= 1e-14


def test_low_rank_diffusion_starts_at_zero_and_can_leave_it(key):
    layer = Coefficients(6, 3, block_size=2, low_rank=2, key=key)
    assert layer.diffusion is None
    assert np.any(np.asarray(layer.diffusion_left) != 0.0)
    assert not np.any(np.asarray(layer.on_grid(GRID)[1][:, 1:]))
    moved = perturbed(np.random.default_rng(82), layer)
    rows = np.asarray(moved.diffusion_left @ moved.diffusion_right).T
    assert np.linalg.matrix_rank(rows) == 2
    constant = Coefficients(6, 3, block_size=2, low_rank=2, time_dependent=False, key=key)
    moved = perturbed(np.random.default_rng(82), constant)
    rows = (moved.diffusion_left @ moved.diffusion_right).T
    assert relative_error(moved.on_grid(GRID)[1][0, 1:], rows) == 0.0


def test_entries_start_with_the_scale_of_the_design(key):
    layer = Coefficients(64, 8, block_size=8, key=key)
    for weights, scale in ((layer.matrices, 0.25 / 8**0.5), (layer.diffusion, 0.25)):
        values = np.asarray(weights)
        stderr = scale / (2 * values.size) ** 0.5
        assert abs(np.std(values) - scale) <= 4.0 * stderr
    assert not np.any(np.asarray(layer.drift))


def test_reversion_pulls_every_coordinate_to_zero_and_leaves_the_noise_alone(key):
    usual, pulled = (Coefficients(6, 3, block_size=2, reversion=r, key=key) for r in (0.0, 1.5))
    pull = np.asarray(pulled.matrices - usual.matrices)
    assert np.allclose(pull[0], -1.5 * np.eye(2)[None], atol=1e-14)
    assert not pull[1:].any()


def test_multiplicative_noise_begins_at_its_scale_and_leaves_the_rest_alone(key):
    usual, calm = (
        Coefficients(6, 3, block_size=2, reversion=1.5, multiplicative_scale=scale, key=key)
        for scale in (1.0, 0.25)
    )
    assert np.array_equal(calm.matrices[0], usual.matrices[0])
    assert relative_error(calm.matrices[1:], 0.25 * usual.matrices[1:]) < 1e-14
    assert np.array_equal(np.asarray(calm.diffusion), np.asarray(usual.diffusion))


@pytest.mark.parametrize("low_rank", [-1, 7])
def test_the_rank_lies_between_zero_and_the_width(low_rank, key):
    with pytest.raises(
        ArgumentError, match=f"`low_rank` must be between 0 and `latent` = 6, got {low_rank}: "
    ):
        Coefficients(6, 3, block_size=2, low_rank=low_rank, key=key)
