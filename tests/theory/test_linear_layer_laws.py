"""Layers with a known law have it: geometric Brownian motion and Ornstein–Uhlenbeck (eq:linear-sde)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from slisde.flow.brownian import increments
from slisde.flow.evaluate import evaluate
from slisde.flow.grid import TimeGrid
from slisde.flow.transition import Euler, Exponential
from slisde.model.coefficients import NoiseType
from slisde.model.layer import LinearLayer
from tests.builders import relative_error

PATHS = 20_000
STDERRS = 4.0
GROWTH, VOLATILITY = np.array([0.1, -0.3]), np.array([[0.3, 0.2], [-0.1, 0.4]])  # [channel, latent]
REVERSION = np.array([[-1.0, 0.5], [-0.4, -1.5]])
LEVEL, LOADING = np.array([0.5, -0.2]), np.array([[0.4, 0.1, 0.0], [0.0, 0.3, -0.2]])
START = np.array([1.0, -0.5])


def geometric_layer(transition, key):
    """Return dZ = a Z dt + Σ c_j Z dW^j in two dimensions."""
    layer = LinearLayer(
        2,
        2,
        block_size=1,
        noise_type=NoiseType.MULTIPLICATIVE,
        time_dependent=False,
        transition=transition,
        key=key,
    )
    matrices = np.concatenate([GROWTH[None], VOLATILITY])[:, :, None, None]
    return eqx.tree_at(lambda x: x.coefficients.matrices, layer, jnp.asarray(matrices))


def mean_reverting_layer(transition, key):
    """Return dZ = (A Z + b) dt + D dW in two dimensions."""
    layer = LinearLayer(
        2,
        3,
        block_size=2,
        noise_type=NoiseType.ADDITIVE,
        time_dependent=False,
        transition=transition,
        key=key,
    )
    weights = (REVERSION[None, None], LEVEL, LOADING)
    names = lambda x: (x.coefficients.matrices, x.coefficients.drift, x.coefficients.diffusion)  # noqa: E731
    return eqx.tree_at(names, layer, tuple(jnp.asarray(weight) for weight in weights))


@eqx.filter_jit
def terminal(layer, grid, noise, start):
    """Return Z_T on every path."""
    initial = jnp.broadcast_to(start[:, None], (2, noise.shape[-1]))
    return evaluate(layer.flow(grid, noise), None, initial)[-1]


def assert_moments(samples, mean, second):
    """Compare means and uncentred second moments `[.., path]` with their values, within standard errors."""
    products = samples[:, None] * samples[None]
    for values, expected in ((samples, mean), (products, second)):
        stderr = values.std(axis=-1) / PATHS**0.5
        distance = np.abs(values.mean(axis=-1) - expected) / stderr
        assert np.all(distance <= STDERRS), f"off by {distance} standard errors"


def assert_normal(samples, mean, deviation):
    """Compare a scalar sample with a normal law by the distance of distribution functions."""
    statistic = scipy.stats.kstest(samples, scipy.stats.norm(mean, deviation).cdf).statistic
    assert statistic <= 1.95 / PATHS**0.5, "the 0.1 % point of the Kolmogorov law is exceeded"


def test_a_geometric_layer_is_lognormal_with_the_moments_of_the_closed_form(key):
    grid = TimeGrid.uniform(1.0, 4)
    noise = increments(grid, 2, PATHS, key=key)
    samples = np.asarray(
        terminal(geometric_layer(Exponential(), key), grid, noise, jnp.asarray(START))
    )
    covariation = VOLATILITY.T @ VOLATILITY
    mean = START * np.exp(GROWTH)
    second = np.outer(mean, mean) * np.exp(covariation)
    assert_moments(samples, mean, second)
    for i in range(2):
        variance = covariation[i, i]
        assert_normal(np.log(samples[i] / START[i]), GROWTH[i] - 0.5 * variance, variance**0.5)


def test_a_geometric_layer_by_euler_has_the_moments_of_its_recursion(key):
    grid = TimeGrid.uniform(1.0, 4)
    noise = increments(grid, 2, PATHS, key=key)
    samples = np.asarray(terminal(geometric_layer(Euler(), key), grid, noise, jnp.asarray(START)))
    step = 1.0 + GROWTH / 4
    second = np.outer(START, START) * (np.outer(step, step) + VOLATILITY.T @ VOLATILITY / 4) ** 4
    assert_moments(samples, START * step**4, second)


def discrete_moments(transition, steps):
    """Return mean and covariance of Z_{k+1} = F Z_k + b Δt + D ΔW after `steps` steps to T = 1."""
    dt = 1.0 / steps
    matrix = (
        np.eye(2) + REVERSION * dt
        if isinstance(transition, Euler)
        else scipy.linalg.expm(REVERSION * dt)
    )
    mean, covariance = START, np.zeros((2, 2))
    for _ in range(steps):
        mean = matrix @ mean + LEVEL * dt
        covariance = matrix @ covariance @ matrix.T + LOADING @ LOADING.T * dt
    return mean, covariance


def continuous_moments():
    """Return mean and covariance of the Ornstein–Uhlenbeck process at T = 1."""
    flow = scipy.linalg.expm(REVERSION)
    rest = np.linalg.solve(REVERSION, LEVEL)
    stationary = scipy.linalg.solve_continuous_lyapunov(REVERSION, -LOADING @ LOADING.T)
    return flow @ (START + rest) - rest, stationary - flow @ stationary @ flow.T


TRANSITIONS = pytest.mark.parametrize(
    "transition", [Euler(), Exponential()], ids=["euler", "exponential"]
)


def law_on_grid(layer, steps):
    """Return mean and covariance of Z_T: it is affine in the noise, so its derivative gives them exactly."""
    grid = TimeGrid.uniform(1.0, steps)

    def endpoint(noise):
        return terminal(layer, grid, noise[:, :, None], jnp.asarray(START))[:, 0]

    zero = jnp.zeros((steps, 3))
    response = np.asarray(jax.jacobian(endpoint)(zero)).reshape(2, 3 * steps)
    return np.asarray(endpoint(zero)), response @ response.T / steps


@TRANSITIONS
def test_an_additive_layer_has_exactly_the_mean_and_covariance_of_its_recursion(transition, key):
    law = law_on_grid(mean_reverting_layer(transition, key), 5)
    assert relative_error(law, discrete_moments(transition, 5)) <= 1e-13


@TRANSITIONS
def test_the_law_of_an_additive_layer_converges_to_the_closed_form_with_order_one(transition, key):
    layer, exact = mean_reverting_layer(transition, key), continuous_moments()
    coarse, fine = (
        [a - b for a, b in zip(law_on_grid(layer, n), exact, strict=True)] for n in (32, 64)
    )
    for part in range(2):
        ratio = np.linalg.norm(coarse[part]) / np.linalg.norm(fine[part])
        assert ratio == pytest.approx(2.0, rel=0.05)


@TRANSITIONS
def test_samples_of_an_additive_layer_have_the_ornstein_uhlenbeck_law(transition, key):
    # At 64 steps the bias of order Δt, which the test above measures, is below the standard errors.
    grid = TimeGrid.uniform(1.0, 64)
    noise = increments(grid, 3, PATHS, key=key)
    samples = np.asarray(
        terminal(mean_reverting_layer(transition, key), grid, noise, jnp.asarray(START))
    )
    mean, covariance = discrete_moments(transition, 64)
    assert_moments(samples, mean, covariance + np.outer(mean, mean))
    mean, covariance = continuous_moments()
    for i in range(2):
        assert_normal(samples[i], mean[i], covariance[i, i] ** 0.5)
