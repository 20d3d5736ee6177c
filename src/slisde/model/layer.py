"""One structured linear SDE layer (paper: eq:model-time-dependent-sde)."""

import equinox as eqx
from jaxtyping import PRNGKeyArray

from slisde.flow.grid import TimeGrid
from slisde.flow.linear import LinearFlow
from slisde.flow.transition import AbstractTransition, Euler
from slisde.model.coefficients import Coefficients
from slisde.shapes import Increments


class LinearLayer(eqx.Module):
    """Coefficients and the transition that discretises them."""

    coefficients: Coefficients
    transition: AbstractTransition = eqx.field(static=True)

    def __init__(
        self,
        latent: int,
        noise: int,
        *,
        transition: AbstractTransition | None = None,
        key: PRNGKeyArray,
        **options,
    ):
        """Take the options of `Coefficients` beside its sizes."""
        self.coefficients = Coefficients(latent, noise, key=key, **options)
        self.transition = Euler() if transition is None else transition

    def flow(self, grid: TimeGrid, noise: Increments) -> LinearFlow:
        """Return the layer on a grid, driven by `noise`."""
        matrices, vectors, features = self.coefficients.on_basis(grid)
        return LinearFlow(matrices, vectors, grid.dt, noise, self.transition, features)
