"""A Neural SDE with neural drift and diffusion, by Euler–Maruyama (paper: eq:generic-nsde)."""

from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.flow.brownian import check_paths, increments, initial_normals
from slisde.flow.grid import TimeGrid
from slisde.model.interface import AbstractPathModel
from slisde.model.prior import check_initial_scale
from slisde.model.readout import started_at
from slisde.shapes import Increments, LatentState, ObservedPaths

HIDDEN_SCALE = 0.1
OUTPUT_SCALE = 0.01

Activation = Callable[[Array], Array]


class Diffusion(StrEnum):
    """How noise enters: a full d × m matrix, or one channel per coordinate."""

    FULL = "full"
    DIAGONAL = "diagonal"


class Perceptron(eqx.Module):
    """A multilayer perceptron on `[path, feature]`, the batch being one matrix product."""

    kernels: tuple[Float[Array, "input output"], ...]
    biases: tuple[Float[Array, " output"], ...]
    activation: Activation = eqx.field(static=True)

    def __init__(self, widths: list[int], activation: Activation, *, key: PRNGKeyArray):
        keys = jax.random.split(key, len(widths) - 1)
        scales = [HIDDEN_SCALE] * (len(widths) - 2) + [OUTPUT_SCALE]
        self.kernels = tuple(
            scale * jax.random.normal(each, shape)
            for each, scale, shape in zip(keys, scales, pairwise(widths), strict=True)
        )
        self.biases = tuple(jnp.zeros(width) for width in widths[1:])
        self.activation = activation

    def __call__(self, x: Float[Array, "path input"]) -> Float[Array, "path output"]:
        *hidden, last = zip(self.kernels, self.biases, strict=True)
        for kernel, bias in hidden:
            x = self.activation(x @ kernel + bias[None])
        return x @ last[0] + last[1][None]


class Drivers(eqx.Module):
    """All randomness of a batch: the initial states and the Brownian increments."""

    initial: LatentState
    noise: Increments


class NeuralSDE(AbstractPathModel):
    """dZ = μ(t, Z) dt + σ(t, Z) dW with perceptrons μ and σ, and an affine readout.

    Args:
        latent: width d.
        noise: Brownian channels m; diagonal diffusion uses d of them instead.
        hidden: width of the hidden layers.
        depth: number of hidden layers.
        diffusion: full or diagonal.
        activation: `jnp.tanh` or `jax.nn.gelu`.
        initial_value: the prescribed Y_0, or None.
        initial_scale: standard deviation of the initial state.
        key: random key of the initial weights.
    """

    drift: Perceptron
    diffusion: Perceptron
    kernel: Float[Array, " latent"]
    bias: Float[Array, ""]
    latent: int = eqx.field(static=True)
    noise: int = eqx.field(static=True)
    kind: Diffusion = eqx.field(static=True)
    initial_value: float | None = eqx.field(static=True)
    initial_scale: float = eqx.field(static=True)

    def __init__(
        self,
        latent: int,
        noise: int,
        hidden: int,
        depth: int = 2,
        *,
        diffusion: Diffusion = Diffusion.FULL,
        activation: Activation = jnp.tanh,
        initial_value: float | None = None,
        initial_scale: float = 1.0,
        key: PRNGKeyArray,
    ):
        check_initial_scale(initial_scale)
        drift_key, diffusion_key, readout_key = jax.random.split(key, 3)
        inner = [latent + 1] + [hidden] * depth
        entries = latent * noise if diffusion is Diffusion.FULL else latent
        self.drift = Perceptron([*inner, latent], activation, key=drift_key)
        self.diffusion = Perceptron([*inner, entries], activation, key=diffusion_key)
        self.kernel = jax.random.normal(readout_key, (latent,)) / latent**0.5
        self.bias = jnp.zeros(())
        self.latent, self.kind, self.initial_value = latent, diffusion, initial_value
        self.noise = noise if diffusion is Diffusion.FULL else latent
        self.initial_scale = initial_scale

    def drivers(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> Drivers:
        check_paths(paths)
        initial = initial_normals(self.latent, paths, antithetic=antithetic, key=key)
        noise = increments(grid, self.noise, paths, antithetic=antithetic, key=key)
        return Drivers(initial, noise)

    def observe(self, grid: TimeGrid, drivers: Drivers) -> ObservedPaths:
        # The perceptrons take `[path, feature]`.
        initial = self.initial_scale * drivers.initial.T
        noise = drivers.noise.transpose(0, 2, 1)

        # Recomputing a step in the backward pass costs a third more arithmetic and saves the
        # activations, four times the size of everything else.
        @jax.checkpoint
        def step(z, inputs):
            time, dt, dw = inputs
            z = z + self._increment(time, dt, dw, z)
            return z, z @ self.kernel

        inputs = (jnp.asarray(grid.times)[:-1], grid.dt, noise)
        _, values = jax.lax.scan(step, initial, inputs)
        values = jnp.concatenate([(initial @ self.kernel)[None], values]) + self.bias
        return started_at(values[:, None], self.initial_value)[:, 0].T

    def _increment(self, time, dt, dw, z):
        x = jnp.concatenate([z, jnp.full_like(z[:, :1], time)], axis=1)
        sigma = self.diffusion(x)
        if self.kind is Diffusion.DIAGONAL:
            return self.drift(x) * dt + sigma * dw
        sigma = sigma.reshape(-1, self.latent, self.noise)
        return self.drift(x) * dt + jnp.einsum("pdm,pm->pd", sigma, dw)
