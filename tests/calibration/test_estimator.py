"""Estimators of one expectation agree, and those that know more vary less."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import SLiSDE, TimeGrid
from slisde.calibration.estimate import price
from slisde.calibration.estimator import Estimator
from slisde.errors import ArgumentError
from slisde.functionals.hedge import VarianceCurve
from slisde.functionals.path import PathView
from slisde.functionals.problem import Evaluator
from slisde.functionals.running import RunningMaximum
from slisde.functionals.terminal import Call, DigitalAbove, DigitalBelow, Forward, Put
from slisde.model.readouts import Readout

GRID = TimeGrid.uniform(1.0, 32)
TERMINAL = [
    Forward(1.0),
    Call(1.0, 1.0),
    Call(0.5, 1.2),
    Put(1.0, 0.8),
    DigitalAbove(0.5, 1.0),
    DigitalBelow(1.0, 0.9),
]
FUNCTIONALS = [*TERMINAL, RunningMaximum(1.0)]
PATHS = 32_768


def model(readout=Readout.MIXING):
    return SLiSDE(16, 3, 2, readout=readout, initial_value=1.0, key=jax.random.key(0))


@pytest.fixture(scope="module")
def prices():
    return {
        (readout, estimator): price(
            model(readout), FUNCTIONALS, GRID, PATHS, estimator=estimator, key=jax.random.key(seed)
        )
        for readout in (Readout.MARTINGALE, Readout.MIXING)
        for seed, estimator in enumerate(Estimator)
    }


@pytest.mark.parametrize("readout", [Readout.MARTINGALE, Readout.MIXING])
@pytest.mark.parametrize("estimator", [Estimator.CONDITIONAL, Estimator.HEDGED])
def test_every_estimator_has_the_mean_of_the_paths(prices, readout, estimator):
    plain, other = prices[readout, Estimator.PATHS], prices[readout, estimator]
    error = np.hypot(plain.standard_error, other.standard_error)
    # A hedged forward is the constant one; its float32 average is as exact as it gets.
    assert np.all(np.abs(plain.mean - other.mean) <= 4.0 * error + 1e-6)


def test_knowing_the_law_never_adds_variance_and_hedging_takes_most_of_it(prices):
    def variance(estimator):
        return prices[Readout.MIXING, estimator].standard_error ** 2

    plain, known, hedged = (variance(estimator) for estimator in Estimator)
    # The sample variance of n values is itself uncertain, by √(kurtosis/n) of it: a few percent here.
    assert np.all(known[: len(TERMINAL)] <= 1.05 * plain[: len(TERMINAL)])
    assert known[1] < 0.5 * plain[1]
    assert np.all(hedged[: len(TERMINAL)] <= 1.05 * known[: len(TERMINAL)])
    assert hedged[0] < 1e-3 * plain[0]


@pytest.mark.parametrize("functional", TERMINAL, ids=str)
def test_a_hedge_has_mean_zero_whatever_curve_it_believes_in(functional):
    paths = model(Readout.MARTINGALE)(GRID, 16_384, key=jax.random.key(5))
    wrong = VarianceCurve(0.3 * jnp.asarray(GRID.times) ** 2, jnp.zeros(GRID.steps + 1))
    times = jnp.asarray(GRID.times)
    profit = jax.vmap(lambda path: wrong.hedge(functional, PathView(path, times)))(paths)
    assert abs(profit.mean()) <= 4.0 * profit.std() / profit.size**0.5
    assert profit.std() > 0


def test_a_digital_has_a_gradient_where_the_law_is_known():
    evaluate, times = Evaluator([DigitalAbove(1.0, 1.0)]), jnp.asarray(GRID.times)
    drivers = model().drivers(GRID, 64, key=jax.random.key(2))

    def mean(model):
        return jnp.mean(evaluate(model.sample(GRID, drivers), times))

    def with_bias(bias):
        return eqx.tree_at(lambda tree: tree.readout.bias, model(), bias)

    gradient = jax.grad(lambda bias: mean(with_bias(bias)))(jnp.full(4, 0.2))
    assert np.all(np.isfinite(gradient))
    assert np.any(np.abs(gradient) > 1e-4)


def test_paths_that_are_no_martingales_are_not_hedged():
    with pytest.raises(ArgumentError, match="needs a martingale readout"):
        price(
            model(Readout.LINEAR),
            TERMINAL,
            GRID,
            64,
            estimator=Estimator.HEDGED,
            key=jax.random.key(0),
        )
