"""Two layers reach any terminal law in W₂ (thm:wasserstein-density-terminal-laws), by the proof's own weights.

Layer 1 is β e_1 dW, so that R_T, the first normalised coordinate, has no atoms. Layer 2 relaxes with
rate λ to sigmoids of slope a in R_t, one per atom of a finitely supported law ν near the target, cut at the
quantiles of R_T. The readout adds the atoms' distances up.
"""

from itertools import pairwise
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from slisde.flow.brownian import coarsen
from slisde.flow.gating import Norm, normalise
from slisde.flow.grid import TimeGrid
from slisde.model.coefficients import NoiseType
from slisde.model.gate import NORM_EPSILON
from slisde.model.stack import Drivers, SLiSDE
from tests.builders import random_increments

PATHS = 2048
ATOMS = 16
BETA = 1.0
HORIZON = 2.0
LEVELS = (np.arange(100 * PATHS) + 0.5) / (100 * PATHS)


class Rung(NamedTuple):
    """Slope of the sigmoids, rate of relaxation, steps of the grid."""

    a: float
    rate: float
    steps: int


LADDER = (Rung(4.0, 4.0, 16), Rung(16.0, 16.0, 64), Rung(64.0, 64.0, 256))
FINEST = TimeGrid.uniform(HORIZON, LADDER[-1].steps)


def bimodal(levels):
    """Return quantiles of 0.35 N(−1.5, 0.4²) + 0.65 N(1, 0.3²)."""
    x = np.linspace(-5.0, 5.0, 20_001)
    left, right = scipy.stats.norm.cdf(x, -1.5, 0.4), scipy.stats.norm.cdf(x, 1.0, 0.3)
    return np.interp(levels, 0.35 * left + 0.65 * right, x)


def skewed(levels):
    """Return quantiles of the exponential law, centred."""
    return -np.log1p(-levels) - 1.0


def finite_law(target):
    """Return atoms y_i and cumulative weights P_i of a law near the target, by Lloyd's iteration."""
    values = target(LEVELS)
    points = target((np.arange(ATOMS) + 0.5) / ATOMS)
    for _ in range(100):
        points = np.array([cell.mean() for cell in np.split(values, _cuts(values, points))])
    return points, LEVELS[_cuts(values, points)]


def _cuts(values, points):
    """Return where the nearest point changes."""
    return np.searchsorted(values, (points[1:] + points[:-1]) / 2)


def distance(one, other):
    """Return ‖X − X'‖ in L²."""
    return np.sqrt(np.mean((one - other) ** 2))


def wasserstein(samples, target):
    """Return W₂ between equally weighted samples and the target: quantiles coupled with quantiles."""
    quantiles = np.repeat(np.sort(samples), len(LEVELS) // len(samples))
    return distance(quantiles, target(LEVELS))


def construction(points, quantiles, rung, key):
    """Return the two-layer model of Steps 1 to 3, its offsets times Δt (eq:app-dictionary)."""
    width, dt = len(points), HORIZON / rung.steps
    model = SLiSDE(
        width, 1, 2, block_size=1, noise_type=NoiseType.ADDITIVE, time_dependent=False, key=key
    )
    drifts = [np.zeros((1, width, 1, 1)), np.full((1, width, 1, 1), -rung.rate)]
    diffusions = [BETA * np.eye(width, 1), np.zeros((width, 1))]
    kernel, time_kernel = np.zeros((4, width, width)), np.zeros((4, width, 4))
    kernel[2, 1:, 0] = rung.a
    time_kernel[2, 1:, 0] = -rung.a * quantiles / HORIZON
    time_kernel[3, :, 0] = rung.rate * dt / HORIZON
    time_kernel[3, 0, 0] *= 2.0  # the constant coordinate, whose gate is σ(0) = 1/2
    readout = np.concatenate([points[:1], np.diff(points)])[None]
    weights = [*drifts, *diffusions, kernel, time_kernel, readout]
    return eqx.tree_at(_weights, model, [jnp.asarray(weight) for weight in weights])


def _weights(model):
    gate, layers = model.couplings[0], [layer.coefficients for layer in model.layers]
    matrices, diffusions = zip(
        *((layer.matrices, layer.diffusion) for layer in layers), strict=True
    )
    return [*matrices, *diffusions, gate.kernel, gate.time_kernel, model.readout.kernel]


class Outcome(NamedTuple):
    """Y_T and R_T on every path, and the limits H_a(R_T) and H(R_T) of the proof."""

    values: np.ndarray
    feature: np.ndarray
    smooth: np.ndarray
    sharp: np.ndarray


def noise_of_paths(seed):
    """Return the initial states and the driver of a batch on the finest grid."""
    rng = np.random.default_rng(seed)
    driver = random_increments(rng, FINEST, 1, PATHS)
    return Drivers(jnp.asarray(rng.normal(size=(ATOMS, PATHS))), driver, driver)


def on_grid(drivers, steps):
    """Return a coarser grid and the same paths of the driver on it."""
    factor = FINEST.steps // steps
    driver = coarsen(drivers.prefix, factor)
    return FINEST.coarsen(factor), Drivers(drivers.initial, driver, driver)


@eqx.filter_jit
def terminal(model, grid, drivers):
    """Return Y_T and R_T on every path."""
    first, last = model.layer_paths(grid, drivers)
    return model.readout(last[-2:])[:, -1], normalise(first[-1], Norm.RMS, NORM_EPSILON)[0]


def outcome(target, rung, key, *, fit_to, sample):
    """Run the construction cut at the quantiles of R_T on the paths `fit_to`, on the paths `sample`."""
    points, cumulative = finite_law(target)
    blank = construction(points, np.zeros(ATOMS - 1), LADDER[0], key)
    _, feature = terminal(blank, *on_grid(fit_to, LADDER[0].steps))
    quantiles = np.quantile(np.asarray(feature), cumulative)
    model = construction(points, quantiles, rung, key)
    values, feature = terminal(model, *on_grid(sample, rung.steps))
    above = np.asarray(feature) - quantiles[:, None]
    smooth = points[0] + np.diff(points) @ scipy.special.expit(rung.a * above)
    sharp = points[0] + np.diff(points) @ (above > 0.0)
    return Outcome(np.asarray(values), np.asarray(feature), smooth, sharp)


@pytest.fixture(scope="module", params=[bimodal, skewed])
def ladder(request, key):
    """A target and the outcome of every rung on the paths to which the quantiles are fitted."""
    target, paths = request.param, noise_of_paths(51)
    return target, [outcome(target, rung, key, fit_to=paths, sample=paths) for rung in LADDER]


def test_the_distance_to_the_target_falls_as_slope_rate_and_grid_grow(ladder):
    target, outcomes = ladder
    distances = [wasserstein(outcome.values, target) for outcome in outcomes]
    assert distances[0] > 2.0 * distances[1], distances
    assert distances[1] > 1.2 * distances[2], distances
    assert distances[2] < 0.08, distances


def test_the_distance_is_at_most_the_three_errors_of_the_proof_and_each_falls(ladder):
    target, outcomes = ladder
    relaxation = [distance(x.values, x.smooth) for x in outcomes]
    slope = [distance(x.smooth, x.sharp) for x in outcomes]
    support = wasserstein(outcomes[0].sharp, target)
    for outcome, *errors in zip(outcomes, relaxation, slope, strict=True):
        assert wasserstein(outcome.values, target) <= sum(errors) + support
    for errors in (relaxation, slope):
        assert all(earlier > 1.2 * later for earlier, later in pairwise(errors)), errors
    assert support < 0.11


def test_the_first_layer_is_exact_on_every_grid(ladder):
    _, outcomes = ladder
    for outcome in outcomes:
        assert distance(outcome.feature, outcomes[0].feature) <= 1e-12


def test_the_discretised_outcome_converges_once_slope_and_rate_are_chosen(key):
    paths = noise_of_paths(51)
    rungs = [Rung(16.0, 16.0, steps) for steps in (16, 64, 256)]
    coarse, middle, fine = (
        outcome(bimodal, rung, key, fit_to=paths, sample=paths).values for rung in rungs
    )
    assert distance(middle, fine) < 0.5 * distance(coarse, fine)


@pytest.mark.parametrize("target", [bimodal, skewed])
def test_a_fresh_sample_is_as_near_to_the_target_as_a_sample_of_the_target(target, key):
    paths, fresh = noise_of_paths(51), noise_of_paths(52)
    values = outcome(target, LADDER[-1], key, fit_to=paths, sample=fresh).values
    rng = np.random.default_rng(53)
    exact = [wasserstein(target(rng.uniform(size=PATHS)), target) for _ in range(50)]
    assert wasserstein(values, target) <= 0.08 + np.mean(exact) + 3.0 * np.std(exact)
