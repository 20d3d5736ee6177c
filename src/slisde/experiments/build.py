"""From configuration to objects: the one place where strings become things."""

from collections.abc import Iterator
from contextlib import contextmanager

from jaxtyping import PRNGKeyArray

from slisde.errors import ArgumentError, ConfigError
from slisde.experiments.config import GridConfig, ModelConfig, TrainConfig
from slisde.flow.brownian import check_paths
from slisde.flow.gating import Norm
from slisde.flow.grid import TimeGrid
from slisde.flow.transition import Euler, Exponential
from slisde.model.coefficients import NoiseType
from slisde.model.stack import SLiSDE, Stacking

_TRANSITIONS = {"euler": Euler, "exponential": Exponential}


def build_model(config: ModelConfig, *, key: PRNGKeyArray) -> SLiSDE:
    """Return the model of a `[model]` table with fresh weights."""
    with _table("model"):
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
            time_features=config.time_features,
            norm=Norm(config.norm),
            causal_conv=config.causal_conv,
            amplitude=config.amplitude,
            stacking=Stacking(config.stacking),
            transition=_TRANSITIONS[config.transition](),
            prior=config.prior,
            initial_value=config.initial_value,
            rho=config.rho,
            key=key,
        )


def build_grid(config: GridConfig) -> TimeGrid:
    """Return the time grid of a `[grid]` table."""
    with _table("grid"):
        return TimeGrid.uniform(config.horizon, config.steps)


def path_count(config: TrainConfig) -> int:
    """Return the paths of a training step."""
    with _table("train"):
        check_paths(config.paths)
    return config.paths


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
