"""The independent noise of a batch, before it is mixed into drivers (paper: eq:correlated-driver)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.flow.brownian import Stream, check_paths, correlated, increments, initial_normals
from slisde.flow.grid import TimeGrid
from slisde.model.martingale import MartingaleReadout
from slisde.model.stack import Drivers, SLiSDE
from slisde.shapes import Increments, LatentState


class Noise(eqx.Module):
    """Independent normals and increments: all that is random in a batch.

    Attributes:
        initial: the initial state before any prior, N(0, I) under the reference law.
        prefix: increments that drive the layers before the last one, or all of them.
        own: increments that no prefix layer sees: the last layer's innovation, where the model has
            one, and then the channel of a mixing readout; None where there are neither.
    """

    initial: LatentState
    prefix: Increments
    own: Float[Array, "step own path"] | None

    @property
    def paths(self) -> int:
        """The number of paths."""
        return self.initial.shape[-1]


def draw_noise(model: SLiSDE, grid: TimeGrid, paths: int, *, key: PRNGKeyArray) -> Noise:
    """Draw the noise that `model.drivers` draws from the same key."""
    check_paths(paths)
    parts = []
    if model.rho is not None:
        parts.append(increments(grid, model.noise, paths, stream=Stream.INNOVATION, key=key))
    if has_mixing(model):
        parts.append(increments(grid, 1, paths, stream=Stream.MIXING, key=key))
    return Noise(
        initial_normals(model.latent, paths, key=key),
        increments(grid, model.noise, paths, key=key),
        jnp.concatenate(parts, axis=1) if parts else None,
    )


def drivers_of(model: SLiSDE, noise: Noise) -> Drivers:
    """Return the drivers that the noise makes."""
    last, mixing = noise.prefix, None
    if noise.own is not None:
        if model.rho is not None:
            last = correlated(noise.prefix, noise.own[:, : model.noise], model.rho)
        if has_mixing(model):
            mixing = noise.own[:, -1:]
    return Drivers(noise.initial, noise.prefix, last, mixing)


def own_channels(model: SLiSDE) -> int:
    """Return how many channels of noise the prefix layers do not see."""
    return (0 if model.rho is None else model.noise) + int(has_mixing(model))


def has_mixing(model: SLiSDE) -> bool:
    """Return whether the readout has a Brownian motion of its own."""
    return isinstance(model.readout, MartingaleReadout) and model.readout.mixing
