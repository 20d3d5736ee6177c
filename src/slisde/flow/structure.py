"""Matrix families closed under product: diagonal, block-diagonal, dense (paper: ssec:base-layer).

Every member holds `blocks [block, row, col, *batch]` or an equivalent, with any batch axes last, and
acts on vectors `[latent, *batch]`. Closure under `compose` is what lets the associative scan stay in
the family; `from_blocks` picks the cheapest member.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.errors import ArgumentError


class AbstractStructured(eqx.Module):
    """A square matrix of one structured family, with trailing batch axes."""

    @property
    @abstractmethod
    def blocks(self) -> Float[Array, "block row col *batch"]:
        """The blocks on the diagonal: d blocks of size 1, n_b of size b, or one of size d."""

    @property
    @abstractmethod
    def diagonal(self) -> Float[Array, "latent *batch"]:
        """The diagonal entries."""

    @abstractmethod
    def apply(self, vector: Float[Array, "latent *batch"]) -> Float[Array, "latent *batch"]:
        """Return the product with a vector."""

    @abstractmethod
    def compose(self, earlier: "AbstractStructured") -> "AbstractStructured":
        """Return the product `self @ earlier`: first `earlier`, then `self`."""

    @abstractmethod
    def scale_diagonal(self, scale: Float[Array, "latent *batch"]) -> "AbstractStructured":
        """Return 𝒟(α, F) of eq:gated-pair: the diagonal times α entrywise, the rest as it is."""

    @abstractmethod
    def exponential(self) -> "AbstractStructured":
        """Return the matrix exponential."""

    def dense(self) -> Float[Array, "latent latent *batch"]:
        """Return the full matrix, for tests and for looking at."""
        blocks = self.blocks
        count, size, _, *batch = blocks.shape
        full = jnp.zeros((count, size, count, size, *batch), blocks.dtype)
        index = jnp.arange(count)
        full = full.at[index, :, index].set(blocks)
        return full.reshape(count * size, count * size, *batch)


class Diagonal(AbstractStructured):
    """d free entries; everything is elementwise."""

    entries: Float[Array, "latent *batch"]

    @property
    def blocks(self):
        return self.entries[:, None, None]

    @property
    def diagonal(self):
        return self.entries

    def apply(self, vector):
        return self.entries * vector

    def compose(self, earlier):
        return Diagonal(self.entries * earlier.diagonal)

    def scale_diagonal(self, scale):
        return Diagonal(self.entries * scale)

    def exponential(self):
        return Diagonal(jnp.exp(self.entries))


class BlockDiagonal(AbstractStructured):
    """n_b blocks of size b × b."""

    entries: Float[Array, "block row col *batch"]

    @property
    def blocks(self):
        return self.entries

    @property
    def diagonal(self):
        entries = jnp.diagonal(self.blocks, axis1=1, axis2=2)  # [block, *batch, row]
        return _flat(jnp.moveaxis(entries, -1, 1))

    def apply(self, vector):
        count, size = self.blocks.shape[:2]
        parts = vector.reshape(count, 1, size, *vector.shape[1:])
        return _flat((self.blocks * parts).sum(axis=2))

    def compose(self, earlier):
        return type(self)(jnp.einsum("nij...,njk...->nik...", self.blocks, earlier.blocks))

    def scale_diagonal(self, scale):
        count, size, _, *batch = self.blocks.shape
        on_diagonal = jnp.eye(size, dtype=bool).reshape(1, size, size, *(1 for _ in batch))
        rows = scale.reshape(count, size, 1, *batch)
        return type(self)(jnp.where(on_diagonal, self.blocks * rows, self.blocks))

    def exponential(self):
        batch_first = jnp.moveaxis(self.blocks, (1, 2), (-2, -1))
        return type(self)(jnp.moveaxis(jax.scipy.linalg.expm(batch_first), (-2, -1), (1, 2)))


class Dense(AbstractStructured):
    """A full d × d matrix: one block."""

    entries: Float[Array, "row col *batch"]

    @property
    def blocks(self):
        return self.entries[None]

    @property
    def diagonal(self):
        return self._as_block.diagonal

    def apply(self, vector):
        return self._as_block.apply(vector)

    def compose(self, earlier):
        return Dense(self._as_block.compose(earlier).blocks[0])

    def scale_diagonal(self, scale):
        return Dense(self._as_block.scale_diagonal(scale).blocks[0])

    def exponential(self):
        return Dense(self._as_block.exponential().blocks[0])

    @property
    def _as_block(self) -> BlockDiagonal:
        return BlockDiagonal(self.blocks)


def from_blocks(blocks: Float[Array, "block row col *batch"]) -> AbstractStructured:
    """Return the cheapest family member with these blocks."""
    count, size = blocks.shape[:2]
    if size == 1:
        return Diagonal(blocks[:, 0, 0])
    if count == 1:
        return Dense(blocks[0])
    return BlockDiagonal(blocks)


def check_block_size(latent: int, block_size: int) -> None:
    """Raise unless blocks of this size tile the latent space."""
    if block_size < 1 or latent % block_size:
        reason = f"blocks must tile the latent dimension {latent}"
        raise ArgumentError("block_size", block_size, f"must divide `latent` = {latent}", reason)


def _flat(parts: Float[Array, "block row *batch"]) -> Float[Array, "latent *batch"]:
    return parts.reshape(-1, *parts.shape[2:])
