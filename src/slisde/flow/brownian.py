"""Brownian drivers with named random streams (paper: sec:background, eq:correlated-driver)."""

from enum import IntEnum

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.shapes import Increments, LatentState


class Stream(IntEnum):
    """What a random stream is for; `fold_in(key, Stream.DRIVER)` never meets another stream.

    The numbers are part of reproducibility: append, never renumber.
    """

    INITIAL = 0
    DRIVER = 1
    INNOVATION = 2
    MIXING = 3


def normals(
    key: PRNGKeyArray, stream: Stream, shape: tuple[int, ...], *, antithetic: bool = False
) -> Float[Array, "..."]:
    """Return standard normals of `shape`, paths last; antithetic paths are the second half, negated."""
    key = jax.random.fold_in(key, stream)
    if not antithetic:
        return jax.random.normal(key, shape)
    *rest, paths = shape
    if paths % 2:
        raise ArgumentError(
            "paths", paths, "must be even with antithetic pairs", "each path needs its mirror image"
        )
    half = jax.random.normal(key, (*rest, paths // 2))
    return jnp.concatenate([half, -half], axis=-1)


def increments(
    grid: TimeGrid,
    noise: int,
    paths: int,
    *,
    stream: Stream = Stream.DRIVER,
    antithetic: bool = False,
    key: PRNGKeyArray,
) -> Increments:
    """Return ΔW_k ~ N(0, Δt_k I_m) for every step and path."""
    draws = normals(key, stream, (grid.steps, noise, paths), antithetic=antithetic)
    return draws * jnp.sqrt(grid.dt)[:, None, None]


def initial_normals(
    latent: int, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
) -> LatentState:
    """Return ξ ~ N(0, I_d), the shared initial state before any prior is applied."""
    return normals(key, Stream.INITIAL, (latent, paths), antithetic=antithetic)


def correlated(prefix: Increments, innovation: Increments, rho: float) -> Increments:
    """Return ρ ΔW^prefix + √(1 − ρ²) Δε, the last layer's driver of eq:correlated-driver."""
    check_correlation(rho)
    return rho * prefix + (1.0 - rho**2) ** 0.5 * innovation


def check_correlation(rho: float) -> None:
    """Raise unless ρ leaves an innovation to tilt."""
    if not 0.0 <= rho < 1.0:
        raise ArgumentError("rho", rho, "must be in [0, 1)", "at 1 no innovation is left to tilt")


def check_paths(paths: int) -> None:
    """Raise unless there is at least one path."""
    if paths < 1:
        raise ArgumentError("paths", paths, "must be at least 1", "an empty batch has no average")


def coarsen(fine: Float[Array, "fine_step noise path"], factor: int) -> Increments:
    """Return the increments of the same path on every `factor`-th node."""
    steps, noise, paths = fine.shape
    if factor < 1 or steps % factor:
        raise ArgumentError(
            "factor", factor, f"must divide the {steps} steps", "coarse steps are sums of fine ones"
        )
    return fine.reshape(steps // factor, factor, noise, paths).sum(axis=1)
