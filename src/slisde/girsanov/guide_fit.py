"""What plain paths say of a watched quantity: the regressions behind a guide."""

from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from slisde.flow.grid import TimeGrid
from slisde.girsanov.event import Event
from slisde.girsanov.growth import DEVIATIONS, Growth, share_of_growth
from slisde.girsanov.guide import LEAST, Outlook, Quantity
from slisde.girsanov.guided import GuidedTilt, scaled
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.outcome_tail import hazard, unrest_of
from slisde.girsanov.walk import walk
from slisde.model.stack import SLiSDE

PATHS, BATCH = 8192, 1024
"""Plain paths that a guide is fitted to, and how many at a time."""
RIDGE, VARIANCE_RIDGE = 1e-5, 1e-2
"""Penalties of the regressions of X and of (X − m)², beside unit variances of the features."""
MOST_LOCAL = 0.9
"""Bound of the share of the variance that is proportional to the local one."""
MOST_UNREST = 0.6
SMALLEST = 1e-30

AllFeatures: TypeAlias = Float[np.ndarray, "control_step feature path"]
Outcome: TypeAlias = Float[np.ndarray, " path"]


def fit_guide(
    tilt: GuidedTilt,
    model: SLiSDE,
    grid: TimeGrid,
    event: Event,
    *,
    paths: int = PATHS,
    key: PRNGKeyArray,
) -> GuidedTilt:
    """Return the tilt with its guide fitted to plain paths, and the initial state shifted by it.

    Args:
        tilt: from `make_guided`.
        model: the fitted model.
        grid: the time grid.
        event: the rare event or payoff.
        paths: plain paths to fit it to.
        key: random key of these paths.
    """
    keys = [jax.random.fold_in(key, index) for index in range(-(-paths // BATCH))]
    pace = tilt.pace(grid)
    alive = np.asarray(pace.since) < event.maturity / float(grid.times[-1])
    features, outcome, normals = _joined([_plain(model, grid, pace, event, each) for each in keys])
    # States are known where control steps begin: the last one that matters is where growth is watched.
    last = np.flatnonzero(alive)[-1]
    size, growing = features[last, -1], alive & (np.arange(alive.size) < last)
    watched = {Quantity.OUTCOME: (outcome, alive), Quantity.SIZE: (size, growing)}
    fits = [_backward(features, *each) for each in watched.values()]
    slopes, levels, _ = (list(part) for part in zip(*fits, strict=True))
    tilt = eqx.tree_at(
        lambda t: (t.steering.guide.slopes, t.steering.guide.levels),
        tilt,
        (_together(slopes), _together(levels)),
    )
    (outlook,) = _joined([(_outlook(tilt, model, grid, each),) for each in keys])
    found = [
        _variances(outlook[:, quantity], fits[quantity].squares, undecided)
        for quantity, (_, undecided) in watched.items()
    ]
    tilt = eqx.tree_at(
        lambda t: (t.steering.guide.usual, t.steering.guide.local, t.steering.guide.unrest),
        tilt,
        tuple(_together(list(part)) for part in zip(*found, strict=True)),
    )
    return _aimed(tilt, normals, outcome, size)


def _aimed(
    tilt: GuidedTilt, normals: Float[np.ndarray, "latent path"], outcome: Outcome, size: Outcome
) -> GuidedTilt:
    """Return the tilt with the mean of X, the shift of the initial state, and what growth aims at."""
    threshold = float(tilt.steering.threshold)
    shift = _initial_shift(normals, outcome, threshold, above=tilt.steering.above)
    deviations = abs(threshold - outcome.mean()) / max(float(outcome.std()), SMALLEST)
    growth = _growth(normals, size, share_of_growth(deviations), shift)
    return eqx.tree_at(
        lambda t: (t.steering.centre, t.initial.shift, t.growth),
        tilt,
        (_array(outcome.mean()), _array(shift), growth),
    )


def _growth(
    normals: Float[np.ndarray, "latent path"],
    size: Outcome,
    share: float,
    shift: Float[np.ndarray, " latent"],
) -> Growth:
    """Return what growth aims at; as far as it takes no part, its paths begin where those to the event do."""
    thresholds = size.mean() + size.std() * np.array(DEVIATIONS)
    growing = [_initial_shift(normals, size, each, above=True) for each in thresholds]
    shifts = share * np.stack(growing) + (1.0 - share) * shift
    parts = (np.float64(share), size.mean(), thresholds, shifts)
    return Growth(*(_array(each) for each in parts))


class _Fit(NamedTuple):
    """Slopes and levels of m and s² of a quantity, and (X − m)² of every path."""

    slopes: Float[np.ndarray, "control_step 2 feature"]
    levels: Float[np.ndarray, "control_step 2"]
    squares: Float[np.ndarray, "control_step path"]


def _backward(
    features: AllFeatures, outcome: Outcome, alive: Bool[np.ndarray, " control_step"]
) -> _Fit:
    """Return what the features say of an outcome.

    m of a step is fitted to m of the next one, and s² to s² of the next one and what m moved between
    them: one step of noise is in the way then, and not all that is left. Slopes of X itself, far from
    its time, were seen to be mostly noise, which the control would follow.
    """
    steps, width, _ = features.shape
    slopes, levels = np.zeros((steps, 2, width)), np.zeros((steps, 2))
    squares = np.ones((steps, outcome.size))
    mean, variance = outcome, np.zeros_like(outcome)
    for step in reversed(np.flatnonzero(alive)):
        fit = _Regression(features[step])
        before = mean
        slopes[step, 0], levels[step, 0] = fit(before, RIDGE)
        mean = slopes[step, 0] @ features[step] + levels[step, 0]
        slopes[step, 1], levels[step, 1] = fit(variance + (before - mean) ** 2, VARIANCE_RIDGE)
        variance = np.maximum(slopes[step, 1] @ features[step] + levels[step, 1], 0.0)
        squares[step] = (outcome - mean) ** 2
    return _Fit(slopes, levels, squares)


class _Regression:
    """Ridge regressions on the features of one control step."""

    def __init__(self, features: Float[np.ndarray, "feature path"]):
        self._means, scales = features.mean(axis=-1), features.std(axis=-1)
        self._scales = np.where(scales > SMALLEST, scales, 1.0)
        self._centred = (features - self._means[:, None]) / self._scales[:, None]
        self._squares = self._centred @ self._centred.T / features.shape[-1]

    def __call__(
        self, outcome: Outcome, penalty: float
    ) -> tuple[Float[np.ndarray, " feature"], float]:
        """Return slopes and level."""
        products = self._centred @ (outcome - outcome.mean()) / outcome.size
        ridge = penalty * np.eye(len(products))
        slopes = np.linalg.solve(self._squares + ridge, products) / self._scales
        return slopes, float(outcome.mean() - slopes @ self._means)


def _initial_shift(
    normals: Float[np.ndarray, "latent path"], outcome: Outcome, threshold: float, *, above: bool
) -> Float[np.ndarray, " latent"]:
    """Return the mean of ξ given the event if ξ and the outcome were jointly normal."""
    sign = 1.0 if above else -1.0
    spread = max(float(outcome.std()), SMALLEST)
    slopes = normals @ (outcome - outcome.mean()) / outcome.size / spread
    distance = sign * (threshold - outcome.mean()) / spread
    return sign * slopes * float(hazard(jnp.asarray(distance), jnp.zeros(())))


def _variances(
    outlook: Float[np.ndarray, "control_step mean_variance_and_slopes path"],
    squares: Float[np.ndarray, "control_step path"],
    alive: Bool[np.ndarray, " control_step"],
) -> tuple[
    Float[np.ndarray, "control_step 2"],
    Float[np.ndarray, " control_step"],
    Float[np.ndarray, " control_step"],
]:
    """Return the means of (X − m)² and of ‖σᵀ∇m‖², the share of the former that goes with the latter, and τ."""
    channels = (outlook.shape[1] - 2) // 2
    local = np.sum(outlook[:, 2 : 2 + channels] ** 2, axis=1)
    variance, usual = np.maximum(squares.mean(axis=1), SMALLEST), local.mean(axis=1)
    scatter = local - usual[:, None]
    slope = np.sum(scatter * squares, axis=1) / np.maximum(np.sum(scatter**2, axis=1), SMALLEST)
    moved = alive & (usual > 0.0)
    share = np.where(moved, np.clip(slope * usual / variance, 0.0, MOST_LOCAL), 0.0)
    means = np.stack([np.where(alive, variance, 1.0), np.where(moved, usual, 1.0)], axis=1)
    linear = np.maximum(outlook[:, 1], LEAST * means[:, :1])
    spread = (1.0 - share)[:, None] * linear + share[:, None] * local * (
        means[:, :1] / means[:, 1:]
    )
    ratios = squares / np.maximum(spread, SMALLEST)
    kurtosis = np.mean(ratios**2, axis=1) / np.maximum(np.mean(ratios, axis=1) ** 2, SMALLEST)
    return means, share, np.where(alive, np.minimum(unrest_of(kurtosis), MOST_UNREST), 0.0)


def _joined(parts: list[tuple[Array, ...]]) -> list[np.ndarray]:
    """Return arrays of batches as arrays of all paths."""
    return [
        np.concatenate([np.asarray(each, np.float64) for each in same], axis=-1)
        for same in zip(*parts, strict=True)
    ]


@eqx.filter_jit
def _plain(model, grid, pace, event, key):
    """Return the features at all control steps, the outcome and the initial normals of plain paths."""
    noise = draw_noise(model, grid, BATCH, key=key)
    walked = walk(model, grid, pace, noise, lambda _, place, __: (None, place.features()))
    outcome = event.outcome(walked.sample, jnp.asarray(grid.times))
    return walked.records, scaled(model, outcome), noise.initial


@eqx.filter_jit
def _outlook(tilt: GuidedTilt, model: SLiSDE, grid: TimeGrid, key: PRNGKeyArray) -> Outlook:
    return tilt.outlook(model, grid, draw_noise(model, grid, BATCH, key=key)).records


def _together(parts: list[np.ndarray]) -> Float[Array, "control_step quantity ..."]:
    """Return what was found of each quantity as one array."""
    return _array(np.stack(parts, axis=1))


def _array(values: np.ndarray | np.float64) -> Array:
    return jnp.asarray(values, float)
