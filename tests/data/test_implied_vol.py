"""Implied volatility against a root finder on prices by quadrature."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import elementwise

from slisde.data.implied_vol import implied, implied_volatility
from slisde.functionals import black
from tests.data.lognormal import log_call

pytestmark = pytest.mark.usefixtures("exact")

MATURITY = 0.25
STRIKES = np.exp(np.array([-2.0, -0.7, -0.3, -0.1, -0.02, 0.0, 0.01, 0.08, 0.3, 0.9]))
DEVIATIONS = np.array([2e-3, 0.015, 0.06, 0.2, 0.7, 2.5])


def quotes():
    """Return strikes, deviations, whether it is a call, and log prices out of the money."""
    strike, deviation = (part.ravel() for part in np.meshgrid(STRIKES, DEVIATIONS))
    is_call = strike >= 1.0
    low, high = np.where(is_call, 1.0, strike), np.where(is_call, strike, 1.0)
    logs = log_call(low, high, deviation)
    held = logs > np.log(1e-290)
    return strike[held], deviation[held], is_call[held], logs[held]


def test_deep_out_of_the_money_it_agrees_with_a_root_finder_to_ten_digits():
    strike, deviation, is_call, logs = quotes()
    assert logs.min() < np.log(1e-100)
    found = implied_volatility(np.exp(logs), strike, MATURITY, call=is_call)
    low, high = np.where(is_call, 1.0, strike), np.where(is_call, strike, 1.0)
    root = elementwise.find_root(
        lambda s, f, k, target: log_call(f, k, s) - target,
        (1e-3 * np.ones_like(strike), 5.0 * np.ones_like(strike)),
        args=(low, high, logs),
        tolerances={"xrtol": 1e-14},
    )
    assert np.all(root.success)
    np.testing.assert_allclose(root.x, deviation, rtol=1e-11)
    np.testing.assert_allclose(found, root.x / np.sqrt(MATURITY), rtol=1e-10)


def test_options_in_the_money_are_converted_by_parity():
    strike, deviation, is_call, logs = quotes()
    price = np.exp(logs) + np.abs(1.0 - strike)
    known = np.exp(logs) > 1e-5
    found = implied_volatility(price[known], strike[known], MATURITY, call=~is_call[known])
    np.testing.assert_allclose(found, deviation[known] / np.sqrt(MATURITY), rtol=1e-9)


def test_prices_and_strikes_may_be_in_any_unit():
    strike, deviation, is_call, logs = quotes()
    found = implied_volatility(
        25_280.0 * np.exp(logs), 25_280.0 * strike, MATURITY, call=is_call, forward=25_280.0
    )
    np.testing.assert_allclose(found, deviation / np.sqrt(MATURITY), rtol=1e-9)


def test_large_deviations_are_found_too():
    deviation = np.array([4.0, 6.0, 8.0])
    for strike in (0.2, 1.0, 1.0001, 30.0):
        price = black.call(1.0, strike, deviation**2)
        found = implied_volatility(price, strike, 1.0, call=True)
        np.testing.assert_allclose(found, deviation, rtol=1e-9)


@pytest.mark.parametrize("call", [True, False])
def test_there_is_no_volatility_outside_the_bounds_of_the_price(call):
    intrinsic, bound = (0.2, 1.0) if call else (0.0, 0.8)
    prices = np.array([np.nan, -0.01, intrinsic - 1e-6, bound, bound + 0.1, np.inf])
    found = implied_volatility(prices, 0.8, 0.5, call=call)
    assert np.all(np.isnan(found))
    assert implied_volatility(0.0, 1.2, 0.5, call=True) == 0.0
    assert implied_volatility(0.0, 0.8, 0.5, call=False) == 0.0


def test_the_derivative_is_one_over_vega_and_moves_with_the_strike():
    strike, deviation, is_call, logs = quotes()
    moderate = logs > np.log(1e-12)
    strike, deviation, is_call = strike[moderate], deviation[moderate], is_call[moderate]
    price = np.exp(logs[moderate])

    def volatility(p, k, f):
        return implied_volatility(p, k, MATURITY, call=is_call, forward=f)

    ones = np.ones_like(strike)
    _, in_price = jax.jvp(lambda p: volatility(p, strike, ones), (price,), (ones,))
    vega = black.vega(1.0, strike, deviation**2) * np.sqrt(MATURITY)
    np.testing.assert_allclose(in_price, 1.0 / vega, rtol=1e-8)
    # The unit does not matter: by Euler's identity the three slopes add up to nothing.
    _, total = jax.jvp(volatility, (price, strike, ones), (price, strike, ones))
    np.testing.assert_allclose(total * vega / price, 0.0, atol=1e-8)
    shift = 1e-6
    _, in_strike = jax.jvp(lambda k: volatility(price, k, ones), (strike,), (ones,))
    moved = (
        black.call(1.0, strike + shift, deviation**2),
        black.put(1.0, strike + shift, deviation**2),
    )
    back = (
        black.call(1.0, strike - shift, deviation**2),
        black.put(1.0, strike - shift, deviation**2),
    )
    slope = np.where(is_call, moved[0] - back[0], moved[1] - back[1]) / (2.0 * shift)
    wide = deviation > 0.01
    np.testing.assert_allclose((in_strike * vega)[wide], -slope[wide], rtol=1e-4, atol=1e-8)


def test_gradients_of_others_survive_a_quote_without_volatility():
    strike = jnp.array([0.9, 0.9, 0.9])

    def total(price):
        found = implied_volatility(price, strike, 0.5, call=False)
        return jnp.sum(jnp.where(jnp.isnan(found), 0.0, found))

    gradient = jax.grad(total)(jnp.array([0.02, -0.1, 2.0]))
    assert np.all(np.isfinite(gradient))
    assert gradient[0] > 0.0
    assert np.all(gradient[1:] == 0.0)


def test_single_precision_gives_single_precision():
    strike, deviation, is_call, logs = quotes()
    held = logs > np.log(1e-30)
    with jax.enable_x64(False):
        found = implied_volatility(np.exp(logs[held]), strike[held], MATURITY, call=is_call[held])
    assert found.dtype == jnp.float32
    allowed = 1e-5 + 3e-7 / deviation[held]
    error = np.abs(np.asarray(found, float) * np.sqrt(MATURITY) / deviation[held] - 1.0)
    assert np.all(error <= allowed)


def test_quotes_are_inverted_in_double_precision_whatever_jax_is_set_to():
    strike, deviation, is_call, logs = quotes()
    with jax.enable_x64(False):
        volatility, vega = implied(np.exp(logs), strike, np.full_like(strike, MATURITY), is_call)
    assert volatility.dtype == np.float64
    np.testing.assert_allclose(volatility, deviation / np.sqrt(MATURITY), rtol=1e-10)
    expected = black.vega(1.0, strike, deviation**2) * np.sqrt(MATURITY)
    np.testing.assert_allclose(vega, expected, rtol=1e-6)
