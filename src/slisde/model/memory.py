"""Memory of a training step, a function of the model and its arguments alone.

With s bytes a number, the paths of one layer over n steps are P = (n + 1) d B s bytes, where n is the
horizon N or as many of its last steps as `KEPT_BYTES` holds for all layers. A training step holds

- the L layer paths for the backward pass, and two more at a time: the cotangents of a layer and of
  the one before it;
- on the JAX engine the scale and offset of a gated layer and their cotangents, 4 P;
- one state per layer and segment of the steps before them, L d B s bytes for each segment;
- the noise, N m B s bytes, three times while it is drawn;
- on the JAX engine coefficients and their gradients, N (1 + m)(b + 1) d s bytes each, a few copies
  per layer;
- the observed paths and what functionals make of them, N B s bytes, a dozen times.
"""

import os
from pathlib import Path

from slisde.errors import MemoryShortageError
from slisde.flow.evaluate import Evaluation, resolve
from slisde.model.gate import Gate
from slisde.model.horizon import Cut, cut_horizon
from slisde.model.stack import SLiSDE

NOISE_COPIES = 3
COEFFICIENT_COPIES = 8
OBSERVED_COPIES = 12
BASE_BYTES = 0.35e9
"""JAX itself, its compiler and one compiled step."""


def training_bytes(model: SLiSDE, steps: int, paths: int) -> float:
    """Return the resident memory of a training step; the model may be shapes alone."""
    coefficients = model.layers[0].coefficients
    size = coefficients.drift.dtype.itemsize
    depth = len(model.layers)
    state = model.latent * paths * size
    native = resolve(model.layers[0].transition) is Evaluation.NATIVE
    gated = all(isinstance(coupling, Gate) for coupling in model.couplings)
    cuttable = gated and all(
        isinstance(coupling, Gate) and coupling.convolution is None for coupling in model.couplings
    )
    cut = cut_horizon(steps, depth * state) if cuttable else Cut(0, steps, steps)
    layer_paths = (depth + 2 + (0 if native else 4 * (depth - 1))) * (cut.kept + 1) * state
    boundaries = depth * cut.segments * state
    noise = NOISE_COPIES * steps * model.noise * paths * size
    entries = coefficients.matrices.size + (1 + model.noise) * model.latent
    values = 0 if native else COEFFICIENT_COPIES * depth * steps * entries * size
    observed = OBSERVED_COPIES * steps * paths * size
    return BASE_BYTES + layer_paths + boundaries + noise + values + observed


def available_bytes() -> int:
    """Return the memory that a new computation can have, as the system tells it."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration):  # not Linux
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(model: SLiSDE, steps: int, paths: int) -> None:
    """Raise before a training step that cannot fit, with what would."""
    needed, available = training_bytes(model, steps, paths), available_bytes()
    if needed > available:
        fitting = paths
        while fitting > 1 and training_bytes(model, steps, fitting) > available:
            fitting //= 2
        raise MemoryShortageError(
            f"a training step of {paths:,} paths and {steps:,} steps needs about "
            f"{needed / 1e9:.1f} GB and {available / 1e9:.1f} GB are available: "
            f"{fitting:,} paths would fit."
        )
