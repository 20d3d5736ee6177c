"""Structured coefficients and their time decoder (paper: ssec:base-layer, app:time-dependent-coefficients)."""

from enum import StrEnum

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.flow.structure import check_block_size
from slisde.model.draws import normals
from slisde.model.time_features import DECODER_FEATURES, decoder_features
from slisde.shapes import MatrixCoefficients, VectorCoefficients

SCALE = 0.25
"""Standard deviation of D's entries, and of a structured row's sum, at initialisation."""


class NoiseType(StrEnum):
    """Which parts of the diffusion C^j z + d^j a layer has."""

    MULTIPLICATIVE = "multiplicative"
    ADDITIVE = "additive"
    GENERAL = "general"

    @property
    def has_matrices(self) -> bool:
        """Whether the C^j are there."""
        return self is not NoiseType.ADDITIVE

    @property
    def has_vectors(self) -> bool:
        """Whether the d^j are there."""
        return self is not NoiseType.MULTIPLICATIVE


class TimeDecoder(eqx.Module):
    """Zero-initialised corrections of the free entries, from h(t) = tanh(U τ(t) + c).

    The additive diffusion gets one gate per Brownian channel: d^j_t = (1 + Δ_j(h(t))) d^j.
    """

    hidden_kernel: Float[Array, "embedding 5"]
    hidden_bias: Float[Array, " embedding"]
    matrices: Float[Array, "drift_and_noise block row col embedding"]
    drift: Float[Array, "latent embedding"]
    channels: Float[Array, "channels embedding"] | None

    def __init__(self, matrices, latent: int, channels: int, normals: Float[Array, "embedding 5"]):
        embedding = normals.shape[0]
        self.hidden_kernel = normals / DECODER_FEATURES**0.5
        self.hidden_bias = jnp.zeros(embedding)
        self.matrices = jnp.zeros((*matrices.shape, embedding))
        self.drift = jnp.zeros((latent, embedding))
        self.channels = jnp.zeros((channels, embedding)) if channels else None

    def hidden(self, grid: TimeGrid) -> Float[Array, "step embedding"]:
        """Return h at the left end of every step."""
        return jnp.tanh(decoder_features(grid) @ self.hidden_kernel.T + self.hidden_bias[None])


class Coefficients(eqx.Module):
    """A, b, C^1…C^m and d^1…d^m of one layer, constant or decoded from time.

    Args:
        latent: the width d.
        noise: the number m of Brownian channels.
        block_size: 1 is diagonal, d is dense, anything between is block-diagonal.
        noise_type: which diffusion terms there are.
        low_rank: rank of D = left · right; 0 keeps D dense.
        time_dependent: whether a decoder is added.
        embedding: width of the decoder's hidden layer.
        reversion: rate κ at which the state is first pulled to zero: A begins at −κ I and noise.
        multiplicative_scale: how large C^1…C^m begin, as a multiple of their usual scale.
    """

    matrices: Float[Array, "drift_and_noise block row col"]
    drift: Float[Array, " latent"]
    diffusion: Float[Array, "latent noise"] | None
    diffusion_left: Float[Array, "latent rank"] | None
    diffusion_right: Float[Array, "rank noise"] | None
    decoder: TimeDecoder | None

    def __init__(
        self,
        latent: int,
        noise: int,
        *,
        block_size: int = 8,
        noise_type: NoiseType = NoiseType.GENERAL,
        low_rank: int = 0,
        time_dependent: bool = True,
        embedding: int = 8,
        reversion: float = 0.0,
        multiplicative_scale: float = 1.0,
        key: PRNGKeyArray,
    ):
        check_block_size(latent, block_size)
        check_low_rank(latent, low_rank)
        check_reversion(reversion)
        check_multiplicative_scale(multiplicative_scale)
        count = 1 + (noise if noise_type.has_matrices else 0)
        matrices, vectors, hidden = normals(
            key,
            (count, latent // block_size, block_size, block_size),
            (latent, low_rank or noise),
            (embedding, DECODER_FEATURES),
        )
        drawn = SCALE / block_size**0.5 * matrices
        pulled = drawn[0] - reversion * jnp.eye(block_size)[None]
        self.matrices = jnp.concatenate([pulled[None], multiplicative_scale * drawn[1:]])
        self.drift = jnp.zeros(latent)
        self.diffusion = self.diffusion_left = self.diffusion_right = None
        if noise_type.has_vectors and low_rank:
            self.diffusion_left = SCALE * vectors
            self.diffusion_right = jnp.zeros((low_rank, noise))
        elif noise_type.has_vectors:
            self.diffusion = SCALE * vectors
        channels = noise if noise_type.has_vectors else 0
        self.decoder = (
            TimeDecoder(self.matrices, latent, channels, hidden) if time_dependent else None
        )

    def on_grid(self, grid: TimeGrid) -> tuple[MatrixCoefficients, VectorCoefficients]:
        """Return the coefficients at the left end of every step, or once if they are constant."""
        matrices, vectors, features = self.on_basis(grid)
        if features is None:
            return matrices, vectors
        return jnp.tensordot(features, matrices, 1), jnp.tensordot(features, vectors, 1)

    def on_basis(
        self, grid: TimeGrid
    ) -> tuple[
        Float[Array, "basis drift_and_noise block row col"],
        Float[Array, "basis drift_and_channels latent"],
        Float[Array, "step basis"] | None,
    ]:
        """Return the coefficients as combinations of functions of time, and those at every step.

        The functions are 1 and the decoder's h(t), the coefficients of 1 are the free entries
        themselves; without a decoder there are no functions and the coefficients are constant.
        """
        diffusion = self._diffusion_rows()
        vectors = jnp.concatenate([self.drift[None], diffusion])
        decoder = self.decoder
        if decoder is None:
            return self.matrices[None], vectors[None], None
        gates = decoder.drift[:0] if decoder.channels is None else decoder.channels
        corrections = jnp.concatenate(
            [decoder.drift.T[:, None], gates.T[:, :, None] * diffusion[None]], axis=1
        )
        hidden = decoder.hidden(grid)
        return (
            jnp.concatenate([self.matrices[None], jnp.moveaxis(decoder.matrices, -1, 0)]),
            jnp.concatenate([vectors[None], corrections]),
            jnp.concatenate([jnp.ones_like(hidden[:, :1]), hidden], axis=1),
        )

    def _diffusion_rows(self) -> Float[Array, "channels latent"]:
        if self.diffusion is not None:
            return self.diffusion.T
        if self.diffusion_left is not None and self.diffusion_right is not None:
            return (self.diffusion_left @ self.diffusion_right).T
        return jnp.zeros((0, self.drift.shape[0]), self.drift.dtype)


def check_low_rank(latent: int, low_rank: int) -> None:
    """Raise unless D can have this rank."""
    if low_rank < 0 or low_rank > latent:
        raise ArgumentError(
            "low_rank", low_rank, f"must be between 0 and `latent` = {latent}", "0 keeps D dense"
        )


def check_reversion(reversion: float) -> None:
    """Raise unless the state can be pulled back at this rate."""
    if not 0.0 <= reversion < float("inf"):
        raise ArgumentError(
            "reversion", reversion, "must not be negative", "it is the rate of a pull towards zero"
        )


def check_multiplicative_scale(scale: float) -> None:
    """Raise unless the multiplicative noise can begin this large."""
    if not 0.0 <= scale < float("inf"):
        raise ArgumentError(
            "multiplicative_scale",
            scale,
            "must not be negative",
            "it multiplies a standard deviation; at 0 the noise begins additive",
        )
