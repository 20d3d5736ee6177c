"""Smiles and densities of a run between the quotes."""

import numpy as np
import pytest

from slisde.calibration.estimator import Estimator
from slisde.calibration.smile_fit import market_quotes
from slisde.data.implied_vol import implied
from slisde.data.surface.market import market_problem
from slisde.experiments.market_law import market_law
from slisde.experiments.pricing import price_run
from slisde.functionals.terminal import Call, Put
from tests.data.surface.chains import make_chain
from tests.experiments.untrained import untrained

PATHS = 4_096


@pytest.mark.parametrize("readout", ["mixing", "martingale"])
def test_densities_are_those_of_the_models_law(readout):
    fitted = untrained(market_problem(make_chain(step=400.0)), readout=readout)
    quotes = market_quotes(fitted.problem)
    assert quotes is not None
    laws = market_law(fitted, quotes, PATHS)
    assert [law.maturity for law in laws] == np.unique(quotes.maturity).tolist()
    for law in laws:
        assert np.trapezoid(law.density, law.place) == pytest.approx(1.0, abs=0.02)
        assert np.trapezoid(law.density * law.place, law.place) == pytest.approx(1.0, abs=0.02)
        assert np.all(law.density_error >= 0.0)


def test_a_smile_has_the_volatilities_of_the_models_prices():
    fitted = untrained(market_problem(make_chain(step=400.0)), readout="mixing")
    quotes = market_quotes(fitted.problem)
    assert quotes is not None
    law = market_law(fitted, quotes, PATHS)[-1]
    inner = (law.strike > 0.8) & (law.strike < 1.2)
    assert np.all(law.volatility.low[inner] < law.volatility.middle[inner])
    assert np.all(law.volatility.middle[inner] < law.volatility.high[inner])
    chosen = np.flatnonzero(inner)
    functionals = [
        (Call if k >= 1.0 else Put)(law.maturity, k) for k in law.strike[chosen].tolist()
    ]
    prices = price_run(fitted, functionals, PATHS, estimator=Estimator.HEDGED).mean
    columns = (law.strike[chosen], np.full(chosen.size, law.maturity), law.strike[chosen] >= 1.0)
    expected = implied(prices, *columns).volatility
    np.testing.assert_allclose(law.volatility.middle[chosen], expected, rtol=1e-4)


def test_puts_and_calls_of_a_martingale_meet_at_the_forward():
    fitted = untrained(market_problem(make_chain(step=400.0)), readout="mixing")
    call, put = price_run(
        fitted, [Call(0.5, 1.0), Put(0.5, 1.0)], 256, estimator=Estimator.HEDGED
    ).mean
    assert call == pytest.approx(put, abs=1e-6)
