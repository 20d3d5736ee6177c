"""What a vol point more on a group of quotes does to prices, by fitting the model to it again.

The refit is one Gauss–Newton step from the fitted weights θ. With J the derivatives of the model's
prices of some training quotes in θ, w their weights in the loss and b the bump of the group,

    dθ = argmin ‖√w (J dθ − b)‖² + λ ‖dθ‖²,

the smallest change of the weights that makes the quotes follow. J is an average over paths. The ridge λ
is the one with which the step from half of them moves the quotes best on the other half.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from slisde.calibration.estimate import pilot
from slisde.calibration.objective import training_weights
from slisde.data.implied_vol import POINTS
from slisde.data.smile import SmileQuotes, smile_quotes
from slisde.experiments.job import FittedRun
from slisde.experiments.pricing import Measured
from slisde.flow.grid import TimeGrid
from slisde.functionals.base import AbstractFunctional, Smoothing
from slisde.functionals.hedge import VarianceCurve
from slisde.functionals.problem import Evaluator
from slisde.model.interface import AbstractPathModel

STREAM = 2**32 - 4
"""Folded into the run's key, as that of prices."""
PER_EXPIRY = 12
"""Training quotes of an expiry that the refit sees, evenly chosen."""
BATCHES, BATCH = 8, 2048
"""Batches behind the derivatives; half of them judge the ridge of the other half."""
CHECKS, CHECK = 32, 512
"""Batches of fresh paths behind the changes, the same before and after the refit."""
STEP = 0.1
"""Vol points of a bump to each side; changes are scaled to one, where prices are not linear any more."""
RIDGES = np.logspace(-9.0, 0.0, 19)
"""In units of the largest eigenvalue."""

PerRow = Float[np.ndarray, " row"]
Slopes = Float[np.ndarray, "row weight"]


@dataclass(frozen=True)
class GroupBump:
    """A vol point more on a group of quotes.

    Attributes:
        group: a group of the problem, or an expiry.
        quotes: training quotes of the group that the refit saw.
        reached: vol points by which the refitted model moves them, on fresh paths.
        elsewhere: root mean square of the vol points by which it moves the others.
        changes: of the payoffs' prices, in their order.
    """

    group: str
    quotes: int
    reached: Measured
    elsewhere: float
    changes: list[Measured]


@dataclass(frozen=True)
class Seen:
    """What the refit sees: some options, and every other target.

    Attributes:
        functionals: what is matched.
        weight: in the loss.
        point: what a vol point is worth; zero but for options.
        groups: the options of each bump.
    """

    functionals: list[AbstractFunctional]
    weight: PerRow
    point: PerRow
    groups: Mapping[str, Bool[np.ndarray, " row"]]


def sensitivities(
    fitted: FittedRun,
    functionals: Sequence[AbstractFunctional],
    *,
    seed: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[GroupBump]:
    """Return what a vol point on puts, calls and each expiry does to the prices of payoffs."""
    model, grid = fitted.model, fitted.grid
    seen = _seen(fitted, smile_quotes(fitted.problem))
    key = fitted.keys.metrics if seed is None else jax.random.key(seed)
    slope_key, check_key, pilot_key = jax.random.split(jax.random.fold_in(key, STREAM), 3)
    hedge = pilot(model, grid, key=pilot_key) if model.is_martingale else None
    halves = _slopes(model, seen, grid, hedge, slope_key, report)
    bumps = np.stack([np.where(rows, seen.point, 0.0) for rows in seen.groups.values()], axis=1)
    moves = gauss_newton(halves, seen.weight, bumps)
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(weights)
    evaluator = Evaluator([*seen.functionals, *functionals])
    models = [
        eqx.combine(unravel(flat + jnp.asarray(side * STEP * move, flat.dtype)), rest)
        for move in moves.T
        for side in (-1.0, 1.0)
    ]
    means = [
        [_means(each, evaluator, grid, hedge, jax.random.fold_in(check_key, i)) for each in models]
        for i in range(CHECKS)
    ]
    low, high = np.moveaxis(np.reshape(means, (CHECKS, len(seen.groups), 2, -1)), 2, 0)
    changes = np.moveaxis((high - low) / (2.0 * STEP), 1, 0)
    return [
        _bump(name, rows, seen, change)
        for (name, rows), change in zip(seen.groups.items(), changes, strict=True)
    ]


def gauss_newton(
    halves: tuple[Slopes, Slopes], weight: PerRow, bumps: Float[np.ndarray, "row bump"]
) -> Float[np.ndarray, "weight bump"]:
    """Return the change of the weights that follows each bump.

    Args:
        halves: derivatives of the prices in the weights, from two independent sets of paths.
        weight: of the prices in the loss.
        bumps: by how much the prices should move.
    """
    root = np.sqrt(weight)[:, None]
    first, second = (root * half for half in halves)
    wanted = root * bumps
    pairs = [(own @ own.T, other @ own.T) for own, other in ((first, second), (second, first))]

    def missed(ridge: float) -> float:
        errors = [wanted - cross @ _solve(gram, wanted, ridge) for gram, cross in pairs]
        return float(np.sum(np.square(errors)))

    both = 0.5 * (first + second)
    return both.T @ _solve(both @ both.T, wanted, min(RIDGES.tolist(), key=missed))


def _solve(gram: np.ndarray, wanted: np.ndarray, ridge: float) -> np.ndarray:
    """Return the ridge solution in the rows, of which there are fewer than weights."""
    return np.linalg.solve(gram + ridge * np.linalg.norm(gram, 2) * np.eye(len(gram)), wanted)


def _seen(fitted: FittedRun, quotes: SmileQuotes) -> Seen:
    weight = training_weights(fitted.model, fitted.problem)
    usable = (weight[quotes.index] > 0.0) & (quotes.volatility > 0.0)
    chosen = []
    for maturity in np.unique(quotes.maturity):
        rows = np.flatnonzero(usable & (quotes.maturity == maturity))
        rows = rows[np.argsort(quotes.log_moneyness[rows])]
        places = np.linspace(0, max(rows.size - 1, 0), min(PER_EXPIRY, rows.size))
        chosen += rows[np.rint(places).astype(int)].tolist()
    others = np.setdiff1d(np.flatnonzero(weight), quotes.index)
    targets = [fitted.problem.targets[i] for i in [*quotes.index[chosen], *others]]
    train = fitted.config.train
    smoothing = Smoothing(train.temperature, train.straight_through)
    point = np.concatenate([quotes.vega[chosen] / POINTS, np.zeros(others.size)])
    option = point > 0.0
    names = np.array([target.group for target in targets])
    groups = {name: option & (names == name) for name in dict.fromkeys(names[option].tolist())}
    maturity = np.concatenate([quotes.maturity[chosen], np.zeros(others.size)])
    expiries = np.unique(maturity[option]).tolist()
    if len(expiries) > 1:
        groups |= {f"T = {each:.3f}": option & (maturity == each) for each in expiries}
    functionals = [target.functional.smooth(smoothing) for target in targets]
    return Seen(functionals, weight[[*quotes.index[chosen], *others]], point, groups)


def _bump(
    name: str,
    rows: Bool[np.ndarray, " row"],
    seen: Seen,
    change: Float[np.ndarray, "batch functional"],
) -> GroupBump:
    """Return what a bump does, given the changes of all prices in each batch."""
    count = seen.point.size
    metric = seen.weight * seen.point**2
    points = change[:, :count] / np.where(seen.point > 0.0, seen.point, np.inf)
    other = (seen.point > 0.0) & ~rows
    moved = points.mean(axis=0)
    return GroupBump(
        name,
        int(rows.sum()),
        _measured(np.average(points[:, rows], axis=1, weights=metric[rows])),
        float(np.sqrt(np.average(moved[other] ** 2, weights=metric[other])))
        if other.any()
        else 0.0,
        [_measured(each) for each in change[:, count:].T],
    )


def _measured(batches: Float[np.ndarray, " batch"]) -> Measured:
    return Measured(float(batches.mean()), float(batches.std(ddof=1) / len(batches) ** 0.5))


def _slopes(
    model: AbstractPathModel,
    seen: Seen,
    grid: TimeGrid,
    hedge: VarianceCurve | None,
    key: PRNGKeyArray,
    report: Callable[[int, int], None] | None,
) -> tuple[Slopes, Slopes]:
    """Return the derivatives of all prices in the weights, from two halves of the batches."""
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    evaluators = [Evaluator([functional]) for functional in seen.functionals]
    sums = []
    for index in range(BATCHES):
        batch, pull = _drawn(weights, rest, grid, jax.random.fold_in(key, index))
        rows = [_gradient(batch, pull, each, grid, hedge) for each in evaluators]
        sums.append(np.stack([np.asarray(row) for row in rows]).astype(float))
        if len(sums) > 2:
            sums[index % 2] += sums.pop()
        if report is not None:
            report(index + 1, BATCHES)
    first, second = (each / (BATCHES // 2) for each in sums)
    return first, second


@eqx.filter_jit
def _drawn(weights, rest, grid: TimeGrid, key: PRNGKeyArray):
    """Return a batch of paths, and what takes slopes in them to slopes in the weights."""
    return jax.vjp(lambda each: eqx.combine(each, rest).draw(grid, BATCH, key=key), weights)


@eqx.filter_jit
def _gradient(batch, pull, evaluator, grid, hedge) -> Float[Array, " weight"]:
    times = jnp.asarray(grid.times)
    slope = jax.grad(lambda paths: jnp.mean(evaluator(paths, times, hedge)))(batch)
    return ravel_pytree(pull(slope)[0])[0]


@eqx.filter_jit
def _means(model, evaluator, grid, hedge, key) -> Float[Array, " functional"]:
    samples = evaluator(model.draw(grid, CHECK, key=key), jnp.asarray(grid.times), hedge)
    return jnp.mean(samples, axis=0)
