"""Delta hedges of many quotes from those of a few strikes: noise that training need not see.

A hedge Σ Δ[k] (M[k+1] − M[k]) of a martingale M has mean zero whatever Δ is, as long as it is known at node
k; subtracted from a payoff it takes most of the noise and leaves the mean. The Δ of a call moves smoothly
with its strike, so a hedge of each quote is interpolated between those of a few strikes of its maturity. Δ
is that of Black's formula at the market's own volatility: nothing of it depends on the model.
"""

from collections.abc import Sequence
from functools import reduce

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from slisde.calibration.smile_fit import market_quotes
from slisde.data.smile import SmileQuotes
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample, centres
from slisde.functionals.problem import Problem

STRIKES = 12
"""Strikes of a maturity that are hedged; more were not seen to take more noise."""
OWN_SHARE = 0.4
"""Share of the variance that moves no centre, which is left to the maturity at all times."""


class MaturityBook(eqx.Module):
    """The hedged calls of one maturity.

    Attributes:
        node: of the maturity.
        log_strike: of the hedged calls.
        deviation: of log Y at the maturity as seen from every node before.
        shares: hedged calls in the hedge of each target.
        forwards: 1 for puts, which are hedged as the call less the forward.
    """

    node: int = eqx.field(static=True)
    log_strike: Float[Array, " strike"]
    deviation: Float[Array, "step strike"]
    shares: Float[Array, "strike target"]
    forwards: Float[Array, " target"]

    def __call__(self, paths: Float[Array, "path node"]) -> Float[Array, "path target"]:
        """Return the profits of all targets' hedges."""
        held, moves = paths[:, : self.node], jnp.diff(paths[:, : self.node + 1], axis=1)
        ahead = (jnp.log(held)[..., None] - self.log_strike) / self.deviation
        calls = jnp.einsum("pk,pks->ps", moves, ndtr(ahead + 0.5 * self.deviation))
        return calls @ self.shares - jnp.sum(moves, axis=1, keepdims=True) * self.forwards


class HedgeBook(eqx.Module):
    """The hedges of a problem's calls and puts; other targets are not hedged."""

    maturities: tuple[MaturityBook, ...]

    def __call__(self, sample: Sample) -> Float[Array, "path target"]:
        """Return the profit of every target's hedge on every path of a batch."""
        paths = centres(sample)
        return reduce(jnp.add, (book(paths) for book in self.maturities))


def hedge_book(problem: Problem, targets: Sequence[int], grid: TimeGrid) -> HedgeBook | None:
    """Return the hedges of some targets, None where none of them can be hedged.

    Args:
        problem: the targets; only one in units of the forward is hedged.
        targets: positions of those that are hedged.
        grid: with a node at every maturity.
    """
    quotes = market_quotes(problem)
    if quotes is None or (quotes.forward != problem.initial_value).any():
        return None
    usable = np.isin(quotes.index, targets) & (quotes.volatility > 0.0)
    books = [
        _maturity_book(
            quotes, np.flatnonzero(usable & (quotes.maturity == maturity)), targets, grid
        )
        for maturity in np.unique(quotes.maturity[usable]).tolist()
    ]
    return HedgeBook(tuple(books)) if books else None


def _maturity_book(
    quotes: SmileQuotes, rows: np.ndarray, targets: Sequence[int], grid: TimeGrid
) -> MaturityBook:
    log_strikes = np.log(quotes.forward[rows]) + quotes.log_moneyness[rows]
    known, first = np.unique(log_strikes, return_index=True)
    places = np.unique(np.linspace(0, len(known) - 1, STRIKES).round().astype(int))
    hedged = known[places]
    maturity, times = float(quotes.maturity[rows[0]]), np.asarray(grid.times)
    node = int(np.argmin(np.abs(times - maturity)))
    left = OWN_SHARE * maturity + (1.0 - OWN_SHARE) * (maturity - times[:node])
    volatility = quotes.volatility[rows][first[places]]
    shares = np.zeros((len(hedged), len(targets)))
    forwards = np.zeros(len(targets))
    columns = np.searchsorted(targets, quotes.index[rows])
    for strike, one in enumerate(np.eye(len(hedged))):
        shares[strike, columns] = np.interp(log_strikes, hedged, one)
    forwards[columns] = ~quotes.is_call[rows]
    return MaturityBook(
        node,
        jnp.asarray(hedged, jnp.result_type(float)),
        jnp.asarray(volatility * np.sqrt(left)[:, None], jnp.result_type(float)),
        jnp.asarray(shares, jnp.result_type(float)),
        jnp.asarray(forwards, jnp.result_type(float)),
    )
