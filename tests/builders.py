"""Small random layers, models and noise for the tests; drawn by NumPy, which compiles nothing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from slisde.flow.evaluate import Evaluation
from slisde.flow.grid import TimeGrid
from slisde.flow.linear import Gates, LinearFlow
from slisde.flow.transition import AbstractTransition, Euler
from slisde.model.stack import Drivers, SLiSDE

EVALUATIONS = (Evaluation.SEQUENTIAL, Evaluation.ASSOCIATIVE, Evaluation.CHUNKED)
FAMILIES = {"diagonal": 1, "block": 2, "dense": 4}
"""Block sizes that make each matrix family in four latent dimensions."""


def random_grid(rng: np.random.Generator, steps: int, horizon: float = 1.0) -> TimeGrid:
    """Return a grid whose steps have unequal lengths."""
    lengths = rng.uniform(0.5, 1.5, steps)
    return TimeGrid(np.concatenate([[0.0], horizon * np.cumsum(lengths) / lengths.sum()]))


def random_increments(
    rng: np.random.Generator, grid: TimeGrid, noise: int, paths: int
) -> jax.Array:
    """Return Brownian increments on a grid."""
    widths = np.sqrt(np.diff(grid.times))[:, None, None]
    return jnp.asarray(widths * rng.normal(size=(grid.steps, noise, paths)))


def random_flow(
    rng: np.random.Generator,
    *,
    latent: int = 4,
    block_size: int = 2,
    noise: int = 2,
    steps: int = 19,
    paths: int = 3,
    transition: AbstractTransition | None = None,
    matrix_noise: bool = True,
    vector_noise: bool = True,
    time_dependent: bool = True,
) -> LinearFlow:
    """Return a layer with coefficients of order one on an uneven grid."""
    grid = random_grid(rng, steps)
    lead = steps if time_dependent else 1
    blocks = (latent // block_size, block_size, block_size)
    matrices = rng.normal(size=(lead, 1 + noise * matrix_noise, *blocks)) / block_size**0.5
    vectors = rng.normal(size=(lead, 1 + noise * vector_noise, latent))
    driver = random_increments(rng, grid, noise, paths)
    return LinearFlow(
        jnp.asarray(matrices), jnp.asarray(vectors), grid.dt, driver, transition or Euler()
    )


def random_gates(rng: np.random.Generator, flow: LinearFlow) -> Gates:
    """Return scales in 1 ± 0.3 and small offsets for every step of a layer."""
    shape = (flow.steps, flow.matrices.shape[2] * flow.matrices.shape[3], flow.noise.shape[-1])
    scale, offset = rng.uniform(0.7, 1.3, shape), 0.1 * rng.normal(size=shape)
    return Gates(jnp.asarray(scale), jnp.asarray(offset))


def random_drivers(rng: np.random.Generator, model: SLiSDE, grid: TimeGrid, paths: int) -> Drivers:
    """Return all the randomness of a batch, the last layer's driver independent of the others'."""
    prefix, last = (random_increments(rng, grid, model.noise, paths) for _ in range(2))
    return Drivers(jnp.asarray(rng.normal(size=(model.latent, paths))), prefix, last)


def perturbed(rng: np.random.Generator, model, scale: float = 0.2):
    """Return the model with noise on every weight, so that no weight is zero as at initialisation."""
    dynamic, static = eqx.partition(model, eqx.is_inexact_array)
    noisy = jax.tree.map(
        lambda leaf: leaf + scale * rng.normal(size=leaf.shape).astype(leaf.dtype), dynamic
    )
    return eqx.combine(noisy, static)


def relative_error(value, reference) -> float:
    """Return the largest difference over the largest reference entry, leaf by leaf, at its worst."""
    assert jax.tree.structure(value) == jax.tree.structure(reference)
    pairs = zip(jax.tree.leaves(value), jax.tree.leaves(reference), strict=True)
    # np.max, not max: a NaN must not be lost in a comparison.
    return float(np.max([_relative(np.asarray(v), np.asarray(r)) for v, r in pairs]))


def _relative(value: np.ndarray, reference: np.ndarray) -> float:
    assert value.shape == reference.shape
    size = np.max(np.abs(reference))
    return float(np.max(np.abs(value - reference)) / (1.0 if size == 0.0 else size))
