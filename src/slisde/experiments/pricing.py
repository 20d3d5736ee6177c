"""Expectations of any functionals under a fitted run's model."""

from collections.abc import Callable, Sequence

import jax

from slisde.calibration.estimate import Prices, price
from slisde.experiments.evaluation import whole_batches
from slisde.experiments.job import FittedRun
from slisde.functionals.base import AbstractFunctional

STREAM = 2**32 - 3
"""Folded into the run's key for prices, which are then independent of its metrics."""


def price_run(
    fitted: FittedRun,
    functionals: Sequence[AbstractFunctional],
    paths: int,
    *,
    seed: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Prices:
    """Return prices over at least `paths` paths, in batches that fit into memory."""
    whole, batches = whole_batches(paths)
    key = jax.random.fold_in(fitted.keys.metrics, STREAM) if seed is None else jax.random.key(seed)
    return price(
        fitted.model, functionals, fitted.grid, whole, batches=batches, report=report, key=key
    )
