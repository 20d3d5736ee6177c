"""Volatilities, smiles and prices of a run in units of the spot, measured by the forward."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.calibration.estimate import estimate
from slisde.calibration.smile_fit import market_quotes, smile_fit
from slisde.data.surface.paper import paper_problem
from slisde.experiments.market_law import market_law
from slisde.experiments.pricing import price_payoffs
from slisde.functionals.terminal import Call, Forward, Put
from tests.data.surface.chains import make_chain
from tests.experiments.untrained import untrained

PATHS = 4_096


@pytest.fixture(scope="module")
def run():
    """Return a run whose mean is the forward of the chain."""
    fitted = untrained(paper_problem(make_chain(step=100.0)), readout="mixing", growth=True)
    model = eqx.tree_at(lambda tree: tree.readout.slopes, fitted.model, jnp.full(15, 0.015))
    return replace(fitted, model=model)


def test_a_lognormal_model_has_its_volatility_whatever_the_units(run):
    fit = smile_fit(estimate(run.model, run.problem, run.grid, PATHS, key=run.keys.metrics))
    assert fit is not None
    near = np.abs(fit.quotes.log_moneyness) < 0.05
    reach = 3.0 * (fit.volatility.high - fit.volatility.middle)[near]
    assert np.all(np.abs(fit.volatility.middle[near] - 0.21) < 0.02 + reach)
    assert fit.arbitrage.count == 0


def test_smiles_and_densities_are_in_units_of_the_forward(run):
    quotes = market_quotes(run.problem)
    assert quotes is not None
    for law in market_law(run, quotes, PATHS):
        assert np.trapezoid(law.density, law.place) == pytest.approx(1.0, abs=0.02)
        assert np.trapezoid(law.density * law.place, law.place) == pytest.approx(1.0, abs=0.02)
        middle = np.argmin(np.abs(law.strike - 1.0))
        assert law.volatility.middle[middle] == pytest.approx(0.21, abs=0.02)


def test_a_price_has_a_volatility_where_the_forward_is_known(run):
    maturity, forward = max(run.problem.forwards.items())
    payoffs = [Call(maturity, forward), Put(maturity, forward), Call(0.3, 1.0), Forward(maturity)]
    (call, put, elsewhere, mean), _ = price_payoffs(run, payoffs, PATHS)
    assert call.volatility is not None
    assert put.volatility is not None
    assert elsewhere.volatility is None
    error = call.volatility.standard_error + put.volatility.standard_error
    assert abs(call.volatility.value - put.volatility.value) <= 4.0 * error
    assert mean.price.value == pytest.approx(forward, abs=4.0 * mean.price.standard_error)
