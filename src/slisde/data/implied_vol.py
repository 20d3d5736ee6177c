"""Implied volatility: Black's formula inverted, elementwise and differentiable.

With y = |log(F/K)| and s = σ√T, the price out of the money in units of min(F, K) is a function
b(s) that rises from 0 to 1. Newton's method is run on a function of it that is nearly straight:

- far out of the money (s < y) on 1/√(−2 log(b e^{−y/2}/y)), close to s/y, from below;
- elsewhere on 2√2 erf⁻¹(b), which is s itself at the money.

Both converge from one side, and the logarithm reaches any price that the precision can hold.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import erf_inv
from jax.typing import ArrayLike
from jaxtyping import Bool, Float

from slisde.functionals import black
from slisde.functionals.black import Operand, Result, operands, time_value

Flags = Bool[ArrayLike, "*#shape"]

ITERATIONS = 7
"""Six reach rounding for moneyness up to e^{±20} and deviations up to 16."""

LOG_DENSITY_AT_ZERO = math.log(black.DENSITY_AT_ZERO)

POINTS = 100.0
"""Vol points in a volatility of one."""


def implied_volatility(
    price: Operand,
    strike: Operand,
    maturity: Operand,
    *,
    call: Flags,
    forward: Operand = 1.0,
) -> Result:
    """Return σ such that Black's formula gives the undiscounted price.

    NaN where there is none: below the intrinsic value, at or above the forward (of a call) or the
    strike (of a put), or where the price is NaN. A price of exactly the intrinsic value has σ = 0.
    The derivative is that of the implicit function, dσ = dprice / vega, and zero where there is no
    vega. In the money, parity moves the price out of it: what the price has lost there in digits
    stays lost.

    Args:
        price: undiscounted.
        strike: K, in the units of the forward.
        maturity: T in years.
        call: whether it is a call; a put otherwise.
        forward: F; one where price and strike are in units of it.

    Example:
        >>> price = black.put(1.0, 0.8, 0.2**2 * 0.5)
        >>> print(f"{implied_volatility(price, 0.8, 0.5, call=False):.4f}")
        0.2000
    """
    price, strike, maturity, forward = operands(price, strike, maturity, forward)
    # A put is the call with forward and strike exchanged.
    paid, owed = jnp.where(call, forward, strike), jnp.where(call, strike, forward)
    return _deviation(price, paid, owed) / jnp.sqrt(maturity)


class Implied(NamedTuple):
    """What prices say of the volatility."""

    volatility: Float[np.ndarray, " quote"]
    vega: Float[np.ndarray, " quote"]
    """Derivative of the price in the volatility; NaN where there is no volatility."""


def implied(
    price: Float[np.ndarray, " quote"],
    strike: Float[np.ndarray, " quote"],
    maturity: Float[np.ndarray, " quote"],
    call: Bool[np.ndarray, " quote"],
) -> Implied:
    """Return volatilities and vegas in units of the forward, in float64 whatever JAX is set to."""
    # Sizes are rounded up, by repetition, so that chains of all sizes share a few compiled programs.
    size = 1 << (price.size - 1).bit_length()
    columns = (np.resize(column, size) for column in (price, strike, maturity, call))
    with jax.enable_x64(True):
        return Implied(*(np.asarray(result)[: price.size] for result in _implied(*columns)))


@jax.jit
def _implied(price: Result, strike: Result, maturity: Result, call: Flags) -> tuple[Result, Result]:
    volatility = implied_volatility(price, strike, maturity, call=call)
    return volatility, black.vega(1.0, strike, volatility**2 * maturity) * jnp.sqrt(maturity)


@jax.custom_jvp
def _deviation(price: Result, forward: Result, strike: Result) -> Result:
    """Return σ√T of a call."""
    intrinsic = jnp.maximum(forward - strike, 0.0)
    share = (price - intrinsic) / jnp.minimum(forward, strike)
    inside = (share > 0.0) & (share < 1.0)
    found = _solve(jnp.where(inside, share, 0.5), jnp.abs(jnp.log(forward / strike)))
    return jnp.where(inside, found, jnp.where(share == 0.0, 0.0, jnp.nan))


@_deviation.defjvp
def _deviation_jvp(primals, tangents):
    price, forward, strike = primals
    price_dot, *others = tangents
    deviation = _deviation(price, forward, strike)
    slope = black.vega(forward, strike, deviation**2)
    known = slope > 0.0
    # Without the stand-in, NaN × 0 would reach the gradients of the other entries.
    variance = jnp.where(known, deviation, 1.0) ** 2
    _, moved = jax.jvp(lambda f, k: black.call(f, k, variance), (forward, strike), tuple(others))
    tangent = (price_dot - moved) / jnp.where(known, slope, 1.0)
    return deviation, jnp.where(known, tangent, 0.0)


@jax.jit
def _solve(share: Result, moneyness: Result) -> Result:
    """Return s with b(s) = share at y = moneyness."""
    tiny = jnp.finfo(share.dtype).tiny
    inflection = jnp.sqrt(2.0 * moneyness)
    border = jnp.maximum(jnp.minimum(moneyness, inflection), tiny)
    offset = 0.5 * moneyness + jnp.log(jnp.maximum(moneyness, tiny))
    target = jnp.log(share) - offset
    straight = _straight(share)
    far = share < time_value(moneyness, border).share
    start = jnp.where(
        far,
        moneyness / jnp.sqrt(jnp.where(far, -2.0 * target, 1.0)),
        jnp.maximum(inflection, straight),
    )

    def newton(_, deviation):
        value, near, gap = time_value(moneyness, deviation)
        level = LOG_DENSITY_AT_ZERO - 0.5 * near**2 + jnp.log(gap) - offset
        far_step = (jnp.sqrt(level / target) - 1.0) * (-2.0 * level) * gap
        reached = _straight(value)
        near_step = (straight - reached) * jnp.exp(0.5 * near**2 - 0.125 * reached**2)
        return deviation + jnp.where(far, far_step, near_step)

    return jax.lax.fori_loop(0, ITERATIONS, newton, start)


def _straight(share: Result) -> Result:
    return math.sqrt(8.0) * erf_inv(share)
