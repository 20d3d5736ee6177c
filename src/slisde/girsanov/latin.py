"""Initial states that are spread evenly: a Latin hypercube, turned to where the tilts lead.

Much of what becomes of a path is decided by where it begins. Each of n normals along an axis is drawn from another
one of n equally likely intervals, so that no region is full or empty by chance (McKay, Beckman and Conover, "A
comparison of three methods for selecting values of input variables", Technometrics 1979): of what the outcome owes to
the axes one by one, hardly any error is left. A path of a group, whichever it is, begins at N(0, I) as ever, so that
averages over groups keep their expectations. States of a batch depend on each other: errors come from independent
batches.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, Int, PRNGKeyArray

from slisde.flow.brownian import Stream
from slisde.shapes import LatentState

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
    along, across = jax.random.split(jax.random.fold_in(key, Stream.INITIAL))
    along, order = jax.random.split(along)
    first = [
        _in_intervals(jnp.arange(count)[None], key=jax.random.fold_in(along, group))
        for group, count in enumerate(counts)
    ]
    ranks = jnp.broadcast_to(jnp.arange(paths), (latent - 1, paths))
    ranks = jax.random.permutation(order, ranks, axis=1, independent=True)
    rest = _in_intervals(ranks, key=across)
    return _turned(jnp.concatenate([jnp.concatenate(first, axis=1), rest]), direction)


def _in_intervals(
    ranks: Int[Array, "axis path"], *, key: PRNGKeyArray
) -> Float[Array, "axis path"]:
    """Return normals, each in the interval of its rank among as many of equal probability as there are paths."""
    count = ranks.shape[1]
    ends = ndtri(jnp.asarray(np.arange(count + 1) / max(count, 1), float))
    return jax.random.truncated_normal(key, ends[ranks], ends[ranks + 1])


def _turned(states: LatentState, direction: Float[Array, " latent"]) -> LatentState:
    """Return the states mirrored so that the first axis falls on the direction, or as they are without one."""
    first = jnp.zeros_like(direction).at[0].set(1.0)
    length = jnp.linalg.norm(direction)
    normal = first - direction / jnp.maximum(length, SMALLEST)
    square = jnp.sum(normal**2)
    mirrored = states - jnp.outer(normal, normal @ states) * 2.0 / jnp.maximum(square, SMALLEST)
    return jnp.where((length > SMALLEST) & (square > SMALLEST), mirrored, states)
