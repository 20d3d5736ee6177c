"""Black's formula against quadrature, its identities, and its slopes where nothing is left to move."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.functionals import black
from tests.data.lognormal import log_call

DEVIATIONS = np.array([0.003, 0.02, 0.1, 0.3, 1.0, 3.0])
STRIKES = np.exp(np.array([-3.0, -1.0, -0.4, -0.1, -0.01, 0.0, 0.003, 0.05, 0.25, 0.8, 2.0]))
SMALLEST = 1e-290
HOLDS = {"float32": 1e-30, "float64": SMALLEST}


def cases():
    strike, deviation = (part.ravel() for part in np.meshgrid(STRIKES, DEVIATIONS))
    exact = np.exp(log_call(np.minimum(1.0, strike), np.maximum(1.0, strike), deviation))
    return strike, deviation, strike >= 1.0, exact


@pytest.mark.usefixtures("exact")
def test_prices_out_of_the_money_keep_their_digits_down_to_the_smallest():
    strike, deviation, is_call, exact = cases()
    found = np.where(
        is_call,
        black.call(1.0, strike, deviation**2),
        black.put(1.0, strike, deviation**2),
    )
    held = exact > SMALLEST
    assert held.sum() > 40
    assert exact[held].min() < 1e-100
    np.testing.assert_allclose(found[held], exact[held], rtol=1e-11)
    assert np.all(found[~held] < 2.0 * SMALLEST)


def test_single_precision_loses_few_digits_far_out_of_the_money():
    strike, deviation, is_call, exact = cases()
    operands = [jnp.asarray(x, jnp.float32) for x in (1.0, strike, deviation**2)]
    found = np.where(is_call, black.call(*operands), black.put(*operands))
    assert found.dtype == np.float32
    assert np.all(np.abs(found - exact) <= 2e-7)
    # The rounding of the strike itself moves d by 6e-8/s and the logarithm of the price by d times it.
    distance = np.abs(np.log(strike)) / deviation
    allowed = 1e-5 + 1e-6 * (1.0 + distance) / np.minimum(deviation, 1.0)
    far = (exact > HOLDS["float32"]) & (distance > 1.0)
    assert exact[far].min() < 1e-15
    assert np.all(np.abs(found[far] / exact[far] - 1.0) <= allowed[far])


@pytest.mark.usefixtures("exact")
def test_calls_and_puts_obey_parity_and_digitals_fill_the_line():
    strike, deviation, _, _ = cases()
    operands = (1.3, 1.3 * strike, deviation**2)
    parity = black.call(*operands) - black.put(*operands)
    np.testing.assert_allclose(parity, 1.3 - 1.3 * strike, rtol=1e-15, atol=1e-15)
    total = black.digital_above(*operands) + black.digital_below(*operands)
    np.testing.assert_allclose(total, 1.0, rtol=1e-15)


@pytest.mark.usefixtures("exact")
def test_prices_are_linear_in_the_unit():
    strike, deviation, _, _ = cases()
    one = black.put(1.0, strike, deviation**2)
    many = black.put(25_280.0, 25_280.0 * strike, deviation**2)
    np.testing.assert_allclose(many, 25_280.0 * one, rtol=1e-9)


def slopes(function, forward, strike, variance):
    partial = jax.jit(jax.vmap(jax.grad(function, argnums=(0, 1, 2))))
    return partial(*black.operands(forward, strike, variance))


@pytest.mark.usefixtures("exact")
def test_slopes_in_strike_are_digitals_and_in_the_deviation_vega():
    strike, deviation, _, _ = cases()
    operands = (1.0, strike, deviation**2)
    for price, sign, digital in (
        (black.call, -1.0, black.digital_above),
        (black.put, 1.0, black.digital_below),
    ):
        _, in_strike, in_variance = slopes(price, *operands)
        np.testing.assert_allclose(in_strike, sign * digital(*operands), rtol=1e-11)
        np.testing.assert_allclose(2.0 * deviation * in_variance, black.vega(*operands), rtol=1e-11)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(
    "function", [black.call, black.put, black.digital_above, black.digital_below, black.vega]
)
def test_derivatives_of_both_orders_agree_with_differences(function):
    points = jnp.array([[1.0, strike, 0.05] for strike in (0.7, 1.0, 1.2)])
    step = 1e-5

    def value(x):
        return function(x[0], x[1], x[2])

    for order in (value, jax.grad(value)):
        derivative, plain = jax.jit(jax.vmap(jax.jacfwd(order))), jax.jit(jax.vmap(order))
        exact = derivative(points)
        for axis in range(3):
            shift = step * jnp.eye(3)[axis][None]
            difference = (plain(points + shift) - plain(points - shift)) / (2.0 * step)
            np.testing.assert_allclose(exact[..., axis], difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "function", [black.call, black.put, black.digital_above, black.digital_below, black.vega]
)
def test_values_and_slopes_stay_finite_as_the_variance_goes_to_zero(function):
    strikes = jnp.array([0.5, 0.999, 1.0, 1.001, 2.0], jnp.float32)
    variances = jnp.array([0.0, 1e-38, 1e-20, 1e-14, 1e-13, 1e-8], jnp.float32)
    strike, variance = (part.ravel() for part in jnp.meshgrid(strikes, variances))
    assert np.all(np.isfinite(function(1.0, strike, variance)))
    for slope in slopes(function, 1.0, strike, variance):
        assert np.all(np.isfinite(slope))


@pytest.mark.parametrize("strike", [0.5, 1.0, 2.0])
def test_without_variance_only_the_intrinsic_value_is_left(strike):
    assert black.call(1.0, strike, 0.0) == max(1.0 - strike, 0.0)
    assert black.put(1.0, strike, 0.0) == max(strike - 1.0, 0.0)
    assert black.digital_above(1.0, strike, 0.0) == {0.5: 1.0, 1.0: 0.5, 2.0: 0.0}[strike]
    assert jax.grad(black.call, argnums=2)(1.0, strike, 0.0) == 0.0


def test_arguments_broadcast():
    paths, strikes = jnp.full((7, 1), 1.1), jnp.array([0.9, 1.0, 1.2])
    assert black.call(paths, strikes, 0.04).shape == (7, 3)
    assert black.digital_below(1.0, strikes, jnp.full((2, 3), 0.1)).shape == (2, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_distance_has_a_hole(dtype):
    """JAX's erfcx is NaN at one number of float32, 9.41928."""
    middle = np.array(9.419280052185059, np.float32)
    steps = np.arange(-1000, 1000, dtype=np.int32)
    z = 2**0.5 * (middle.view(np.int32) + steps).view(np.float32).astype(dtype)
    deviation = np.full(z.shape, 0.02, dtype)
    prices = black.put(np.exp(z * deviation), np.ones_like(z), deviation**2)
    assert np.all(np.isfinite(prices))
