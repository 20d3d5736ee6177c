"""A readout whose paths are positive martingales on the grid, whatever the weights.

    Y[k+1] = Y[k] · exp(v[k]·ΔW[k] − ½‖v[k]‖² Δt[k]),   v[k] = ξ(t[k]) (Π Z[k] + c),

Z the last layer's path and ξ > 0 a learned curve, log-linear between knots even in √t: it moves the
volatility of a maturity without moving the others. v[k] is known at node k and ΔW[k] is not, so each factor has mean one given the
past: no calendar or strike arbitrage is possible. In time it is a cumulative sum.

With `mixing` there is a Brownian motion beside them, independent of all that drives Z, so that log Y is
normal given Z. Its loading is √(u² + κ²‖v‖²), u one more channel of the linear readout; κ gives it at
least the share `OWN_SHARE` of the variance. Without that floor fits were seen to give it up, and
with it the closed form.

With `growth` the path is exp(g(t)) times the martingale, g a learned curve from zero, for values in
units of a spot: their mean is the forward over the spot and not one.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Mixture
from slisde.shapes import Increments, StepSizes

VOLATILITY = 0.2
"""Volatility at the start of training, per square root of a unit of time."""
OWN_SHARE = 0.25
"""Least share of the variance that mixing takes: the correlation with Z's drivers is below √(1 − 1/4)."""
HIGHEST = 2.0
"""Bound of ‖v‖. Without it fits were seen to price far puts by paths that explode once in thousands,
whose averages are noise."""
KNOTS = 16
"""Knots of ξ, and of g, where they are even in t."""
SPREAD = 0.03
"""How far the state moves each channel of v at the start."""


class Returns(NamedTuple):
    """What steps add to log Y: by the last layer's driver and by the motion beside it, whose variance it is."""

    latent: Float[Array, "step path"]
    own: Float[Array, "step path"]
    variance: Float[Array, "step path"]


class MartingaleReadout(eqx.Module):
    """The exponential martingale of a linear readout.

    Args:
        latent: the width d.
        noise: Brownian channels m of the last layer.
        mixing: whether one more channel has a Brownian motion of its own.
        growth: whether the mean may move: E[Y_t] = Y_0 exp(g(t)), g zero at the start of training.
        initial_value: Y_0, positive.
        key: random key of the weights.
    """

    kernel: Float[Array, "channel latent"]
    bias: Float[Array, " channel"]
    log_level: Float[Array, " knot"]
    slopes: Float[Array, " piece"] | None
    mixing: bool = eqx.field(static=True)
    initial_value: float = eqx.field(static=True)

    def __init__(
        self,
        latent: int,
        noise: int,
        *,
        mixing: bool,
        growth: bool = False,
        initial_value: float = 1.0,
        key: PRNGKeyArray,
    ):
        if not initial_value > 0.0:
            raise ArgumentError(
                "initial_value", initial_value, "must be positive", "the martingale stays positive"
            )
        channels = noise + mixing
        self.kernel = SPREAD / latent**0.5 * jax.random.normal(key, (channels, latent))
        self.bias = jnp.zeros(channels).at[-1].set(VOLATILITY)
        self.log_level = jnp.zeros(KNOTS)
        # Slopes and not the values at the knots: an expiry then moves all of the curve before it,
        # and no knot between two expiries stays behind.
        self.slopes = jnp.zeros(KNOTS - 1) if growth else None
        self.mixing = mixing
        self.initial_value = initial_value

    def __call__(
        self,
        loadings: Float[Array, "node channel path"],
        grid: TimeGrid,
        noise: Increments,
        own: Float[Array, "step 1 path"] | None,
    ) -> Mixture:
        """Return the paths and their law given the latent ones.

        Args:
            loadings: Π Z at all nodes.
            grid: the time grid.
            noise: the last layer's driver.
            own: the increments of the independent motion, `[step, 1, path]`; None without mixing.
        """
        gained = self.returns(loadings[:-1], self.level(grid), grid.dt, noise, own)
        centre, variance = _from_zero(gained.latent), _from_zero(gained.variance)
        log_values = centre + _from_zero(gained.own)
        if self.slopes is not None:
            growth = growth_curve(self.slopes, grid)[:, None]
            log_values, centre = log_values + growth, centre + growth
        start = self.initial_value
        return Mixture(start * jnp.exp(log_values).T, start * jnp.exp(centre).T, variance.T)

    def returns(
        self,
        loadings: Float[Array, "step channel path"],
        level: Float[Array, " step"],
        dt: StepSizes,
        noise: Increments,
        own: Float[Array, "step 1 path"] | None,
    ) -> "Returns":
        """Return what each step adds to log Y but for growth.

        Args:
            loadings: Π Z at the left end of every step.
            level: ξ there.
            dt: lengths of the steps.
            noise: the last layer's driver.
            own: the increments of the independent motion; None without mixing.
        """
        v = level[:, None, None] * (loadings + self.bias[None, :, None])
        v = v * jax.lax.rsqrt(1.0 + jnp.sum(v**2, axis=1, keepdims=True) / HIGHEST**2)
        channels = noise.shape[1]
        latent = _log_factors(v[:, :channels], dt, noise)
        if own is None:
            return Returns(latent, jnp.zeros_like(latent), jnp.zeros_like(latent))
        rest = OWN_SHARE / (1.0 - OWN_SHARE) * jnp.sum(v[:, :channels] ** 2, axis=1)
        square = v[:, channels] ** 2 + rest
        return Returns(
            latent, _log_factors(jnp.sqrt(square)[:, None], dt, own), square * dt[:, None]
        )

    def level(self, grid: TimeGrid) -> Float[Array, " step"]:
        """Return ξ at the left end of every step."""
        times = jnp.asarray(grid.times)
        knots = jnp.linspace(0.0, 1.0, KNOTS)
        return jnp.exp(jnp.interp(jnp.sqrt(times[:-1] / times[-1]), knots, self.log_level))


def growth_curve(slopes: Float[Array, " piece"], grid: TimeGrid) -> Float[Array, " node"]:
    """Return g at every node: zero at the first, linear between knots even in t."""
    times = jnp.asarray(grid.times)
    knots = times[-1] * jnp.linspace(0.0, 1.0, KNOTS)
    at_knots = jnp.concatenate([jnp.zeros(1), jnp.cumsum(slopes * jnp.diff(knots))])
    return jnp.interp(times, knots, at_knots)


def _log_factors(
    v: Float[Array, "step channel path"],
    dt: StepSizes,
    noise: Float[Array, "step channel path"],
) -> Float[Array, "step path"]:
    return jnp.sum(v * noise - 0.5 * v**2 * dt[:, None, None], axis=1)


def _from_zero(increments: Float[Array, "step path"]) -> Float[Array, "node path"]:
    return jnp.concatenate([jnp.zeros_like(increments[:1]), jnp.cumsum(increments, axis=0)])
