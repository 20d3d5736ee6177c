"""The SLiSDE network: linear SDE layers, gated in flow, and a linear readout (paper: sec:model)."""

from enum import StrEnum
from numbers import Integral

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.brownian import (
    Stream,
    check_correlation,
    check_paths,
    correlated,
    increments,
    initial_normals,
)
from slisde.flow.evaluate import Evaluation
from slisde.flow.gating import Norm
from slisde.flow.grid import TimeGrid
from slisde.flow.structure import check_block_size
from slisde.flow.transition import AbstractTransition
from slisde.model.coefficients import NoiseType, check_low_rank
from slisde.model.gate import Gate, check_amplitude
from slisde.model.horizon import LayerOnGrid, layer_paths, observed_values, on_grid
from slisde.model.interface import AbstractPathModel
from slisde.model.layer import LinearLayer
from slisde.model.prior import GaussianPrior
from slisde.model.readout import LinearReadout, check_output
from slisde.model.residual import ResidualDriver
from slisde.shapes import Increments, LatentPaths, LatentState, ObservedPaths


class Stacking(StrEnum):
    """How a layer sees the one before it."""

    GATED = "gated"
    RESIDUAL = "residual"


class Drivers(eqx.Module):
    """All randomness of a batch: initial normals, the prefix driver, the last layer's driver."""

    initial: LatentState
    prefix: Increments
    last: Increments


class SLiSDE(AbstractPathModel):
    """A stack of structured linear SDE layers.

    Args:
        latent: width d of every layer.
        noise: Brownian channels m.
        layers: depth L.
        out: dimension of an observed path.
        block_size: 1 is diagonal, `latent` is dense.
        noise_type: multiplicative, additive or general noise.
        low_rank: rank of the additive diffusion D, 0 for dense.
        time_dependent: whether coefficients vary with time.
        embedding: hidden width of the time decoder.
        time_features: whether gates see the time.
        norm: normalisation of the gate input.
        causal_conv: whether gates see a short past of the previous path.
        amplitude: ε of the scale gate.
        stacking: gated in flow, or residual as the paper compares with.
        transition: `Euler()` (default) or `Exponential()`.
        prior: whether the law of the initial state is learned.
        initial_value: the prescribed Y_0, or None.
        rho: correlation of the last layer's driver with the prefix driver (eq:correlated-driver);
            None shares one driver between all layers.
        key: random key of the initial weights.
    """

    layers: tuple[LinearLayer, ...]
    couplings: tuple[Gate | ResidualDriver, ...]
    prior: GaussianPrior | None
    readout: LinearReadout
    latent: int = eqx.field(static=True)
    noise: int = eqx.field(static=True)
    rho: float | None = eqx.field(static=True)

    def __init__(
        self,
        latent: int,
        noise: int,
        layers: int,
        *,
        out: int = 1,
        block_size: int = 8,
        noise_type: NoiseType = NoiseType.GENERAL,
        low_rank: int = 0,
        time_dependent: bool = True,
        embedding: int = 8,
        time_features: bool = True,
        norm: Norm = Norm.RMS,
        causal_conv: bool = False,
        amplitude: float = 0.1,
        stacking: Stacking = Stacking.GATED,
        transition: AbstractTransition | None = None,
        prior: bool = False,
        initial_value: float | tuple[float, ...] | None = None,
        rho: float | None = None,
        key: PRNGKeyArray,
    ):
        _check_sizes(latent=latent, noise=noise, layers=layers, embedding=embedding)
        check_block_size(latent, block_size)
        check_low_rank(latent, low_rank)
        check_amplitude(amplitude)
        check_output(out, initial_value)
        if rho is not None:
            check_correlation(rho)
            if stacking is Stacking.RESIDUAL and layers > 1:
                raise ArgumentError(
                    "rho",
                    rho,
                    "must be None with residual stacking",
                    "the last layer has no driver of its own",
                )
        readout_key, *keys = jax.random.split(key, 2 * layers)
        self.readout = LinearReadout(latent, out, initial_value=initial_value, key=readout_key)
        self.layers = tuple(
            LinearLayer(
                latent,
                noise,
                block_size=block_size,
                noise_type=noise_type,
                low_rank=low_rank,
                time_dependent=time_dependent,
                embedding=embedding,
                transition=transition,
                key=layer_key,
            )
            for layer_key in keys[:layers]
        )
        self.couplings = tuple(
            Gate(
                latent,
                amplitude=amplitude,
                norm=norm,
                time_features=time_features,
                causal_conv=causal_conv,
                key=coupling_key,
            )
            if stacking is Stacking.GATED
            else ResidualDriver(latent, noise, norm, key=coupling_key)
            for coupling_key in keys[layers:]
        )
        self.prior = GaussianPrior(latent) if prior else None
        self.latent, self.noise, self.rho = latent, noise, rho

    def __call__(
        self,
        grid: TimeGrid,
        paths: int,
        *,
        antithetic: bool = False,
        evaluation: Evaluation = Evaluation.AUTO,
        key: PRNGKeyArray,
    ) -> ObservedPaths:
        """Return `paths` fresh paths on `grid`."""
        drivers = self.drivers(grid, paths, antithetic=antithetic, key=key)
        return self.observe(grid, drivers, evaluation=evaluation)

    def drivers(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> Drivers:
        """Draw the noise of a batch, each part from its own stream."""
        check_paths(paths)
        initial = initial_normals(self.latent, paths, antithetic=antithetic, key=key)
        prefix = increments(grid, self.noise, paths, antithetic=antithetic, key=key)
        if self.rho is None:
            return Drivers(initial, prefix, prefix)
        innovation = increments(
            grid, self.noise, paths, stream=Stream.INNOVATION, antithetic=antithetic, key=key
        )
        return Drivers(initial, prefix, correlated(prefix, innovation, self.rho))

    def observe(
        self,
        grid: TimeGrid,
        drivers: Drivers,
        *,
        evaluation: Evaluation = Evaluation.AUTO,
        segment: int | None = None,
    ) -> ObservedPaths:
        """Return the observed paths of given noise.

        Args:
            grid: the time grid.
            drivers: the noise, from `drivers`.
            evaluation: how layers are evaluated.
            segment: steps between checkpoints of the backward pass; None chooses, and keeps the
                whole horizon while the layer paths are small (see `slisde.model.horizon`).
        """
        initial = drivers.initial if self.prior is None else self.prior(drivers.initial)
        values = observed_values(
            self._stack(grid, drivers), initial, self.readout.kernel, evaluation, segment
        )
        return self.readout.observe(values)

    def layer_paths(
        self, grid: TimeGrid, drivers: Drivers, *, evaluation: Evaluation = Evaluation.AUTO
    ) -> list[LatentPaths]:
        """Return the latent path of every layer, first to last."""
        initial = drivers.initial if self.prior is None else self.prior(drivers.initial)
        return layer_paths(self._stack(grid, drivers), initial, evaluation)

    def _stack(self, grid: TimeGrid, drivers: Drivers) -> list[LayerOnGrid]:
        noises = [drivers.prefix] * (len(self.layers) - 1) + [drivers.last]
        return [
            LayerOnGrid(layer.flow(grid, noise), coupling, on_grid(coupling, grid))
            for layer, noise, coupling in zip(
                self.layers, noises, (None, *self.couplings), strict=True
            )
        ]


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise ArgumentError(
                name, size, "must be an integer ≥ 1", "it is the length of an array axis"
            )
