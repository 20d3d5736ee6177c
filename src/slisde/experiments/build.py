"""From configuration to objects: the one place where strings become things."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from slisde.baselines.neural_sde import Diffusion, NeuralSDE
from slisde.baselines.slice import SLiCE
from slisde.calibration.settings import TrainSettings
from slisde.calibration.tilt_settings import Aim, FarTail, TiltTraining
from slisde.errors import ArgumentError, ConfigError
from slisde.experiments.config import GridConfig, ModelConfig, TiltConfig, TrainConfig
from slisde.flow.brownian import check_paths
from slisde.flow.gating import Norm
from slisde.flow.grid import TimeGrid, expiry_grid
from slisde.flow.transition import Euler, Exponential
from slisde.model.coefficients import NoiseType
from slisde.model.gate import OffsetUnit
from slisde.model.interface import AbstractPathModel
from slisde.model.readouts import Readout
from slisde.model.stack import SLiSDE, Stacking

_TRANSITIONS = {"euler": Euler, "exponential": Exponential}
_ACTIVATIONS = {"tanh": jnp.tanh, "gelu": jax.nn.gelu}


def build_model(
    config: ModelConfig, *, initial_value: float | None = None, key: PRNGKeyArray
) -> AbstractPathModel:
    """Return the model of a `[model]` table with fresh weights.

    Args:
        config: the table.
        initial_value: the problem's Y_0, used where the table names none.
        key: random key of the weights.
    """
    if config.initial_value is not None:
        initial_value = config.initial_value
    if config.family != "slisde" and config.readout != "linear":
        raise ConfigError(f"[model] `readout` must be linear for {config.family}.")
    if config.family != "slisde" and config.growth:
        raise ConfigError(f"[model] `growth` must be false for {config.family}.")
    if config.family == "slice" and config.initial_scale != 1.0:
        raise ConfigError(
            "[model] `initial_scale` must be 1 for slice, whose state begins at a point."
        )
    with _table("model"):
        return _FAMILIES[config.family](config, initial_value, key)


def _slisde(config: ModelConfig, initial_value: float | None, key: PRNGKeyArray) -> SLiSDE:
    return SLiSDE(
        config.latent,
        config.noise,
        config.layers,
        out=config.out,
        block_size=block_size(config),
        noise_type=NoiseType(config.noise_type),
        low_rank=config.low_rank,
        time_dependent=config.time_dependent,
        embedding=config.embedding,
        reversion=config.reversion,
        multiplicative_scale=config.multiplicative_scale,
        time_features=config.time_features,
        norm=Norm(config.norm),
        norm_epsilon=config.norm_epsilon,
        causal_conv=config.causal_conv,
        amplitude=config.amplitude,
        offset_scale=config.offset_scale,
        offset_unit=OffsetUnit(config.offset_unit),
        stacking=Stacking(config.stacking),
        transition=_TRANSITIONS[config.transition](),
        prior=config.prior,
        initial_scale=config.initial_scale,
        readout=Readout(config.readout),
        growth=config.growth,
        initial_value=initial_value,
        rho=config.rho,
        key=key,
    )


def _neural_sde(config: ModelConfig, initial_value: float | None, key: PRNGKeyArray) -> NeuralSDE:
    return NeuralSDE(
        config.latent,
        config.noise,
        config.hidden,
        config.depth,
        diffusion=Diffusion(config.diffusion),
        activation=_ACTIVATIONS[config.activation],
        initial_value=initial_value,
        initial_scale=config.initial_scale,
        key=key,
    )


def _slice(config: ModelConfig, initial_value: float | None, key: PRNGKeyArray) -> SLiCE:
    return SLiCE(
        config.latent,
        config.noise,
        config.layers,
        block_size=block_size(config),
        initial_value=initial_value,
        key=key,
    )


_FAMILIES = {"slisde": _slisde, "neural-sde": _neural_sde, "slice": _slice}


def build_grid(
    config: GridConfig, horizon: float = 1.0, maturities: Iterable[float] = ()
) -> TimeGrid:
    """Return the time grid of a `[grid]` table up to a problem's horizon."""
    with _table("grid"):
        if config.spacing == "uniform":
            return TimeGrid.uniform(horizon, config.steps)
        return expiry_grid([*maturities, horizon], config.steps)


def build_settings(config: TrainConfig, tilt: TiltConfig | None = None) -> TrainSettings:
    """Return the training protocol of a `[train]` table, and of a `[tilt]` table that is enabled."""
    tilting = None
    if tilt is not None and tilt.enabled:
        with _table("tilt"):
            tilting = _tilting(tilt)
    with _table("train"):
        check_paths(config.paths)
        return TrainSettings(**config.model_dump(exclude={"seed"}), tilt=tilting)


def _tilting(config: TiltConfig) -> TiltTraining:
    keys = config.model_dump(exclude={"enabled", "groups", "far_tail", "aim"})
    return TiltTraining(
        groups=tuple(config.groups),
        far_tail=FarTail(config.far_tail),
        aim=Aim(config.aim),
        **keys,
    )


def block_size(config: ModelConfig) -> int:
    """Return the block size that a structure stands for."""
    return {"diagonal": 1, "block": config.block_size, "dense": config.latent}[config.structure]


@contextmanager
def _table(name: str) -> Iterator[None]:
    """Say which table an argument came from."""
    try:
        yield
    except ArgumentError as error:
        raise ConfigError(f"[{name}] {error}") from None
