"""Bates' model: Heston's variance and lognormal jumps; exact European prices, and paths.

With the forward as unit, so that Y_0 = 1 and E[Y_t] = 1 at every t:

    dY/Y = √V dW + (e^J − 1) dN − λ E[e^J − 1] dt,   dV = κ(θ − V) dt + σ √V dB,   d⟨W, B⟩ = ρ dt,

N of intensity λ and J normal. Bates (1996), Review of Financial Studies 9.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float
from scipy.special import log1p

from slisde.errors import ArgumentError

PANEL = 4.0
"""Width of a panel of the Fourier integral; its poles are half a unit off the axis."""
NEGLIGIBLE = 1e-18
LONGEST = 2.0**15
SWITCH = 1.5
"""ψ above which the next variance is drawn from a mass at zero and an exponential."""


@dataclass(frozen=True)
class Bates:
    """Parameters per year.

    Args:
        initial_variance: V_0.
        mean_reversion: κ.
        long_variance: θ.
        variance_volatility: σ.
        correlation: ρ.
        jump_intensity: λ, zero for Heston's model.
        jump_mean: mean of the log-jump J.
        jump_deviation: standard deviation of J.
    """

    initial_variance: float
    mean_reversion: float
    long_variance: float
    variance_volatility: float
    correlation: float
    jump_intensity: float = 0.0
    jump_mean: float = 0.0
    jump_deviation: float = 0.0

    def __post_init__(self):
        for name in ("initial_variance", "mean_reversion", "long_variance", "variance_volatility"):
            value = getattr(self, name)
            _require(name, value, 0.0 < value < math.inf, "must be positive and finite")
        _require("correlation", self.correlation, abs(self.correlation) < 1.0, "must be in (-1, 1)")
        for name in ("jump_intensity", "jump_deviation"):
            value = getattr(self, name)
            _require(name, value, 0.0 <= value < math.inf, "must be at least 0 and finite")
        _require("jump_mean", self.jump_mean, math.isfinite(self.jump_mean), "must be finite")

    @property
    def jump_compensator(self) -> float:
        """λ E[e^J − 1]."""
        return self.jump_intensity * math.expm1(self.jump_mean + 0.5 * self.jump_deviation**2)


class EuropeanPrices(NamedTuple):
    """Expectations of the terminal payoffs at one maturity."""

    call: Float[np.ndarray, " strike"]
    put: Float[np.ndarray, " strike"]
    digital_above: Float[np.ndarray, " strike"]
    digital_below: Float[np.ndarray, " strike"]


def characteristic_function(
    model: Bates, u: Complex[np.ndarray, " frequency"], maturity: float
) -> Complex[np.ndarray, " frequency"]:
    """Return E[exp(iu log Y_T)] for −1 ≤ Im u ≤ 0.

    This is the form of Albrecher, Mayer, Schoutens and Tistaert (2007, "The little Heston trap"),
    whose logarithm stays on its principal branch.
    """
    kappa, sigma, T = model.mean_reversion, model.variance_volatility, maturity
    iu = 1j * u
    beta = kappa - model.correlation * sigma * iu
    d = np.sqrt(beta**2 + sigma**2 * (iu + u**2))
    # (β − d)/σ², without the cancellation that ruins it where σ is small.
    slope = -(iu + u**2) / (beta + d)
    g = sigma**2 * slope / (beta + d)
    decay = np.exp(-d * T)
    # SciPy's log1p: NumPy's loses the digits of small complex arguments.
    logarithm = log1p(g * (1.0 - decay) / (1.0 - g)) / sigma**2
    level = kappa * model.long_variance * (slope * T - 2.0 * logarithm)
    start = model.initial_variance * slope * (1.0 - decay) / (1.0 - g * decay)
    jump = np.exp(iu * model.jump_mean - 0.5 * (model.jump_deviation * u) ** 2) - 1.0
    jumps = T * (model.jump_intensity * jump - iu * model.jump_compensator)
    return np.exp(level + start + jumps)


def european_prices(
    model: Bates, maturity: float, strikes: Float[np.ndarray, " strike"], *, order: int = 32
) -> EuropeanPrices:
    """Return calls, puts and digitals by one integral along Im u = −1/2 (Lewis, 2001).

    With φ the characteristic function,

        E[(Y − K)₊] = 1 − π⁻¹ ∫₀^∞ Re(K^{1/2 − iu} φ(u − i/2)) / (u² + 1/4) du,

    and P(Y > K) is minus its derivative in K. Neither has a singularity on the path.

    Args:
        model: the parameters.
        maturity: T.
        strikes: K, in units of the forward.
        order: Gauss–Legendre nodes in each panel.
    """
    if not (np.all(np.isfinite(strikes)) and np.all(strikes > 0.0)):
        raise ArgumentError(
            "strikes", strikes.tolist(), "must be positive", "a price is never below zero"
        )
    u, weights = _nodes(_truncation(model, maturity), order)
    weighted = weights * characteristic_function(model, u - 0.5j, maturity) / np.pi
    waves = np.exp(-1j * np.log(strikes)[:, None] * u)
    call = 1.0 - np.sqrt(strikes) * (waves @ (weighted / (u**2 + 0.25))).real
    above = (waves @ (weighted / (0.5 + 1j * u))).real / np.sqrt(strikes)
    return EuropeanPrices(call, call - 1.0 + strikes, above, 1.0 - above)


def simulate(
    model: Bates,
    times: Float[np.ndarray, " node"],
    paths: int,
    *,
    substeps: int = 1,
    generator: np.random.Generator,
) -> Float[np.ndarray, "path node"]:
    """Return paths of Y by Andersen's quadratic-exponential scheme, with exact jumps.

    Andersen (2008), Journal of Computational Finance 11.

    Args:
        model: the parameters.
        times: the nodes, from 0.
        paths: number of paths.
        substeps: steps of the scheme between two nodes.
        generator: where the random numbers come from.
    """
    logs = _jumps(model, times, paths, generator)
    variance = np.full(paths, model.initial_variance)
    for node, step in enumerate(np.diff(times), start=1):
        logs[node] -= model.jump_compensator * step
        for _ in range(substeps):
            following = _next_variance(model, variance, step / substeps, generator)
            logs[node] += _log_return(model, variance, following, step / substeps, generator)
            variance = following
    return np.exp(np.cumsum(logs, axis=0)).T


def _require(name: str, value: float, holds: bool, domain: str) -> None:
    if not holds:
        raise ArgumentError(name, value, domain, "Bates' model is defined there only")


def _truncation(model: Bates, maturity: float) -> float:
    """Return where the characteristic function has fallen to nothing."""
    u = PANEL
    while u <= LONGEST:
        if abs(characteristic_function(model, np.array([u - 0.5j]), maturity)[0]) < NEGLIGIBLE:
            return u
        u *= 2.0
    raise ArgumentError(
        "maturity",
        maturity,
        "must be longer",
        "the price has hardly moved and the integral is long",
    )


@cache
def _legendre(order: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(order)


def _nodes(end: float, order: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = _legendre(order)
    starts = np.arange(0.0, end, PANEL)
    u = (starts[:, None] + 0.5 * PANEL * (1.0 + nodes)).ravel()
    return u, np.tile(0.5 * PANEL * weights, starts.size)


def _jumps(
    model: Bates, times: np.ndarray, paths: int, generator: np.random.Generator
) -> Float[np.ndarray, "node path"]:
    """Return the sum of the log-jumps in the step that ends at each node, all paths at once."""
    sums = np.zeros((times.size, paths))
    count = generator.poisson(model.jump_intensity * times[-1] * paths)
    when = np.searchsorted(times[1:], generator.uniform(0.0, times[-1], count)) + 1
    sizes = generator.normal(model.jump_mean, model.jump_deviation, count)
    np.add.at(sums, (when, generator.integers(0, paths, count)), sizes)
    return sums


def _next_variance(model: Bates, variance, dt: float, generator: np.random.Generator) -> np.ndarray:
    """Draw a variance with the right mean and variance, from one of two easy laws."""
    kappa, theta, sigma = model.mean_reversion, model.long_variance, model.variance_volatility
    decay = math.exp(-kappa * dt)
    mean = theta + (variance - theta) * decay
    spread = sigma**2 * (1.0 - decay) / kappa * (variance * decay + 0.5 * theta * (1.0 - decay))
    psi = spread / mean**2
    ratio = 2.0 / np.minimum(psi, SWITCH)
    b2 = ratio - 1.0 + np.sqrt(ratio * (ratio - 1.0))
    square = mean / (1.0 + b2) * (np.sqrt(b2) + generator.standard_normal(variance.size)) ** 2
    mass = (psi - 1.0) / (psi + 1.0)
    uniform = generator.random(variance.size)
    tail = mean / (1.0 - mass) * np.log((1.0 - mass) / (1.0 - uniform))
    return np.where(psi <= SWITCH, square, np.maximum(tail, 0.0))


def _log_return(
    model: Bates, variance, following, dt: float, generator: np.random.Generator
) -> np.ndarray:
    """Draw the diffusive log-return given the variance at both ends of the step."""
    total = 0.5 * dt * (variance + following)
    drift = model.mean_reversion * (model.long_variance * dt - total)
    # What moves the variance moves the price by ρ/σ; the rest is independent.
    shared = model.correlation / model.variance_volatility * (following - variance - drift)
    own = np.sqrt((1.0 - model.correlation**2) * total)
    return shared - 0.5 * total + own * generator.standard_normal(variance.size)
