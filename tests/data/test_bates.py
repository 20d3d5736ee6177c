"""Prices of Bates' model against published values, limits with a formula, and QuantLib."""

import math

import numpy as np
import pytest
from scipy.stats import norm, poisson

from slisde.data.bates import Bates, characteristic_function, european_prices, simulate
from slisde.errors import ArgumentError

INDEX = Bates(0.0324, 2.03, 0.04, 0.38, -0.57, 0.11, -0.139, 0.15)
STRIKES = np.linspace(0.5, 1.6, 23)


def black(strikes, variance, forward=1.0):
    """Return Black's call and the probability of ending above the strike."""
    deviation = variance**0.5
    d2 = np.log(forward / strikes) / deviation - 0.5 * deviation
    return forward * norm.cdf(d2 + deviation) - strikes * norm.cdf(d2), norm.cdf(d2)


def test_calls_and_puts_are_lewis_reference_prices_of_hestons_model():
    # A. Lewis, reference prices of 2019: S = 100, r = 1 %, q = 2 %, T = 1.
    model = Bates(0.04, 4.0, 0.25, 1.0, -0.5)
    strikes = np.array([80.0, 90.0, 100.0, 110.0, 120.0])
    puts = [
        7.958878113256768,
        12.017966707346305,
        17.055270961270109,
        23.017825898442801,
        29.811026202682472,
    ]
    calls = [
        26.774758743998854,
        20.933349000596710,
        16.070154917028834,
        12.132211516709845,
        9.024913483457836,
    ]
    forward, discount = 100.0 * math.exp(-0.01), math.exp(-0.01)
    prices = european_prices(model, 1.0, strikes / forward)
    np.testing.assert_allclose(discount * forward * prices.put, puts, rtol=0, atol=2e-12)
    np.testing.assert_allclose(discount * forward * prices.call, calls, rtol=0, atol=2e-12)


@pytest.mark.parametrize(
    ("model", "rate", "maturity", "published"),
    [
        (Bates(0.010201, 6.21, 0.019, 0.61, -0.70), 0.0319, 1.0, 6.8061),
        (Bates(0.09, 2.0, 0.09, 1.0, -0.3), 0.05, 5.0, 34.9998),
        (
            Bates(0.008836, 3.99, 0.014, 0.27, -0.79, 0.11, math.log(0.88) - 0.5 * 0.15**2, 0.15),
            0.0319,
            5.0,
            20.1642,
        ),
    ],
)
def test_the_call_at_the_money_has_the_price_of_broadie_and_kaya(model, rate, maturity, published):
    # Broadie and Kaya (2006), Operations Research 54: S = K = 100; the last has jumps.
    strike = np.array([math.exp(-rate * maturity)])
    assert 100.0 * european_prices(model, maturity, strike).call[0] == pytest.approx(
        published, abs=5.1e-5
    )


@pytest.mark.parametrize("volatility", [1e-3, 1e-6, 1e-9])
def test_without_volatility_of_the_variance_it_is_black_scholes(volatility):
    model = Bates(0.04, 1.0, 0.04, volatility, -0.5)
    prices = european_prices(model, 0.5, STRIKES)
    call, above = black(STRIKES, 0.02)
    # The price moves by ρσ times a constant, and the digital likewise.
    np.testing.assert_allclose(prices.call, call, rtol=0, atol=1e-13 + 0.02 * volatility)
    np.testing.assert_allclose(prices.digital_above, above, rtol=0, atol=1e-13 + 0.2 * volatility)


@pytest.mark.parametrize("maturity", [1 / 16, 1.0])
def test_with_jumps_only_it_is_mertons_series(maturity):
    intensity, mean, deviation = 0.8, -0.15, 0.2
    model = Bates(0.03, 1.0, 0.03, 1e-10, 0.0, intensity, mean, deviation)
    compensator = intensity * math.expm1(mean + 0.5 * deviation**2)
    call, above = np.zeros_like(STRIKES), np.zeros_like(STRIKES)
    for jumps in range(40):
        drift = jumps * (mean + 0.5 * deviation**2) - compensator * maturity
        variance = 0.03 * maturity + jumps * deviation**2
        probability = poisson.pmf(jumps, intensity * maturity)
        parts = black(STRIKES, variance, math.exp(drift))
        call, above = call + probability * parts[0], above + probability * parts[1]
    prices = european_prices(model, maturity, STRIKES)
    np.testing.assert_allclose(prices.call, call, rtol=0, atol=1e-13)
    np.testing.assert_allclose(prices.digital_above, above, rtol=0, atol=1e-12)


@pytest.mark.parametrize("maturity", [1 / 16, 1 / 4, 1.0, 5.0])
def test_twice_the_nodes_change_nothing(maturity):
    once = european_prices(INDEX, maturity, STRIKES)
    twice = european_prices(INDEX, maturity, STRIKES, order=64)
    np.testing.assert_allclose(once, twice, rtol=0, atol=2e-14)


@pytest.mark.parametrize("maturity", [1 / 16, 1.0])
def test_prices_are_those_of_a_law_with_mean_one(maturity):
    prices = european_prices(INDEX, maturity, STRIKES)
    np.testing.assert_allclose(prices.call - prices.put, 1.0 - STRIKES, rtol=0, atol=1e-15)
    np.testing.assert_allclose(prices.digital_above + prices.digital_below, 1.0, atol=1e-15)
    assert np.all(prices.put > 0.0)
    assert np.all(prices.call > 0.0)
    assert np.all(np.diff(prices.call, 2) > 0.0)
    assert np.all(np.diff(prices.digital_below) > 0.0)
    unit = characteristic_function(INDEX, np.array([0.0 + 0.0j, 0.0 - 1.0j]), maturity)
    np.testing.assert_allclose(unit, 1.0, rtol=0, atol=1e-14)


def test_a_digital_is_minus_the_slope_of_the_call_in_its_strike():
    step = 1e-4
    up, down = (european_prices(INDEX, 0.25, STRIKES + s).call for s in (step, -step))
    above = european_prices(INDEX, 0.25, STRIKES).digital_above
    # The central difference errs by h²/6 times the slope of the density, below 100 here.
    np.testing.assert_allclose(above, (down - up) / (2.0 * step), rtol=0, atol=100 * step**2 / 6)


@pytest.mark.parametrize("days", [73, 365])
def test_prices_agree_with_quantlib(days):
    ql = pytest.importorskip("QuantLib")
    today = ql.Date(2, 1, 2026)
    ql.Settings.instance().evaluationDate = today
    flat = ql.YieldTermStructureHandle(ql.FlatForward(today, 0.0, ql.Actual365Fixed()))
    spot = ql.QuoteHandle(ql.SimpleQuote(1.0))
    m = INDEX
    process = ql.BatesProcess(
        flat,
        flat,
        spot,
        m.initial_variance,
        m.mean_reversion,
        m.long_variance,
        m.variance_volatility,
        m.correlation,
        m.jump_intensity,
        m.jump_mean,
        m.jump_deviation,
    )
    engine = ql.BatesEngine(ql.BatesModel(process), 1e-12, 100_000)
    exercise = ql.EuropeanExercise(today + days)
    theirs = []
    for strike in STRIKES.tolist():
        option = ql.VanillaOption(ql.PlainVanillaPayoff(ql.Option.Call, strike), exercise)
        option.setPricingEngine(engine)
        theirs.append(option.NPV())
    ours = european_prices(INDEX, days / 365, STRIKES).call
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(INDEX, id="index"),
        # 2κθ is a tenth of σ²: the variance spends its time at zero.
        pytest.param(Bates(0.04, 0.5, 0.04, 0.63, -0.7, 0.5, -0.1, 0.1), id="variance at zero"),
    ],
)
def test_simulated_paths_have_the_exact_prices(model):
    times, paths = np.linspace(0.0, 1.0, 9), 40_000
    generator = np.random.default_rng(20260731)
    y = simulate(model, times, paths, substeps=16, generator=generator)
    assert y.shape == (paths, 9)
    np.testing.assert_array_equal(y[:, 0], 1.0)
    for node in (2, 8):
        exact = european_prices(model, times[node], np.array([0.85, 1.05]))
        for samples, value in (
            (y[:, node], 1.0),
            (np.maximum(y[:, node] - 1.05, 0.0), exact.call[1]),
            (np.maximum(0.85 - y[:, node], 0.0), exact.put[0]),
            (y[:, node] <= 0.85, exact.digital_below[0]),
        ):
            stderr = np.std(samples) / paths**0.5
            assert abs(np.mean(samples) - value) <= 4.0 * stderr


def test_jumps_fall_into_steps_by_their_length():
    times = np.array([0.0, 0.1, 1.0])
    model = Bates(1e-8, 1.0, 1e-8, 1e-6, 0.0, 2.0, 5.0, 0.0)
    y = simulate(model, times, 20_000, generator=np.random.default_rng(5))
    jumps = np.rint(np.diff(np.log(y), axis=1) / 5.0 + model.jump_compensator * np.diff(times) / 5)
    for step, mean in ((0, 0.2), (1, 1.8)):
        assert abs(jumps[:, step].mean() - mean) <= 4.0 * (mean / 20_000) ** 0.5
        assert jumps[:, step].var() == pytest.approx(mean, rel=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"initial_variance": 0.0}, "`initial_variance` must be positive and finite, got 0.0"),
        ({"correlation": -1.0}, r"`correlation` must be in \(-1, 1\), got -1.0"),
        ({"jump_intensity": -0.1}, "`jump_intensity` must be at least 0 and finite"),
        ({"jump_mean": math.nan}, "`jump_mean` must be finite"),
    ],
)
def test_parameters_outside_their_domain_are_refused(change, message):
    with pytest.raises(ArgumentError, match=message):
        Bates(**(vars(INDEX) | change))


@pytest.mark.parametrize(
    ("maturity", "strike", "message"),
    [(0.0, 1.0, "`maturity` must be longer"), (1.0, 0.0, "`strikes` must be positive")],
)
def test_a_price_that_has_no_integral_is_refused(maturity, strike, message):
    with pytest.raises(ArgumentError, match=message):
        european_prices(INDEX, maturity, np.array([strike]))
