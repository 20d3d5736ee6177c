"""Hedges in training leave means and slopes as they are, and take most of the noise."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import SLiSDE, TimeGrid
from slisde.calibration.hedge_book import hedge_book
from slisde.calibration.objective import Objective
from slisde.calibration.settings import TrainSettings
from slisde.calibration.step import start
from slisde.data.smile import smile_quotes
from slisde.data.surface.market import market_problem
from slisde.flow.grid import expiry_grid
from slisde.flow.mixture import drawn
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Forward
from slisde.model.readouts import Readout
from tests.data.surface.chains import make_chain

PATHS = 8192


@pytest.fixture(scope="module")
def problem():
    return market_problem(make_chain(step=100.0))


@pytest.fixture(scope="module")
def grid(problem):
    return expiry_grid(set(smile_quotes(problem).maturity.tolist()), 32)


def book_of(problem, targets, grid):
    book = hedge_book(problem, targets, grid)
    assert book is not None
    return book


def model(readout=Readout.MIXING, **options):
    return SLiSDE(16, 3, 2, readout=readout, initial_value=1.0, key=jax.random.key(0), **options)


@pytest.mark.parametrize("readout", [Readout.MARTINGALE, Readout.MIXING])
def test_profits_have_mean_zero_and_take_most_of_the_variance(problem, grid, readout):
    quotes = smile_quotes(problem)
    book = book_of(problem, list(range(len(problem.targets))), grid)
    batch = model(readout).draw(grid, PATHS, key=jax.random.key(1))
    profits = np.asarray(book(batch), np.float64)[:, quotes.index]
    payoffs = problem.evaluator()(batch, jnp.asarray(grid.times))
    payoffs = np.asarray(payoffs, np.float64)[:, quotes.index]
    error = profits.std(axis=0) / PATHS**0.5
    assert np.all(np.abs(profits.mean(axis=0)) <= 4.5 * error)  # many quotes at once
    ratio = payoffs.var(axis=0) / (payoffs - profits).var(axis=0)
    assert np.median(ratio) > 2.0


def test_what_is_no_option_is_not_hedged(problem, grid):
    forwards = [
        index
        for index, target in enumerate(problem.targets)
        if isinstance(target.functional, Forward)
    ]
    book = book_of(problem, list(range(len(problem.targets))), grid)
    profits = book(model().draw(grid, 16, key=jax.random.key(1)))
    assert forwards
    assert not np.any(profits[:, np.array(forwards)])


def test_a_put_is_hedged_as_the_call_less_the_forward(problem, grid):
    quotes = smile_quotes(problem)
    book = book_of(problem, quotes.index.tolist(), grid)
    flipped = tuple(replace(each, forwards=0.0 * each.forwards) for each in book.maturities)
    batch = drawn(model(Readout.MARTINGALE).draw(grid, 64, key=jax.random.key(1)))
    moved = np.asarray(replace(book, maturities=flipped)(batch) - book(batch))
    nodes = [int(np.argmin(np.abs(grid.times - each))) for each in quotes.maturity]
    forward = np.asarray(batch)[:, nodes] - 1.0
    np.testing.assert_allclose(moved, np.where(quotes.is_call, 0.0, forward), atol=2e-6)


def test_slopes_do_not_see_the_hedges(problem, grid):
    network = model()
    weights = start(network, problem, TrainSettings()).weights

    def slope(hedged):
        objective = Objective(network, problem, grid, TrainSettings(hedged=hedged))

        def total(weights):
            batch = objective._draw(weights, 64, jax.random.key(2))
            samples, _ = objective._samples(
                objective.evaluator, batch, weights, None, jax.random.key(2)
            )
            return jnp.sum(samples)

        return jax.value_and_grad(total)(weights)

    (plain, plain_slope), (hedged, hedged_slope) = slope(False), slope(True)
    assert plain != hedged
    for one, other in zip(jax.tree.leaves(plain_slope), jax.tree.leaves(hedged_slope), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_only_martingales_of_known_forwards_are_hedged(problem, grid):
    grown = Objective(model(growth=True), problem, grid, TrainSettings(hedged=True))
    assert grown.book is None
    other = Problem([Target(Forward(1.0), 1.0)], 1.0)
    assert hedge_book(other, [0], TimeGrid.uniform(1.0, 4)) is None
