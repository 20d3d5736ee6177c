"""Initial states that are spread evenly: a Latin hypercube, turned to where the tilts lead.

Much of what becomes of a path is decided by where it begins. Each of n normals along an axis is drawn from another
one of n equally likely intervals, so that no region is full or empty by chance (McKay, Beckman and Conover, "A
comparison of three methods for selecting values of input variables", Technometrics 1979): of what the outcome owes to
the axes one by one, hardly any error is left. A path of a group, whichever it is, begins at N(0, I) as ever, so that
averages over groups keep their expectations. States of a batch depend on each other: errors come from independent
batches.
"""

from collections.abc import Sequence
from math import gcd

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, Int, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.brownian import Stream
from slisde.shapes import LatentState

MOST = 2**15
"""Paths of a batch whose leaps are counted without overflow."""
SMALLEST = 1e-12


def latin_normals(
    direction: Float[Array, " latent"], counts: Sequence[int], *, key: PRNGKeyArray
) -> LatentState:
    """Return normals of groups of paths, spread along the direction in each group, otherwise in all of them.

    Args:
        direction: the first axis; its length does not matter.
        counts: the paths of each group; groups come one after the other, their paths in order along the direction.
        key: random key.
    """
    paths, latent = sum(counts), direction.shape[0]
    along, across, order = jax.random.split(jax.random.fold_in(key, Stream.INITIAL), 3)
    first = [
        _in_intervals(jnp.arange(count)[None], key=jax.random.fold_in(along, group))
        for group, count in enumerate(counts)
    ]
    rest = _in_intervals(_orders(latent - 1, paths, key=order), key=across)
    return _turned(jnp.concatenate([jnp.concatenate(first, axis=1), rest]), direction)


def _orders(axes: int, paths: int, *, key: PRNGKeyArray) -> Int[Array, "axis path"]:
    """Return orders of the paths, random ones of those that count on in equal leaps: sorting would take longer."""
    if paths > MOST:
        raise ArgumentError("paths", paths, f"must be at most {MOST:,}", "draw several batches")
    leaps = [leap for leap in range(1, paths + 1) if gcd(leap, paths) == 1]
    how, where = jax.random.split(key)
    leap = jax.random.choice(how, jnp.array(leaps, jnp.uint32), (axes, 1))
    start = jax.random.randint(where, (axes, 1), 0, paths).astype(jnp.uint32)
    steps = jnp.arange(paths, dtype=jnp.uint32)[None]
    return ((leap * steps + start) % paths).astype(int)


def _in_intervals(
    ranks: Int[Array, "axis path"], *, key: PRNGKeyArray
) -> Float[Array, "axis path"]:
    """Return normals, each in the interval of its rank among as many of equal probability as there are paths."""
    count = ranks.shape[1]
    # Distances from the nearer end: beside one, the normals of the last interval would be infinite at times.
    below = ranks < count - ranks
    inside = 1.0 - jax.random.uniform(key, ranks.shape)
    normals = ndtri((jnp.where(below, ranks, count - 1 - ranks) + inside) / count)
    return jnp.where(below, normals, -normals)


def _turned(states: LatentState, direction: Float[Array, " latent"]) -> LatentState:
    """Return the states mirrored so that the first axis falls on the direction, or as they are without one."""
    first = jnp.zeros_like(direction).at[0].set(1.0)
    length = jnp.linalg.norm(direction)
    normal = first - direction / jnp.maximum(length, SMALLEST)
    square = jnp.sum(normal**2)
    mirrored = states - jnp.outer(normal, normal @ states) * 2.0 / jnp.maximum(square, SMALLEST)
    return jnp.where((length > SMALLEST) & (square > SMALLEST), mirrored, states)
