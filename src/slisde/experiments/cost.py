"""Memory and arithmetic of a training step, from the configuration alone.

With s bytes a number, the paths of one layer over n steps are P = (n + 1) d B s bytes, where n is the
horizon N or, when the paths of all layers would pass `WHOLE_HORIZON_BYTES`, one segment of it. A
training step holds

- the L layer paths for the backward pass, and two more at a time: the cotangents of a layer and of
  the one before it;
- on the JAX engine the scale and offset of a gated layer and their cotangents, 4 P;
- one state per layer and segment, L d B s bytes for each of the N / n segments;
- the noise, N m B s bytes, three times while it is drawn;
- coefficients and their gradients, N (1 + m)(b + 1) d s bytes each, a few copies per layer.

The arithmetic counts products only, three times the forward pass (forward, gradient to the state,
gradient to the weights): 2 B N d (b + 1)(1 + m) per layer and 2 B N 4 d (d + 4) per gate.
"""

import math
from typing import Any

import equinox as eqx
import jax

from slisde.experiments.build import block_size, build_grid, build_model, path_count
from slisde.experiments.config import Config
from slisde.flow.evaluate import resolve
from slisde.model.horizon import segment_steps
from slisde.model.interface import parameter_count

BYTES = 4
NOISE_COPIES = 3
COEFFICIENT_COPIES = 8
BASE_BYTES = 0.35e9
"""JAX itself, its compiler and one compiled step."""


def model_cost(config: Config) -> dict[str, Any]:
    """Return what `slisde inspect` shows; nothing is computed, shapes are enough."""
    model = eqx.filter_eval_shape(build_model, config.model, key=jax.random.key(0))
    build_grid(config.grid)
    path_count(config.train)
    evaluation = resolve(model.layers[0].transition)
    return {
        "model": f"{config.model.family}, {config.model.layers} layers, latent {config.model.latent}, "
        f"block {block_size(config.model)}, noise {config.model.noise}",
        "parameters": parameter_count(model),
        "shape": f"{config.train.paths:,} x {config.grid.steps:,}",
        "evaluation": evaluation,
        "memory_gb": round(step_bytes(config, native=evaluation == "native") / 1e9, 3),
        "gflop_per_step": round(step_flops(config) / 1e9, 2),
    }


def step_bytes(config: Config, *, native: bool) -> float:
    """Return the resident memory of a training step."""
    model, steps = config.model, config.grid.steps
    state = model.latent * config.train.paths * BYTES
    in_segments = model.stacking == "gated" and not model.causal_conv
    kept = segment_steps(steps, model.layers * state) if in_segments else steps
    gates = 0 if native else 4 * (model.layers - 1)
    paths = (model.layers + 2 + gates) * (kept + 1) * state
    boundaries = model.layers * math.ceil(steps / kept) * state
    noise = NOISE_COPIES * steps * model.noise * config.train.paths * BYTES
    entries = (1 + model.noise) * (block_size(model) + 1) * model.latent
    coefficients = COEFFICIENT_COPIES * model.layers * steps * entries * BYTES
    return BASE_BYTES + paths + boundaries + noise + coefficients


def step_flops(config: Config) -> float:
    """Return the floating-point operations of a training step's products."""
    model = config.model
    points = 2.0 * config.train.paths * config.grid.steps * model.latent
    recurrence = points * (block_size(model) + 1) * (1 + model.noise)
    gate = points * 4 * (model.latent + 4) if model.stacking == "gated" else 0.0
    return 3.0 * (model.layers * recurrence + (model.layers - 1) * gate)
