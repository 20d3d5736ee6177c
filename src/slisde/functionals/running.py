"""Functionals of a running quantity: extremes, averages, variation (paper: app:expset)."""

import jax.numpy as jnp

from slisde.functionals.base import AbstractFunctional, Number


class RunningMaximum(AbstractFunctional):
    """max_{t ≤ T} Y_t."""

    maturity: Number

    def __call__(self, path):
        return path.running_maximum[path.node(self.maturity)]


class RunningMinimum(AbstractFunctional):
    """min_{t ≤ T} Y_t."""

    maturity: Number

    def __call__(self, path):
        return path.running_minimum[path.node(self.maturity)]


class SquaredAverage(AbstractFunctional):
    """(1/T) ∫_0^T Y_t² dt."""

    maturity: Number

    def __call__(self, path):
        return path.running_square[path.node(self.maturity)]


class Average(AbstractFunctional):
    """(1/T) ∫_0^T Y_t dt."""

    maturity: Number

    def __call__(self, path):
        return path.running_average[path.node(self.maturity)]


class AsianCall(AbstractFunctional):
    """The positive part of the average above a strike."""

    maturity: Number
    strike: Number

    def __call__(self, path):
        return jnp.maximum(path.running_average[path.node(self.maturity)] - self.strike, 0.0)


class AsianPut(AbstractFunctional):
    """The positive part of the average below a strike."""

    maturity: Number
    strike: Number

    def __call__(self, path):
        return jnp.maximum(self.strike - path.running_average[path.node(self.maturity)], 0.0)


class LookbackCall(AbstractFunctional):
    """Y_T − min_{t ≤ T} Y_t: the floating-strike lookback call."""

    maturity: Number

    def __call__(self, path):
        node = path.node(self.maturity)
        return path.values[node] - path.running_minimum[node]


class LookbackPut(AbstractFunctional):
    """max_{t ≤ T} Y_t − Y_T: the floating-strike lookback put."""

    maturity: Number

    def __call__(self, path):
        node = path.node(self.maturity)
        return path.running_maximum[node] - path.values[node]


class RealisedVariance(AbstractFunctional):
    """(1/T) Σ (Δ log Y)² on the grid; the path has to be positive."""

    maturity: Number

    def __call__(self, path):
        node = path.node(self.maturity)
        return path.log_variation[node] / path.times[node]
