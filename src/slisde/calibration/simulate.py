"""Paths of a model with the batch spread over devices, those of other processes included.

Noise is drawn as one array and so is the same however many devices there are; each device then
observes its share of it, and what follows, averages and losses, is split by the compiler.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import PRNGKeyArray

from slisde.errors import ArgumentError, ConfigError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample
from slisde.model.interface import AbstractPathModel

AXIS = "path"
"""Name of the one axis of the mesh."""

Tree = TypeVar("Tree")


def simulate(
    model: AbstractPathModel,
    grid: TimeGrid,
    paths: int,
    *,
    antithetic: bool = False,
    devices: Sequence[Any] | None = None,
    key: PRNGKeyArray,
) -> Sample:
    """Return `paths` fresh paths on `grid`, an equal share of them from each device.

    They come with their law given the latent paths where the model knows it.

    Args:
        model: the model; every device has all of its weights.
        grid: the time grid.
        paths: paths of the whole batch, a multiple of the number of devices.
        antithetic: draw paths in mirrored pairs.
        devices: who takes part; all devices of all processes by default.
        key: random key; the same in every process.
    """
    mesh = path_mesh(None if devices is None else tuple(devices))
    check_share(paths, mesh.size)
    if mesh.size == 1:
        return model.draw(grid, paths, antithetic=antithetic, key=key)
    drivers = model.drivers(grid, paths, antithetic=antithetic, key=key)
    shares = jax.tree.map(lambda leaf: PartitionSpec(*[None] * (leaf.ndim - 1), AXIS), drivers)
    drivers = jax.lax.with_sharding_constraint(
        drivers, jax.tree.map(partial(NamedSharding, mesh), shares)
    )
    arrays, static = eqx.partition((model, grid), eqx.is_array)

    # The native kernels are opaque to the compiler, which would run them on the whole batch
    # everywhere: they are mapped over the shares by hand. They do not say which of their results
    # differ between devices, so nobody can check it (`check_vma`).
    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(PartitionSpec(), shares),
        out_specs=PartitionSpec(AXIS),
        check_vma=False,
    )
    def sample(arrays, share):
        model, grid = eqx.combine(arrays, static)
        return model.sample(grid, share)

    return model.gather(sample(arrays, drivers))


@lru_cache
def path_mesh(devices: tuple[Any, ...] | None = None) -> Mesh:
    """Return the devices as a line of shares of the batch."""
    chosen = jax.devices() if devices is None else devices
    return Mesh(np.asarray(chosen), (AXIS,), axis_types=(AxisType.Auto,))


def check_share(paths: int, devices: int) -> None:
    """Raise unless the batch divides equally between the devices."""
    if paths % devices:
        raise ArgumentError(
            "paths", paths, f"must be a multiple of the {devices} devices", "their shares are equal"
        )


def replicate(tree: Tree) -> Tree:
    """Return arrays that are equal in all processes as arrays that every device has.

    A compiled step that gets its state so, and returns it so, is compiled once.
    """
    mesh = path_mesh()
    if mesh.size == 1:
        return tree
    try:
        return jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))
    except AssertionError as error:  # JAX compares the values of the processes
        raise ConfigError(
            "the processes of this run have different values: give all of them the same "
            "configuration, seed and checkpoint."
        ) from error


def local_copy(tree: Tree) -> Tree:
    """Return a replicated tree on this process's first device, to use without the other processes."""
    return jax.tree.map(
        lambda leaf: leaf.addressable_data(0) if isinstance(leaf, jax.Array) else leaf, tree
    )
