"""Size, memory and arithmetic of a configured model; nothing is computed, shapes are enough.

The arithmetic of a training step counts products only, three times the forward pass (forward, gradient
to the state, gradient to the weights): 2 B N d (b + 1)(1 + m) per layer and 2 B N 4 d (d + 4) per gate.
Memory is documented in `slisde.model.memory`.
"""

from typing import Any

import equinox as eqx
import jax

from slisde.experiments.build import block_size, build_grid, build_model, path_count
from slisde.experiments.config import Config
from slisde.flow.evaluate import resolve
from slisde.model.interface import parameter_count
from slisde.model.memory import available_bytes, training_bytes


def model_cost(config: Config) -> dict[str, Any]:
    """Return what `slisde inspect` shows."""
    model = eqx.filter_eval_shape(build_model, config.model, key=jax.random.key(0))
    steps, paths = build_grid(config.grid).steps, path_count(config.train)
    memory = training_bytes(model, steps, paths)
    return {
        "model": f"{config.model.family}, {config.model.layers} layers, latent {config.model.latent}, "
        f"block {block_size(config.model)}, noise {config.model.noise}",
        "parameters": parameter_count(model),
        "shape": f"{paths:,} x {steps:,}",
        "evaluation": resolve(model.layers[0].transition),
        "memory_gb": round(memory / 1e9, 3),
        "fits": memory <= available_bytes(),
        "gflop_per_step": round(step_flops(config) / 1e9, 2),
    }


def step_flops(config: Config) -> float:
    """Return the floating-point operations of a training step's products."""
    model = config.model
    points = 2.0 * config.train.paths * config.grid.steps * model.latent
    recurrence = points * (block_size(model) + 1) * (1 + model.noise)
    gate = points * 4 * (model.latent + 4) if model.stacking == "gated" else 0.0
    return 3.0 * (model.layers * recurrence + (model.layers - 1) * gate)
