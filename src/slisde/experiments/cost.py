"""Size, memory and arithmetic of a configured model; nothing is computed, shapes are enough.

Memory and arithmetic are known for SLiSDE; the baselines show their size.

The arithmetic of a training step counts products only, three times the forward pass (forward, gradient
to the state, gradient to the weights): 2 B N d (b + 1)(1 + m) per layer and 2 B N 4 d (d + 4) per gate.
Memory is documented in `slisde.model.memory`.
"""

from typing import Any

import equinox as eqx
import jax

from slisde.experiments.build import block_size, build_grid, build_model, build_settings
from slisde.experiments.config import Config, ModelConfig
from slisde.flow.evaluate import resolve
from slisde.model.interface import parameter_count
from slisde.model.memory import available_bytes, training_bytes
from slisde.model.stack import SLiSDE


def model_cost(config: Config) -> dict[str, Any]:
    """Return what `slisde inspect` shows."""
    model = eqx.filter_eval_shape(build_model, config.model, key=jax.random.key(0))
    steps, paths = build_grid(config.grid).steps, build_settings(config.train).paths
    cost = {
        "model": _described(config.model),
        "parameters": parameter_count(model),
        "shape": f"{paths:,} x {steps:,}",
    }
    if not isinstance(model, SLiSDE):
        return cost | dict.fromkeys(("evaluation", "memory_gb", "fits", "gflop_per_step"))
    memory = training_bytes(model, steps, paths)
    return cost | {
        "evaluation": resolve(model.layers[0].transition),
        "memory_gb": round(memory / 1e9, 3),
        "fits": memory <= available_bytes(),
        "gflop_per_step": round(step_flops(config) / 1e9, 2),
    }


def _described(model: ModelConfig) -> str:
    if model.family == "neural-sde":
        return (
            f"neural-sde, latent {model.latent}, {model.depth} hidden layers of {model.hidden}, "
            f"noise {model.noise}"
        )
    return (
        f"{model.family}, {model.layers} layers, latent {model.latent}, "
        f"block {block_size(model)}, noise {model.noise}"
    )


def step_flops(config: Config) -> float:
    """Return the floating-point operations of a training step's products."""
    model = config.model
    points = 2.0 * config.train.paths * config.grid.steps * model.latent
    recurrence = points * (block_size(model) + 1) * (1 + model.noise)
    gate = points * 4 * (model.latent + 4) if model.stacking == "gated" else 0.0
    return 3.0 * (model.layers * recurrence + (model.layers - 1) * gate)
