"""Constants of the paper's assumptions, computed from the weights of a gate."""

import numpy as np

from slisde.model.gate import Gate


def offset_bound(gate: Gate) -> float:
    """Return Λ_o = ‖W_io‖ Λ_x + ‖c_io‖ of eq:app-offset-bound, for RMSNorm and horizon T = 1."""
    assert gate.time_kernel is not None
    weights = np.concatenate([gate.kernel[3], gate.time_kernel[3]], axis=1)
    features = 3.0**0.5  # t² + t⁴ + sin² + cos² ≤ 3
    input_bound = weights.shape[0] ** 0.5 * np.max(np.abs(gate.norm.gain)) + features
    return float(np.linalg.norm(weights, ord=2) * input_bound + np.linalg.norm(gate.bias[3]))
