"""Arbitrage in a model's prices: found where it is, and not where noise makes it."""

from dataclasses import replace

import numpy as np
import pytest

from slisde.data.chain import Violation
from slisde.data.model_arbitrage import model_arbitrage
from slisde.data.smile import SmileQuotes, smile_quotes
from slisde.data.surface.market import market_problem
from tests.data.surface.chains import make_chain

BATCHES = 32


@pytest.fixture(scope="module")
def quotes() -> SmileQuotes:
    return smile_quotes(market_problem(make_chain(step=100.0)))


def repeated(prices):
    return np.tile(prices, (BATCHES, 1))


def moved(quotes, maturity, log_moneyness, change):
    """Return batches in which the price nearest to a place is another one."""
    distance = np.abs(quotes.log_moneyness - log_moneyness) + 1e3 * np.abs(
        quotes.maturity - maturity
    )
    prices = quotes.price.copy()
    prices[np.argmin(distance)] += change
    return repeated(prices)


def test_a_surface_without_arbitrage_has_none(quotes):
    found = model_arbitrage(repeated(quotes.price), quotes)
    assert found.count == 0
    assert found.largest == 0.0
    strikes = [np.sum(quotes.maturity == maturity) for maturity in np.unique(quotes.maturity)]
    assert found.checked > sum(2 * (count - 1) + count - 2 for count in strikes)


def test_each_kind_is_found_and_measured(quotes):
    first, *_, last = np.unique(quotes.maturity)
    dear = model_arbitrage(moved(quotes, first, 0.2, 0.05), quotes)
    assert dear.found[Violation.MONOTONE] > 0
    assert dear.found[Violation.CONVEX] > 0
    assert dear.found[Violation.CALENDAR] > 0
    assert 0.04 < dear.largest <= 0.05
    cheap = model_arbitrage(moved(quotes, last, -0.2, -0.002), quotes)
    assert cheap.found[Violation.MONOTONE] == 0
    assert cheap.found[Violation.CONVEX] == 2  # both neighbours stand above their chords


def test_expiries_in_the_wrong_order_are_calendar_arbitrage(quotes):
    reversed_time = replace(quotes, maturity=quotes.maturity.max() - quotes.maturity + 0.1)
    found = model_arbitrage(repeated(quotes.price), reversed_time).found
    assert found[Violation.CALENDAR] > 10
    assert found[Violation.MONOTONE] == found[Violation.CONVEX] == 0


def test_what_noise_explains_does_not_count(quotes):
    random = np.random.default_rng(0)
    noise = 3e-3 * random.standard_normal((BATCHES, quotes.price.size))
    batches = quotes.price + noise
    mean = model_arbitrage(repeated(batches.mean(axis=0)), quotes)
    assert mean.count > 10
    assert model_arbitrage(batches, quotes).count == 0


def test_errors_that_prices_share_are_no_excuse(quotes):
    shared = 1e-2 * np.random.default_rng(1).standard_normal((BATCHES, 1))
    maturity = float(np.unique(quotes.maturity)[-1])
    broken = moved(quotes, maturity, 0.1, 1e-3) + shared
    assert model_arbitrage(broken, quotes).found[Violation.CONVEX] > 0


def test_a_call_and_a_put_of_one_strike_are_one_point(quotes):
    both = {name: np.concatenate([column] * 2) for name, column in vars(quotes).items()}
    both["is_call"] = np.concatenate([quotes.is_call, ~quotes.is_call])
    doubled = SmileQuotes(**both)
    stale = np.zeros(quotes.price.size)  # in the money, and looked at by nobody
    found = model_arbitrage(repeated(np.concatenate([quotes.price, stale])), doubled)
    assert found == model_arbitrage(repeated(quotes.price), quotes)
