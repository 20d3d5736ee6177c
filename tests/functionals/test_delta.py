"""Deltas: derivatives in the level of a path."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from slisde.flow.mixture import Mixture
from slisde.functionals.delta import Delta, TerminalDelta
from slisde.functionals.path import PathView
from slisde.functionals.problem import Evaluator
from slisde.functionals.terminal import Call, DigitalAbove, DigitalBelow, Put
from slisde.functionals.text import read_functional

pytestmark = pytest.mark.usefixtures("exact")

LIPSCHITZ = [
    "forward(maturity=0.8)",
    "call(strike=1.0, maturity=0.8)",
    "put(strike=1.1, maturity=0.8)",
    "running_maximum(maturity=0.8)",
    "running_minimum(maturity=0.8)",
    "average(maturity=0.8)",
    "squared_average(maturity=0.8)",
    "asian_call(strike=0.9, maturity=0.8)",
    "asian_put(strike=1.1, maturity=0.8)",
    "lookback_call(maturity=0.8)",
    "lookback_put(maturity=0.8)",
    "realised_variance(maturity=0.8)",
]


def make_path(key):
    times = jnp.linspace(0.0, 1.0, 11)
    steps = 0.1 * jax.random.normal(key, (10,))
    return jnp.exp(jnp.concatenate([jnp.zeros(1), jnp.cumsum(steps)])), times


@pytest.mark.parametrize("text", LIPSCHITZ)
def test_a_delta_is_the_slope_between_two_paths_side_by_side(key, text):
    values, times = make_path(key)
    functional = read_functional(text)
    h = 1e-6
    up, down = (float(functional(PathView(values * s, times))) for s in (1.0 + h, 1.0 - h))
    delta = Delta(functional.maturity, functional)
    assert float(delta(PathView(values, times))) == pytest.approx((up - down) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("kind", [Call, Put, DigitalAbove, DigitalBelow])
def test_under_a_lognormal_law_it_is_the_slope_of_blacks_formula(kind):
    functional = kind(1.0, 1.1)
    centre, variance = jnp.array([1.0, 0.95]), jnp.array([0.0, 0.05])
    view = PathView(Mixture(centre, centre, variance), jnp.array([0.0, 1.0]))
    deviation = np.sqrt(0.05)
    lower = np.log(0.95 / 1.1) / deviation - 0.5 * deviation
    expected = {
        Call: 0.95 * norm.cdf(lower + deviation),
        Put: -0.95 * norm.cdf(-lower - deviation),
        DigitalAbove: norm.pdf(lower) / deviation,
        DigitalBelow: -norm.pdf(lower) / deviation,
    }[kind]
    assert float(Delta(1.0, functional).expected(view)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", [Call, Put, DigitalAbove, DigitalBelow])
def test_the_delta_of_a_terminal_payoff_is_the_same_as_a_payoff_of_its_own(key, kind):
    functional = kind(0.8, 1.1)
    any_path, terminal = Delta(0.8, functional), TerminalDelta(0.8, functional)
    values, times = make_path(key)
    view = PathView(Mixture(values, 0.9 * values, jnp.linspace(0.0, 0.05, 11)), times)
    assert float(terminal(view)) == pytest.approx(float(any_path(view)), rel=1e-12)
    assert float(terminal.expected(view)) == pytest.approx(float(any_path.expected(view)), rel=1e-9)


def test_deltas_are_evaluated_on_batches_beside_their_payoffs(key):
    values, times = make_path(key)
    functionals = [read_functional(text) for text in LIPSCHITZ]
    deltas = [Delta(functional.maturity, functional) for functional in functionals]
    batch = jnp.stack([values, values[::-1]])
    found = Evaluator([*functionals, *deltas])(batch, times)
    for row, path in zip(found, batch, strict=True):
        each = [float(f(PathView(path, times))) for f in (*functionals, *deltas)]
        np.testing.assert_allclose(row, each, rtol=1e-12, atol=1e-14)
