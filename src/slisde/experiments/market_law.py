"""The law of a fitted run at the expiries of its quotes: smiles between the strikes, and densities."""

import numpy as np
from jaxtyping import Float

from slisde.calibration.estimator import Estimator
from slisde.calibration.smile_fit import ExpiryLaw, VolatilityBand, volatility_band
from slisde.data.implied_vol import implied
from slisde.data.smile import SmileQuotes, Unit
from slisde.experiments.job import FittedRun
from slisde.experiments.pricing import price_run
from slisde.functionals.density import Density
from slisde.functionals.terminal import Call, Put

PATHS = 16_384
STRIKES = 41
"""Strikes of a smile, evenly spaced between the lowest and the highest quoted one."""
PLACES = 241
"""Places of a density."""
REACH = 7.0
"""Standard deviations of log Y, at the volatility at the money, that a density reaches at least."""


def market_law(fitted: FittedRun, quotes: SmileQuotes, paths: int = PATHS) -> list[ExpiryLaw]:
    """Return the law at every expiry that has a volatility, from paths of its own.

    Prices of a martingale are hedged: puts and calls then meet at the forward, whatever the noise.
    """
    maturities = np.unique(quotes.maturity[quotes.volatility > 0.0]).tolist()
    strikes = [_strikes(quotes, maturity) for maturity in maturities]
    places = [_places(quotes, maturity) for maturity in maturities]
    units = [_unit(quotes, maturity) for maturity in maturities]
    functionals = []
    for maturity, strike, place, unit in zip(maturities, strikes, places, units, strict=True):
        level = unit.forward
        functionals += [(Call if k >= 1.0 else Put)(maturity, level * k) for k in strike.tolist()]
        width = _bandwidth(quotes, maturity, paths)
        functionals += [Density(maturity, level * x, width) for x in place.tolist()]
    estimator = Estimator.HEDGED if fitted.model.is_martingale else Estimator.CONDITIONAL
    prices = price_run(fitted, functionals, paths, estimator=estimator)
    shape = (len(maturities), STRIKES + PLACES)
    return [
        ExpiryLaw(
            maturity,
            strike,
            _smile(mean[:STRIKES] / unit.price, error[:STRIKES] / unit.price, strike, maturity),
            place,
            unit.forward * mean[STRIKES:],
            unit.forward * error[STRIKES:],
        )
        for maturity, strike, place, unit, mean, error in zip(
            maturities,
            strikes,
            places,
            units,
            prices.mean.reshape(shape),
            prices.standard_error.reshape(shape),
            strict=True,
        )
    ]


def _smile(
    price: Float[np.ndarray, " strike"],
    error: Float[np.ndarray, " strike"],
    strike: Float[np.ndarray, " strike"],
    maturity: float,
) -> VolatilityBand:
    columns = (strike, np.full(strike.size, maturity), strike >= 1.0)
    # Out of the money the intrinsic value is zero, and a price below it has no volatility left.
    return volatility_band(
        price, error, lambda prices: implied(np.maximum(prices, 0.0), *columns).volatility
    )


def _unit(quotes: SmileQuotes, maturity: float) -> Unit:
    row = np.argmax(quotes.maturity == maturity)
    return Unit(float(quotes.forward[row]), float(quotes.unit[row]))


def _strikes(quotes: SmileQuotes, maturity: float) -> Float[np.ndarray, " strike"]:
    quoted = np.exp(quotes.log_moneyness[quotes.maturity == maturity])
    return np.linspace(quoted.min(), quoted.max(), STRIKES)


def _places(quotes: SmileQuotes, maturity: float) -> Float[np.ndarray, " place"]:
    reach = REACH * _deviation(quotes, maturity)
    quoted = quotes.log_moneyness[quotes.maturity == maturity]
    low, high = min(-reach, quoted.min()), max(reach, quoted.max())
    return np.exp(np.linspace(low, high, PLACES))


def _bandwidth(quotes: SmileQuotes, maturity: float, paths: int) -> float:
    """Return Silverman's bandwidth of log Y, at the volatility at the money."""
    return 0.9 * _deviation(quotes, maturity) * paths**-0.2


def _deviation(quotes: SmileQuotes, maturity: float) -> float:
    rows = np.flatnonzero((quotes.maturity == maturity) & (quotes.volatility > 0.0))
    nearest = rows[np.argmin(np.abs(quotes.log_moneyness[rows]))]
    return float(quotes.volatility[nearest]) * maturity**0.5
