"""Heston and Bates by QuantLib: exact surfaces are found again, and the DAX table is fitted as by others."""

import csv
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from slisde.baselines.parametric import Parametric, ParametricFit, calibrate
from slisde.data.bates import Bates, european_prices
from slisde.errors import ArgumentError, ProblemError, SlisdeError

TABLE = Path(__file__).parents[3] / "shared" / "data" / "dax_2002-07-05_vols.csv"
SPOT = 4468.17
RATES = (0.0357, 0.0349, 0.0341, 0.0355, 0.0359, 0.0368, 0.0386, 0.0401)

HESTON = Bates(0.0324, 2.03, 0.04, 0.38, -0.57)
BATES = Bates(0.0324, 2.03, 0.04, 0.38, -0.57, 0.11, -0.139, 0.15)
# 2κθ is a twelfth of σ²: what index surfaces ask for, and far from Feller's condition.
BOLD = Bates(0.02, 3.0, 0.04, 1.7, -0.75)


@pytest.fixture
def ql():
    return pytest.importorskip("QuantLib")


def surface():
    maturity, strike = np.meshgrid(np.array([49, 98, 182, 364]) / 365, np.linspace(0.7, 1.2, 11))
    return maturity.ravel(), strike.ravel()


def exact_prices(model, maturity, strike, is_call):
    prices = np.empty_like(strike)
    for each in np.unique(maturity):
        chosen = maturity == each
        values = european_prices(model, float(each), strike[chosen])
        prices[chosen] = np.where(is_call[chosen], values.call, values.put)
    return prices


def implied_vols(ql, prices, maturity, strike):
    """Return the volatilities of prices out of the money."""
    quotes = zip(prices.tolist(), maturity.tolist(), strike.tolist(), strict=True)
    return np.array(
        [
            ql.blackFormulaImpliedStdDev(
                ql.Option.Call if k >= 1.0 else ql.Option.Put, k, 1.0, price, 1.0, 0.0, 0.2, 1e-12
            )
            / math.sqrt(t)
            for price, t, k in quotes
        ]
    )


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        pytest.param(Parametric.HESTON, HESTON, id="heston"),
        pytest.param(Parametric.HESTON, BOLD, id="heston, bold"),
        pytest.param(Parametric.BATES, BATES, id="bates"),
    ],
)
def test_an_exact_surface_is_found_again(ql, kind, model):
    maturity, strike = surface()
    exact = exact_prices(model, maturity, strike, strike >= 1.0)
    vols = implied_vols(ql, exact, maturity, strike)
    fit = calibrate(kind, maturity, strike, vols)
    fitted = implied_vols(ql, fit.prices(maturity, strike, strike >= 1.0), maturity, strike)
    np.testing.assert_allclose(fitted, vols, rtol=0, atol=1e-4)
    assert fit.objective < 1e-8
    for name, value in fit.parameters.items():
        assert value == pytest.approx(getattr(model, name), rel=0.02), name


@pytest.mark.usefixtures("ql")
@pytest.mark.parametrize("model", [HESTON, BATES, BOLD], ids=["heston", "bates", "bold"])
def test_prices_are_those_of_the_characteristic_function(model):
    kind = Parametric.BATES if model.jump_intensity else Parametric.HESTON
    fit = ParametricFit(kind, {name: getattr(model, name) for name in kind.names}, 0.0, 0.0)
    maturity, strike = surface()
    for is_call in (np.ones(strike.size, bool), np.zeros(strike.size, bool)):
        exact = exact_prices(model, maturity, strike, is_call)
        prices = fit.prices(maturity, strike, is_call)
        np.testing.assert_allclose(prices, exact, rtol=0, atol=1e-8)


def test_a_quote_without_weight_is_not_seen(ql):
    maturity, strike = surface()
    exact = exact_prices(HESTON, maturity, strike, strike >= 1.0)
    vols = implied_vols(ql, exact, maturity, strike)
    vols[7] += 0.2
    weight = np.ones_like(vols)
    weight[7] = 0.0
    assert calibrate(Parametric.HESTON, maturity, strike, vols, weight).objective < 1e-8
    weight[7] = 1.0
    assert calibrate(Parametric.HESTON, maturity, strike, vols, weight).objective > 1e-4


def dax_of_2002(days_used):
    """Return the table with its days replaced, at the zero rates of its own days."""
    if not TABLE.exists():
        pytest.skip("the shared option snapshots are not beside the project")
    with TABLE.open() as file:
        header, *rows = csv.reader(file)
    table_days = [int(name.removesuffix("d")) for name in header[1:]]
    rates = np.interp(days_used, table_days, RATES)
    maturity = np.array(days_used) / 365
    forwards = SPOT * np.exp(rates * maturity)
    values = np.array(rows, dtype=float)
    strike = values[:, :1] / forwards
    return np.broadcast_to(maturity, strike.shape).ravel(), strike.ravel(), values[:, 1:].ravel()


@pytest.mark.usefixtures("ql")
@pytest.mark.parametrize(
    ("kind", "published", "tolerance"),
    [(Parametric.HESTON, 177.2, 1.0), (Parametric.BATES, 36.6, 2.5)],
)
def test_the_dax_table_is_fitted_as_in_quantlibs_own_tests(kind, published, tolerance):
    # Expected values and tolerances of QuantLib's test suite, which rounds maturities to weeks.
    maturity, strike, vols = dax_of_2002([14, 42, 77, 168, 259, 343, 525, 700])
    fit = calibrate(kind, maturity, strike, vols)
    assert vols.size == 104
    assert vols.size * 100.0**2 * fit.objective == pytest.approx(published, abs=tolerance)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"maturity": 1 / 16}, "`maturity` must be whole days over 365, got 0.0625: QuantLib"),
        ({"maturity": 0.0}, "`maturity` must be whole days over 365, got 0.0"),
        ({"strike": -1.0}, "`strike` must be positive, got -1.0"),
        ({"implied_vol": math.nan}, "`implied_vol` must be positive, got nan"),
        ({"weight": -1.0}, "`weight` must be at least 0, got -1.0"),
    ],
)
def test_quotes_outside_their_domain_are_refused(change, message):
    quotes = {"maturity": 1.0, "strike": 1.0, "implied_vol": 0.2, "weight": 1.0} | change
    with pytest.raises(ArgumentError, match=message):
        calibrate(Parametric.HESTON, **{name: np.full(9, value) for name, value in quotes.items()})


def test_fewer_quotes_than_parameters_are_refused():
    with pytest.raises(ProblemError, match="bates has 8 parameters: 7 quotes"):
        calibrate(Parametric.BATES, np.ones(7), np.linspace(0.8, 1.2, 7), np.full(7, 0.2))


def test_without_quantlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "QuantLib", None)
    with pytest.raises(SlisdeError, match=r'pip install "slisde\[finance\]"'):
        calibrate(Parametric.HESTON, np.ones(9), np.linspace(0.8, 1.2, 9), np.full(9, 0.2))
