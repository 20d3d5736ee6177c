"""The optimiser: for how long large gradients make steps small."""

import jax.numpy as jnp
import optax
import pytest

from slisde.calibration.optimiser import paper_optimiser
from slisde.calibration.settings import TrainSettings
from slisde.errors import ArgumentError


def last_step(beta2: float) -> float:
    """Return the size of a step after 50 gradients of 0.9 and 150 of 0.001."""
    optimiser = paper_optimiser(10_000, warmup=0, weight_decay=0.0, beta2=beta2)
    weights = {"w": jnp.zeros(1)}
    state = optimiser.init(weights)
    updates = weights
    for gradient in [0.9] * 50 + [0.001] * 150:
        updates, state = optimiser.update({"w": jnp.full(1, gradient)}, state, weights)
    return float(optax.tree.norm(updates))


def test_a_short_memory_of_squares_forgets_the_large_gradients_of_the_beginning():
    assert last_step(0.999) < 0.01 * 1e-3
    assert last_step(0.9) == pytest.approx(1e-3, rel=0.1)


@pytest.mark.parametrize("beta2", [-0.1, 1.0, float("nan")])
def test_beta2_is_a_decay(beta2):
    with pytest.raises(ArgumentError, match=r"`beta2` must be in \[0, 1\), got"):
        TrainSettings(beta2=beta2)
