"""The SLiSDE network: linear SDE layers, gated in flow, and a readout (paper: sec:model)."""

from enum import StrEnum
from functools import partial
from numbers import Integral

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.brownian import (
    Stream,
    check_correlation,
    check_paths,
    correlated,
    increments,
    initial_normals,
)
from slisde.flow.evaluate import Evaluation, run_observed
from slisde.flow.gating import Norm
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Mixture, Sample, drawn
from slisde.flow.structure import check_block_size
from slisde.flow.transition import AbstractTransition
from slisde.model.coefficients import (
    NoiseType,
    check_low_rank,
    check_multiplicative_scale,
    check_reversion,
)
from slisde.model.gate import (
    KERNEL_SCALE,
    NORM_EPSILON,
    Gate,
    OffsetUnit,
    check_amplitude,
    check_norm_epsilon,
    check_offset_scale,
)
from slisde.model.horizon import LayerOnGrid, gate_on_grid, layer_paths, observed_values
from slisde.model.interface import AbstractPathModel
from slisde.model.layer import LinearLayer
from slisde.model.martingale import MartingaleReadout
from slisde.model.prior import GaussianPrior, check_initial_scale
from slisde.model.readout import LinearReadout, check_output
from slisde.model.readouts import Readout, make_readout
from slisde.model.residual import ResidualDriver
from slisde.shapes import Increments, LatentPaths, LatentState, ObservedPaths


class Stacking(StrEnum):
    """How a layer sees the one before it."""

    GATED = "gated"
    RESIDUAL = "residual"


class Drivers(eqx.Module):
    """All randomness of a batch: initial normals, the drivers of the prefix and of the last layer.

    `mixing` drives the observed path alone, where the readout has a channel for it.
    """

    initial: LatentState
    prefix: Increments
    last: Increments
    mixing: Float[Array, "step 1 path"] | None = None


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
        reversion: rate at which the states are first pulled to zero.
        multiplicative_scale: how large multiplicative noise begins, relative to the usual.
        time_features: whether gates see the time.
        norm: normalisation of the gate input.
        norm_epsilon: ς of that norm; of states much larger than √ς a gate sees the direction only.
        causal_conv: whether gates see a short past of the previous path.
        amplitude: ε of the scale gate.
        offset_scale: how large the weights of the offset gate begin.
        offset_unit: whether offsets are per step, as published, or per time.
        stacking: gated in flow, or residual as the paper compares with.
        transition: `Euler()` (default) or `Exponential()`.
        prior: whether the law of the initial state is learned.
        initial_scale: standard deviation of the initial state, at first if it is learned.
        readout: linear as in the paper; linear with the batch mean moved to Y_0; or a positive
            martingale, with a Brownian motion of its own when mixing.
        growth: whether a martingale is multiplied by a learned curve in time, which is then its mean.
        initial_value: the prescribed Y_0, or None.
        rho: correlation of the last layer's driver with the prefix driver (eq:correlated-driver);
            None shares one driver between all layers.
        key: random key of the initial weights.
    """

    layers: tuple[LinearLayer, ...]
    couplings: tuple[Gate | ResidualDriver, ...]
    prior: GaussianPrior | None
    readout: LinearReadout | MartingaleReadout
    latent: int = eqx.field(static=True)
    noise: int = eqx.field(static=True)
    rho: float | None = eqx.field(static=True)
    initial_scale: float = eqx.field(static=True)

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
        reversion: float = 0.0,
        multiplicative_scale: float = 1.0,
        time_features: bool = True,
        norm: Norm = Norm.RMS,
        norm_epsilon: float = NORM_EPSILON,
        causal_conv: bool = False,
        amplitude: float = 0.1,
        offset_scale: float = KERNEL_SCALE,
        offset_unit: OffsetUnit = OffsetUnit.STEP,
        stacking: Stacking = Stacking.GATED,
        transition: AbstractTransition | None = None,
        prior: bool = False,
        initial_scale: float = 1.0,
        readout: Readout = Readout.LINEAR,
        growth: bool = False,
        initial_value: float | tuple[float, ...] | None = None,
        rho: float | None = None,
        key: PRNGKeyArray,
    ):
        _check_sizes(latent=latent, noise=noise, layers=layers, embedding=embedding)
        check_block_size(latent, block_size)
        check_low_rank(latent, low_rank)
        check_reversion(reversion)
        check_multiplicative_scale(multiplicative_scale)
        check_norm_epsilon(norm_epsilon)
        check_amplitude(amplitude)
        check_offset_scale(offset_scale)
        check_initial_scale(initial_scale)
        check_output(out, initial_value)
        _check_driver(rho, stacking, layers)
        readout_key, *keys = jax.random.split(key, 2 * layers)
        self.readout = make_readout(readout, latent, noise, out, growth, initial_value, readout_key)
        layer = partial(
            LinearLayer,
            latent,
            noise,
            block_size=block_size,
            noise_type=noise_type,
            low_rank=low_rank,
            time_dependent=time_dependent,
            embedding=embedding,
            reversion=reversion,
            multiplicative_scale=multiplicative_scale,
            transition=transition,
        )
        gate = partial(
            Gate,
            latent,
            amplitude=amplitude,
            norm=norm,
            norm_epsilon=norm_epsilon,
            time_features=time_features,
            causal_conv=causal_conv,
            offset_scale=offset_scale,
            offset_unit=offset_unit,
        )
        residual = partial(ResidualDriver, latent, noise, norm, norm_epsilon)
        coupling = gate if stacking is Stacking.GATED else residual
        self.layers = tuple(layer(key=each) for each in keys[:layers])
        self.couplings = tuple(coupling(key=each) for each in keys[layers:])
        self.prior = GaussianPrior(latent, initial_scale) if prior else None
        self.latent, self.noise, self.rho = latent, noise, rho
        self.initial_scale = initial_scale

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
        return drawn(self.gather(self.sample(grid, drivers, evaluation=evaluation)))

    def drivers(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> Drivers:
        """Draw the noise of a batch, each part from its own stream."""
        check_paths(paths)
        initial = initial_normals(self.latent, paths, antithetic=antithetic, key=key)
        prefix = increments(grid, self.noise, paths, antithetic=antithetic, key=key)
        last, mixing = prefix, None
        if self.rho is not None:
            innovation = increments(
                grid, self.noise, paths, stream=Stream.INNOVATION, antithetic=antithetic, key=key
            )
            last = correlated(prefix, innovation, self.rho)
        if isinstance(self.readout, MartingaleReadout) and self.readout.mixing:
            mixing = increments(
                grid, 1, paths, stream=Stream.MIXING, antithetic=antithetic, key=key
            )
        return Drivers(initial, prefix, last, mixing)

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
        return drawn(self.sample(grid, drivers, evaluation=evaluation, segment=segment))

    def sample(
        self,
        grid: TimeGrid,
        drivers: Drivers,
        *,
        evaluation: Evaluation = Evaluation.AUTO,
        segment: int | None = None,
    ) -> Sample:
        """Return `observe`, with the law given the latent paths where the readout knows it."""
        values = observed_values(
            self.on_grid(grid, drivers),
            self.started(drivers.initial),
            self.readout.kernel,
            evaluation,
            segment,
        )
        return self.read(grid, drivers, values)

    def gather(self, sample: Sample) -> Sample:
        """Return the batch with its mean normalised, where the readout asks for it."""
        if isinstance(self.readout, LinearReadout) and not isinstance(sample, Mixture):
            return self.readout.gather(sample)
        return sample

    @property
    def is_martingale(self) -> bool:
        """Whether the readout makes paths positive martingales; those that grow are none."""
        return isinstance(self.readout, MartingaleReadout) and self.readout.slopes is None

    def layer_paths(
        self, grid: TimeGrid, drivers: Drivers, *, evaluation: Evaluation = Evaluation.AUTO
    ) -> list[LatentPaths]:
        """Return the latent path of every layer, first to last."""
        return layer_paths(self.on_grid(grid, drivers), self.started(drivers.initial), evaluation)

    def prefix_path(
        self,
        grid: TimeGrid,
        initial: LatentState,
        prefix: Increments,
        *,
        evaluation: Evaluation = Evaluation.AUTO,
    ) -> LatentPaths:
        """Return the path of the layer before the last, which a model of two layers or more has."""
        stack = self.on_grid(grid, Drivers(initial, prefix, prefix))[:-1]
        return layer_paths(stack, self.started(initial), evaluation)[-1]

    def sample_last(
        self,
        grid: TimeGrid,
        drivers: Drivers,
        previous: LatentPaths,
        *,
        evaluation: Evaluation = Evaluation.AUTO,
    ) -> Sample:
        """Return `sample` of a gated stack, given the path of the layer before the last."""
        flow, gate = self.on_grid(grid, drivers)[-1].given(previous)
        values, _ = run_observed(
            flow, gate, self.started(drivers.initial), self.readout.kernel, evaluation=evaluation
        )
        return self.read(grid, drivers, values)

    def started(self, normals: LatentState) -> LatentState:
        """Return the initial state of every layer."""
        return self.initial_scale * normals if self.prior is None else self.prior(normals)

    def read(
        self, grid: TimeGrid, drivers: Drivers, values: Float[Array, "node out path"]
    ) -> Sample:
        """Return the observed paths, given Π Z of the last layer at every node."""
        if isinstance(self.readout, LinearReadout):
            return self.readout.observe(values)
        mixture = self.readout(values, grid, drivers.last, drivers.mixing)
        return mixture if self.readout.mixing else mixture.values

    def on_grid(self, grid: TimeGrid, drivers: Drivers) -> list[LayerOnGrid]:
        """Return the layers on a grid, each with its driver."""
        noises = [drivers.prefix] * (len(self.layers) - 1) + [drivers.last]
        return [
            LayerOnGrid(layer.flow(grid, noise), coupling, gate_on_grid(coupling, grid))
            for layer, noise, coupling in zip(
                self.layers, noises, (None, *self.couplings), strict=True
            )
        ]


def _check_driver(rho: float | None, stacking: Stacking, layers: int) -> None:
    """Raise unless the last layer can have the driver that is asked for."""
    if rho is None:
        return
    check_correlation(rho)
    if stacking is Stacking.RESIDUAL and layers > 1:
        raise ArgumentError(
            "rho",
            rho,
            "must be None with residual stacking",
            "the last layer has no driver of its own",
        )


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise ArgumentError(
                name, size, "must be an integer ≥ 1", "it is the length of an array axis"
            )
