"""Fits in volatilities, of prices whose volatilities are known."""

from dataclasses import replace

import numpy as np
import pytest

from slisde.calibration.estimate import BATCHES, Estimate
from slisde.calibration.smile_fit import smile_fit
from slisde.data.surface.market import market_problem
from slisde.data.surface.paper import paper_problem
from tests.data.surface.chains import black_price, make_chain, smile

PATHS = 3_200
ERROR = 2e-5


@pytest.fixture(scope="module")
def problem():
    return market_problem(make_chain(step=200.0))


def estimate(problem, shift=0.0):
    """Return prices of a smile that is a volatility off, all with one standard error."""
    prices = [target.value for target in problem.targets]
    for index, target in enumerate(problem.targets):
        strike = getattr(target.functional, "strike", None)
        if strike is not None:
            deviation = (smile(np.log(strike)) + shift) * target.functional.maturity**0.5
            sign = 1.0 if strike >= 1.0 else -1.0
            prices[index] = float(black_price(strike, 1.0, deviation, sign))
    mean = np.array(prices)
    variance = np.full(mean.size, ERROR**2 * PATHS)
    return Estimate(problem, PATHS, mean, variance, np.tile(mean, (BATCHES, 1)))


def test_a_problem_without_forwards_has_no_smile():
    other = replace(paper_problem(make_chain(step=200.0)), forwards={})
    values = other.values
    given = Estimate(other, PATHS, values, values, np.tile(values, (BATCHES, 1)))
    assert smile_fit(given) is None


def test_errors_and_scores_are_in_vol_points(problem):
    fit = smile_fit(estimate(problem, 0.01))
    assert fit is not None
    np.testing.assert_allclose(fit.error, 1.0, rtol=1e-6)
    for maturity in (None, *fit.maturities):
        for held_out in (False, True):
            found = fit.of(maturity, held_out=held_out)
            assert found is not None
            assert found.rmse == pytest.approx(1.0, rel=1e-6)
    assert fit.arbitrage.count == 0


def test_a_band_holds_the_volatilities_of_prices_two_errors_off(problem):
    fit = smile_fit(estimate(problem))
    assert fit is not None
    assert np.all(fit.volatility.low <= fit.volatility.middle)
    assert np.all(fit.volatility.middle < fit.volatility.high)
    near = np.abs(fit.quotes.log_moneyness) < 0.05
    width = (fit.volatility.high - fit.volatility.low)[near]
    np.testing.assert_allclose(width, 4.0 * ERROR / fit.quotes.vega[near], rtol=1e-3)
    np.testing.assert_allclose(fit.noise, 100.0 * ERROR / fit.quotes.vega, rtol=1e-12)
    rows = (fit.quotes.maturity == fit.maturities[0]) & fit.quotes.held_out
    expected = np.sqrt(np.mean(fit.noise[rows] ** 2))
    assert fit.noise_of(fit.maturities[0], held_out=True) == pytest.approx(expected)
