import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import TimeGrid, parameter_count
from slisde.baselines.neural_sde import Diffusion, NeuralSDE
from slisde.baselines.slice import SLiCE

KEY = jax.random.key(3)


@pytest.mark.parametrize(
    ("model", "count"),
    [
        (NeuralSDE(64, 8, 128, key=KEY), 124_289),
        (NeuralSDE(64, 8, 128, 3, key=KEY), 157_313),
        (NeuralSDE(32, 8, 128, key=KEY), 78_913),
        (SLiCE(64, 8, 2, key=KEY), 142_081),
        (SLiCE(64, 8, 3, key=KEY), 212_801),
    ],
)
def test_parameter_counts_are_the_published_ones(model, count):
    assert parameter_count(model) == count


def test_a_narrow_neural_sde_is_the_usual_one_from_initial_states_nearer_to_zero():
    usual, narrow = (NeuralSDE(6, 2, 5, initial_scale=scale, key=KEY) for scale in (1.0, 0.25))
    grid = TimeGrid.uniform(1.0, 7)
    drivers = usual.drivers(grid, 4, key=KEY)
    nearer = eqx.tree_at(lambda d: d.initial, drivers, 0.25 * drivers.initial)
    np.testing.assert_array_equal(narrow.observe(grid, drivers), usual.observe(grid, nearer))
    assert not np.array_equal(narrow.observe(grid, drivers), usual.observe(grid, drivers))


@pytest.mark.parametrize(
    "model",
    [
        NeuralSDE(6, 2, 5, initial_value=0.45, key=KEY),
        NeuralSDE(6, 2, 5, diffusion=Diffusion.DIAGONAL, initial_value=0.45, key=KEY),
        NeuralSDE(6, 2, 5, activation=jax.nn.gelu, initial_value=0.45, key=KEY),
        SLiCE(6, 2, 2, block_size=3, initial_value=0.45, key=KEY),
    ],
)
def test_a_baseline_answers_the_model_interface(model):
    y = model(TimeGrid.uniform(1.0, 7), 4, key=KEY)
    assert y.shape == (4, 8)
    np.testing.assert_array_equal(y[:, 0], np.float32(0.45))
    assert jnp.std(y[:, -1]) > 0
    gradient = eqx.filter_grad(lambda m: m(TimeGrid.uniform(1.0, 7), 4, key=KEY).sum())(model)
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
