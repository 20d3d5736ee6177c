"""What the baselines compute, in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import Evaluation, TimeGrid
from slisde.baselines.neural_sde import Drivers, NeuralSDE
from slisde.baselines.slice import SLiCE

KEY = jax.random.key(3)
pytestmark = pytest.mark.usefixtures("exact")


def test_a_neural_sde_step_is_euler_maruyama():
    model = NeuralSDE(3, 2, 4, key=KEY)
    grid = TimeGrid([0.0, 0.3, 1.0])
    z = np.asarray(jax.random.normal(KEY, (1, 3)))
    noise = np.asarray(jax.random.normal(jax.random.key(4), (2, 1, 2)))
    drivers = Drivers(jnp.asarray(z.T), jnp.asarray(noise.transpose(0, 2, 1)))
    observed = model.observe(grid, drivers)
    expected = [z @ model.kernel]
    for time, dt, dw in zip([0.0, 0.3], [0.3, 0.7], noise, strict=True):
        x = jnp.concatenate([jnp.asarray(z), jnp.full((1, 1), time)], axis=1)
        sigma = np.asarray(model.diffusion(x)).reshape(3, 2)
        z = z + np.asarray(model.drift(x)) * dt + (sigma @ dw[0])[None]
        expected.append(z @ model.kernel)
    np.testing.assert_allclose(observed[0], np.stack(expected)[:, 0], rtol=1e-12)


@pytest.mark.parametrize("evaluation", [Evaluation.CHUNKED, Evaluation.AUTO])
def test_slice_gives_the_same_paths_by_every_evaluation(evaluation):
    model = SLiCE(8, 3, 2, block_size=4, key=KEY)
    grid = TimeGrid.uniform(1.0, 11)
    paths = model(grid, 5, evaluation=evaluation, key=KEY)
    reference = model(grid, 5, evaluation=Evaluation.SEQUENTIAL, key=KEY)
    np.testing.assert_allclose(paths, reference, rtol=1e-11, atol=1e-11)
