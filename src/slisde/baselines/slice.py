"""SLiCE: residual blocks of structured linear CDEs, driven by Brownian motion (paper: ssec:residual-stacking).

The linear CDE y[i] = (I + A(ΔX[i])) y[i−1] + B(ΔX[i]) is the Euler step of a linear layer whose noise
is the increment of the hidden path, so it runs on the same engine as SLiSDE.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.flow.brownian import check_paths, increments
from slisde.flow.evaluate import Evaluation, evaluate
from slisde.flow.gating import Norm, normalise
from slisde.flow.grid import TimeGrid
from slisde.flow.linear import LinearFlow
from slisde.flow.scan import scan_chunks
from slisde.flow.structure import check_block_size
from slisde.flow.transition import Euler
from slisde.model.interface import AbstractPathModel
from slisde.model.readout import started_at
from slisde.shapes import Increments, LatentPaths, ObservedPaths

CDE_SCALE = 0.01
NORM_EPSILON = 1e-6
CHUNK = 8
"""Nodes whose perceptron is evaluated together and recomputed in the backward pass."""


class Block(eqx.Module):
    """RMSNorm → linear CDE → residual → RMSNorm → GELU perceptron → residual."""

    cde_gain: Float[Array, " hidden"]
    matrices: Float[Array, "time_and_hidden block row col"]
    vectors: Float[Array, "time_and_hidden hidden"]
    initial: Float[Array, " hidden"]
    gain: Float[Array, " hidden"]
    kernel_in: Float[Array, "wide hidden"]
    bias_in: Float[Array, " wide"]
    kernel_out: Float[Array, "hidden wide"]
    bias_out: Float[Array, " hidden"]

    def __init__(self, hidden: int, block_size: int, *, key: PRNGKeyArray):
        matrix_key, vector_key, in_key, out_key = jax.random.split(key, 4)
        shape = (1 + hidden, hidden // block_size, block_size, block_size)
        self.cde_gain, self.gain = jnp.ones(hidden), jnp.ones(hidden)
        self.matrices = CDE_SCALE / block_size**0.5 * jax.random.normal(matrix_key, shape)
        self.vectors = CDE_SCALE * jax.random.normal(vector_key, (1 + hidden, hidden))
        self.initial = jnp.zeros(hidden)
        self.kernel_in = jax.random.normal(in_key, (4 * hidden, hidden)) / hidden**0.5
        self.bias_in = jnp.zeros(4 * hidden)
        self.kernel_out = jax.random.normal(out_key, (hidden, 4 * hidden)) / (4 * hidden) ** 0.5
        self.bias_out = jnp.zeros(hidden)

    def __call__(self, grid: TimeGrid, path: LatentPaths, evaluation: Evaluation) -> LatentPaths:
        driver = jnp.diff(jax.vmap(lambda h: _scaled(h, self.cde_gain))(path), axis=0)
        flow = LinearFlow(self.matrices[None], self.vectors[None], grid.dt, driver, Euler())
        initial = jnp.broadcast_to(self.initial[:, None], path.shape[1:])
        path = path + evaluate(flow, None, initial, evaluation=evaluation)

        @jax.checkpoint
        def on_chunk(_, states):
            return None, states + jnp.stack([self._perceptron(h) for h in states])

        return scan_chunks(on_chunk, None, path, CHUNK)[1]

    def _perceptron(self, h: Float[Array, "hidden path"]) -> Float[Array, "hidden path"]:
        inner = jax.nn.gelu(self.kernel_in @ _scaled(h, self.gain) + self.bias_in[:, None])
        return self.kernel_out @ inner + self.bias_out[:, None]


class SLiCE(AbstractPathModel):
    """A stack of blocks on a linear embedding of the Brownian path, with an affine readout.

    Args:
        hidden: width h.
        noise: Brownian channels m.
        layers: number of blocks.
        block_size: size of the diagonal blocks of A.
        initial_value: the prescribed Y_0, or None.
        key: random key of the initial weights.
    """

    embedding: Float[Array, "hidden noise"]
    embedding_bias: Float[Array, " hidden"]
    blocks: tuple[Block, ...]
    kernel: Float[Array, " hidden"]
    bias: Float[Array, ""]
    noise: int = eqx.field(static=True)
    initial_value: float | None = eqx.field(static=True)

    def __init__(
        self,
        hidden: int,
        noise: int,
        layers: int,
        *,
        block_size: int = 8,
        initial_value: float | None = None,
        key: PRNGKeyArray,
    ):
        check_block_size(hidden, block_size)
        embedding_key, bias_key, readout_key, *keys = jax.random.split(key, layers + 3)
        self.embedding = jax.random.normal(embedding_key, (hidden, noise)) / noise**0.5
        # Not zero: the first norm would then meet the zero state of t = 0, where its slope is 1000.
        self.embedding_bias = jax.random.normal(bias_key, (hidden,)) / noise**0.5
        self.blocks = tuple(Block(hidden, block_size, key=each) for each in keys)
        self.kernel = jax.random.normal(readout_key, (hidden,)) / hidden**0.5
        self.bias = jnp.zeros(())
        self.noise, self.initial_value = noise, initial_value

    def __call__(
        self,
        grid: TimeGrid,
        paths: int,
        *,
        antithetic: bool = False,
        evaluation: Evaluation = Evaluation.AUTO,
        key: PRNGKeyArray,
    ) -> ObservedPaths:
        drivers = self.drivers(grid, paths, antithetic=antithetic, key=key)
        return self.observe(grid, drivers, evaluation=evaluation)

    def drivers(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> Increments:
        check_paths(paths)
        return increments(grid, self.noise, paths, antithetic=antithetic, key=key)

    def observe(
        self, grid: TimeGrid, drivers: Increments, *, evaluation: Evaluation = Evaluation.AUTO
    ) -> ObservedPaths:
        brownian = jnp.concatenate([jnp.zeros_like(drivers[:1]), jnp.cumsum(drivers, axis=0)])
        path = (
            jnp.einsum("hm,kmb->khb", self.embedding, brownian) + self.embedding_bias[None, :, None]
        )
        for block in self.blocks:
            path = block(grid, path, evaluation)
        values = jnp.einsum("h,khb->kb", self.kernel, path) + self.bias
        return started_at(values[:, None], self.initial_value)[:, 0].T


def _scaled(state: Float[Array, "hidden path"], gain: Float[Array, " hidden"]):
    return normalise(state, Norm.RMS, NORM_EPSILON) * gain[:, None]
