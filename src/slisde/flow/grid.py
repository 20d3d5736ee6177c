"""The time grid 0 = t_0 < t_1 < … < t_N = T (paper: sec:background)."""

from collections.abc import Iterable
from numbers import Integral

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from slisde.errors import ArgumentError
from slisde.shapes import StepSizes


class TimeGrid(eqx.Module):
    """N steps from 0 to the horizon T.

    Example:
        >>> TimeGrid.uniform(1.0, 4).times.tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    times: Float[np.ndarray, " node"] | Float[Array, " node"]

    def __init__(self, times):
        times = np.asarray(times, dtype=float)
        if times.ndim != 1 or times.size < 2:
            raise ArgumentError(
                "times", times.shape, "must hold at least two nodes", "a grid has N ≥ 1 steps"
            )
        if times[0] != 0.0 or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0):
            raise ArgumentError(
                "times",
                times.tolist()[:4],
                "must start at 0 and increase",
                "steps need a positive length",
            )
        self.times = times

    @classmethod
    def uniform(cls, horizon: float, steps: int) -> "TimeGrid":
        """Return the grid of `steps` equal steps to `horizon`."""
        _check_steps(steps)
        if not (np.isfinite(horizon) and horizon > 0):
            raise ArgumentError(
                "horizon", horizon, "must be positive and finite", "paths run from 0 to the horizon"
            )
        return cls(np.linspace(0.0, float(horizon), int(steps) + 1))

    @property
    def steps(self) -> int:
        """The number of steps N."""
        return self.times.shape[0] - 1

    @property
    def horizon(self):
        """The last node T."""
        return self.times[-1]

    @property
    def dt(self) -> StepSizes:
        """The step sizes t_{k+1} − t_k."""
        return jnp.diff(jnp.asarray(self.times))

    def coarsen(self, factor: int) -> "TimeGrid":
        """Return the grid of every `factor`-th node."""
        if factor < 1 or self.steps % factor:
            raise ArgumentError(
                "factor", factor, f"must divide the {self.steps} steps", "the last node has to stay"
            )
        return type(self)(np.asarray(self.times)[::factor])


def expiry_grid(maturities: Iterable[float], steps: int) -> TimeGrid:
    """Return a grid of `steps` steps with a node at every maturity, the last one its horizon.

    Steps are equal between two maturities. Each interval has at least one; the others are shared out
    in proportion to the intervals' lengths on the scale of √t, on which a diffusion spreads evenly,
    so that short maturities are resolved as well as long ones.

    Args:
        maturities: in any order, repeated or not.
        steps: N, at least the number of different maturities.

    Example:
        >>> expiry_grid([1.0, 0.25], 6).times.round(3).tolist()
        [0.0, 0.083, 0.167, 0.25, 0.5, 0.75, 1.0]
    """
    _check_steps(steps)
    ends = np.unique(np.fromiter(maturities, dtype=float))
    if ends.size == 0 or not (np.all(np.isfinite(ends)) and ends[0] > 0.0):
        raise ArgumentError(
            "maturities",
            ends.tolist(),
            "must be positive and finite, at least one",
            "paths run from 0 to the last of them",
        )
    if ends.size > steps:
        raise ArgumentError(
            "steps",
            steps,
            f"must be at least {ends.size}",
            "every maturity needs a node of its own",
        )
    starts = np.concatenate([[0.0], ends[:-1]])
    counts = 1 + _shares(np.sqrt(ends) - np.sqrt(starts), int(steps) - ends.size)
    pieces = [
        np.linspace(start, end, count + 1)[1:]
        for start, end, count in zip(starts, ends, counts, strict=True)
    ]
    return TimeGrid(np.concatenate([[0.0], *pieces]))


def _shares(lengths: Float[np.ndarray, " interval"], total: int) -> Int[np.ndarray, " interval"]:
    """Return whole numbers of the given total in proportion, the largest remainders rounded up."""
    exact = total * lengths / lengths.sum()
    counts = np.floor(exact).astype(int)
    largest = np.argsort(counts - exact, kind="stable")
    counts[largest[: total - counts.sum()]] += 1
    return counts


def _check_steps(steps: int) -> None:
    if not isinstance(steps, Integral) or isinstance(steps, bool) or steps < 1:
        raise ArgumentError(
            "steps", steps, "must be an integer ≥ 1", "a grid has at least one step"
        )
