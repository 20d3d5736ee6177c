"""QuantLib's side of the parametric models: quotes as its helpers, and its optimiser and prices."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from slisde.errors import SlisdeError

# QuantLib's Gauss–Laguerre rule is quick, has at most 192 nodes and errs by 1e-5 where the price
# has hardly moved: a descent uses it, but is judged by the adaptive rule that also makes prices.
TOLERANCE, EVALUATIONS = 1e-10, 100_000
ITERATIONS, PATIENCE, PRECISION = 60, 10, 1e-8


class Market:
    """A forward of 1 and zero rates, on a day that no one has reached.

    What has expired is decided by QuantLib's evaluation date, which is global; seen from a far day
    nothing has, whatever that date is, and it need not be touched.
    """

    def __init__(self):
        self.ql: Any = _quantlib()
        self.today = self.ql.Date(1, 1, 2100)
        self.rates = self.ql.YieldTermStructureHandle(
            self.ql.FlatForward(self.today, 0.0, self.ql.Actual365Fixed())
        )
        self.forward = self.ql.QuoteHandle(self.ql.SimpleQuote(1.0))

    def model(self, parameters: Sequence[float]) -> Any:
        """Return Heston's model for five parameters and Bates' for eight."""
        theta, kappa, sigma, rho, v0, *jumps = parameters
        heston = (self.rates, self.rates, self.forward, v0, kappa, theta, sigma, rho)
        if not jumps:
            return self.ql.HestonModel(self.ql.HestonProcess(*heston))
        mean, deviation, intensity = jumps
        return self.ql.BatesModel(self.ql.BatesProcess(*heston, intensity, mean, deviation))

    def engine(self, model: Any, nodes: int | None = None) -> Any:
        """Return what prices options, by Gauss–Laguerre with so many nodes or adaptively."""
        accuracy = (TOLERANCE, EVALUATIONS) if nodes is None else (nodes,)
        if isinstance(model, self.ql.BatesModel):
            return self.ql.BatesEngine(model, *accuracy)
        return self.ql.AnalyticHestonEngine(model, *accuracy)

    def time_values(
        self, parameters: Sequence[float], days: Sequence[int], strikes: Sequence[float]
    ) -> Float[np.ndarray, " quote"]:
        """Return the prices of the options that are out of the money."""
        engine = self.engine(self.model(parameters))
        values = []
        for day, strike in zip(days, strikes, strict=True):
            kind = self.ql.Option.Call if strike >= 1.0 else self.ql.Option.Put
            exercise = self.ql.EuropeanExercise(self.today + day)
            option = self.ql.VanillaOption(self.ql.PlainVanillaPayoff(kind, strike), exercise)
            option.setPricingEngine(engine)
            values.append(option.NPV())
        return np.array(values)

    def book(
        self,
        days: Int[np.ndarray, " quote"],
        strike: Float[np.ndarray, " quote"],
        implied_vol: Float[np.ndarray, " quote"],
        weight: Float[np.ndarray, " quote"],
    ) -> "Book":
        """Return quotes to calibrate to."""
        helpers = [
            self.ql.HestonModelHelper(
                self.ql.Period(day, self.ql.Days),
                self.ql.NullCalendar(),
                1.0,
                level,
                self.ql.QuoteHandle(self.ql.SimpleQuote(vol)),
                self.rates,
                self.rates,
                self.ql.BlackCalibrationHelper.ImpliedVolError,
            )
            for day, level, vol in zip(
                days.tolist(), strike.tolist(), implied_vol.tolist(), strict=True
            )
        ]
        return Book(self, helpers, weight)


class Book:
    """Weighted quotes, as QuantLib's calibration helpers.

    Args:
        market: where they are priced.
        helpers: the quotes, whose error is the one in implied volatility.
        weight: of the squared errors.
    """

    def __init__(self, market: Market, helpers: list, weight: Float[np.ndarray, " quote"]):
        self.market, self.helpers, self.weight = market, helpers, weight

    def descend(self, start: Sequence[float], nodes: int) -> list[float]:
        """Return where Levenberg–Marquardt ends."""
        ql, model = self.market.ql, self.market.model(start)
        self._price_by(self.market.engine(model, nodes))
        model.calibrate(
            self.helpers,
            ql.LevenbergMarquardt(PRECISION, PRECISION, PRECISION),
            ql.EndCriteria(ITERATIONS, PATIENCE, PRECISION, PRECISION, PRECISION),
            ql.NoConstraint(),
            self.weight.tolist(),
        )
        return list(model.params())

    def objective(self, parameters: Sequence[float]) -> float:
        """Return the weighted mean of the squared errors in implied volatility."""
        self._price_by(self.market.engine(self.market.model(parameters)))
        errors = np.array([helper.calibrationError() for helper in self.helpers])
        return float(np.average(errors**2, weights=self.weight))

    def _price_by(self, engine: Any) -> None:
        for helper in self.helpers:
            helper.setPricingEngine(engine)


def _quantlib() -> Any:
    try:
        import QuantLib
    except ModuleNotFoundError as error:
        raise SlisdeError(
            'Heston and Bates are calibrated by QuantLib: pip install "slisde[finance]".'
        ) from error
    return QuantLib
