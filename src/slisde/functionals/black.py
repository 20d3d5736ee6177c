"""Black's formula: expectations of payoffs of a lognormal value, undiscounted (Black, 1976).

With forward F, strike K, total variance w = σ²T, d± = log(F/K)/√w ± √w/2 and N the normal
distribution function,

    E[(Y − K)₊] = F N(d₊) − K N(d₋),   P(Y ≥ K) = N(d₋).

Out of the money the two terms of a price nearly cancel. With Mills' ratio R(z) = N(−z)/φ(z) and
z± = |log(F/K)|/√w ± √w/2 their difference is min(F, K) φ(z₋) (R(z₋) − R(z₊)), which keeps its digits;
in the money the intrinsic value is added to it. All functions are elementwise and broadcast, and
their derivatives are written in closed form. At w = 0 the slope in w is taken as zero.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import erfcx, ndtr
from jax.typing import ArrayLike
from jaxtyping import Array, Float

Operand = Float[ArrayLike, "*#shape"]
Result = Float[Array, "*shape"]

DENSITY_AT_ZERO = 1.0 / math.sqrt(2.0 * math.pi)
ASYMPTOTIC, FRACTION_TERMS = 12.0, 10
"""Where Mills' ratio is a continued fraction, and its terms: enough for float64."""
FAR = 100.0
"""Deviations at which the normal law has no mass left in any precision."""


def call(forward: Operand, strike: Operand, total_variance: Operand) -> Result:
    """Return E[(Y − K)₊].

    Args:
        forward: F > 0, the mean of Y.
        strike: K > 0.
        total_variance: w ≥ 0, the variance of log Y.

    Example:
        >>> print(f"{call(1.0, 1.1, 0.04):.4f}")
        0.0429
    """
    return _call(*operands(forward, strike, total_variance))


def put(forward: Operand, strike: Operand, total_variance: Operand) -> Result:
    """Return E[(K − Y)₊], which is the call with forward and strike exchanged."""
    return _call(*operands(strike, forward, total_variance))


def digital_above(forward: Operand, strike: Operand, total_variance: Operand) -> Result:
    """Return P(Y ≥ K)."""
    return ndtr(_distances(*operands(forward, strike, total_variance)).lower)


def digital_below(forward: Operand, strike: Operand, total_variance: Operand) -> Result:
    """Return P(Y ≤ K)."""
    return ndtr(-_distances(*operands(forward, strike, total_variance)).lower)


def vega(forward: Operand, strike: Operand, total_variance: Operand) -> Result:
    """Return the derivative of a call or a put in √w; times √T it is the one in the volatility."""
    forward, strike, total_variance = operands(forward, strike, total_variance)
    return forward * _density(_distances(forward, strike, total_variance).upper)


class TimeValue(NamedTuple):
    """A price out of the money, and what it is made of."""

    share: Result
    """The price in units of min(F, K), between 0 and 1."""
    near: Result
    """z₋."""
    gap: Result
    """R(|z₋|) − R(z₊)."""


def time_value(moneyness: Operand, deviation: Operand) -> TimeValue:
    """Return the price out of the money for |log(F/K)| and √w > 0."""
    moneyness, deviation = operands(moneyness, deviation)
    ratio = moneyness / deviation
    near = ratio - 0.5 * deviation
    ahead, behind = _mills_ratio(jnp.abs(near)), _mills_ratio(ratio + 0.5 * deviation)
    density = _density(near)
    # N(−z₋) is near one where z₋ < 0, and φ(z₋) R(−z₋) is what it lacks.
    share = jnp.where(near < 0.0, 1.0 - density * (ahead + behind), density * (ahead - behind))
    return TimeValue(share, near, ahead - behind)


def operands(*values: Operand) -> list[Array]:
    """Return floating-point arrays of one type and shape."""
    dtype = jnp.result_type(float, *values)
    return jnp.broadcast_arrays(*(jnp.asarray(value, dtype) for value in values))


@jax.custom_jvp
def _call(forward: Result, strike: Result, total_variance: Result) -> Result:
    flat, deviation = _deviation(total_variance)
    share = time_value(jnp.abs(jnp.log(forward / strike)), deviation).share
    extra = jnp.minimum(forward, strike) * jnp.where(flat, 0.0, share)
    return jnp.maximum(forward - strike, 0.0) + extra


@_call.defjvp
def _call_jvp(primals, tangents):
    forward, strike, total_variance = primals
    forward_dot, strike_dot, variance_dot = tangents
    upper, lower, deviation, flat = _distances(*primals)
    slope = jnp.where(flat, 0.0, 0.5 * forward * _density(upper) / deviation)
    tangent = ndtr(upper) * forward_dot - ndtr(lower) * strike_dot + slope * variance_dot
    return _call(forward, strike, total_variance), tangent


class _Distances(NamedTuple):
    """d₊ and d₋, √w (one where there is none) and where there is none."""

    upper: Array
    lower: Array
    deviation: Array
    flat: Array


def _distances(forward: Result, strike: Result, total_variance: Result) -> _Distances:
    flat, deviation = _deviation(total_variance)
    moneyness = jnp.log(forward / strike)
    ratio = jnp.where(flat, jnp.sign(moneyness) * FAR, moneyness / deviation)
    half = jnp.where(flat, 0.0, 0.5 * deviation)
    return _Distances(ratio + half, ratio - half, deviation, flat)


def _deviation(total_variance: Result) -> tuple[Array, Array]:
    """Return where √w is lost in the rounding of the price, and √w elsewhere."""
    flat = total_variance <= jnp.finfo(total_variance.dtype).eps ** 2
    return flat, jnp.sqrt(jnp.where(flat, 1.0, total_variance))


def _mills_ratio(z: Result) -> Result:
    # JAX's erfcx is zero beyond 13.3 in float32, and NaN at one number there.
    far = z > ASYMPTOTIC
    near = math.sqrt(0.5 * math.pi) * erfcx(jnp.where(far, 0.0, z) * math.sqrt(0.5))
    beyond = jnp.where(far, z, ASYMPTOTIC)
    fraction = beyond
    for term in range(FRACTION_TERMS, 0, -1):
        fraction = beyond + term / fraction
    return jnp.where(far, 1.0 / fraction, near)


def _density(z: Result) -> Result:
    return DENSITY_AT_ZERO * jnp.exp(-0.5 * z**2)
