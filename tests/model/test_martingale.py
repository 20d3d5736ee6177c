"""The martingale readout: positive, a martingale to rounding, lognormal given the latent path."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import SLiSDE, TimeGrid
from slisde.errors import ArgumentError
from slisde.flow.mixture import Mixture, drawn
from slisde.model.martingale import (
    HIGHEST,
    KNOTS,
    OWN_SHARE,
    VOLATILITY,
    MartingaleReadout,
    growth_curve,
)
from slisde.model.readouts import Readout
from tests.builders import random_grid

GRID = TimeGrid(np.array([0.0, 0.1, 0.15, 0.4, 1.0]))
HERMITE, SHARES = np.polynomial.hermite_e.hermegauss(60)
SHARES = SHARES / SHARES.sum()
"""Nodes and weights of a standard normal."""


def readout(mixing, noise=2, **options):
    return MartingaleReadout(5, noise, mixing=mixing, key=jax.random.key(3), **options)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("step", range(GRID.steps))
def test_the_mean_of_the_next_value_is_the_value(step):
    """Integrated over the noise of one step by quadrature, the rest of the noise being fixed."""
    rng = np.random.default_rng(0)
    loadings = np.repeat(rng.normal(size=(GRID.steps + 1, 2, 1)), HERMITE.size, axis=2)
    noise = np.repeat(rng.normal(size=(GRID.steps, 2, 1)), HERMITE.size, axis=2)
    noise[step, 0] = HERMITE
    noise *= np.sqrt(np.asarray(GRID.dt))[:, None, None]
    noise[step, 1] = 0.0
    loadings[step, 1] = -readout(False).bias[1]
    paths = readout(False)(jnp.asarray(loadings), GRID, jnp.asarray(noise), None).values
    np.testing.assert_allclose(SHARES @ paths[:, step + 1], paths[0, step], rtol=1e-12)


@pytest.mark.usefixtures("exact")
def test_given_the_latent_path_the_value_is_lognormal():
    rng = np.random.default_rng(1)
    loadings = np.repeat(rng.normal(size=(GRID.steps + 1, 3, 1)), HERMITE.size, axis=2)
    noise = np.repeat(rng.normal(size=(GRID.steps, 2, 1)), HERMITE.size, axis=2)
    own = np.zeros((GRID.steps, 1, HERMITE.size))
    own[0, 0] = HERMITE * GRID.times[1] ** 0.5
    loadings, noise, own = (jnp.asarray(x) for x in (loadings, noise, own))
    mixture = readout(True)(loadings, GRID, noise, own)
    values, centre, variance = mixture.values[:, 1], mixture.centre[0, 1], mixture.variance[0, 1]
    np.testing.assert_allclose(SHARES @ values, centre, rtol=1e-12)
    np.testing.assert_allclose(SHARES @ values**2, centre**2 * np.exp(variance), rtol=1e-10)
    np.testing.assert_allclose(SHARES @ np.log(values), np.log(centre) - variance / 2, rtol=1e-10)


def test_the_level_scales_the_volatility_of_its_time():
    levels = jnp.zeros(16).at[8:].set(np.log(3.0))
    raised = eqx.tree_at(lambda tree: tree.log_level, readout(False), levels)
    loadings, noise = jnp.full((GRID.steps + 1, 2, 1), 0.1), jnp.full((GRID.steps, 2, 1), 0.1)
    before, after = (
        np.diff(np.log(part(loadings, GRID, noise, None).values[0]))
        for part in (readout(False), raised)
    )
    # √t is below the eighth knot at the first two steps' left ends, and above it at the others'.
    np.testing.assert_allclose(after[:2], before[:2], rtol=1e-5)
    v = 3.0 * (0.1 + np.asarray(raised.bias))
    v /= (1.0 + np.sum(v**2) / HIGHEST**2) ** 0.5
    growth = np.sum(0.1 * v - 0.5 * v**2 * np.asarray(GRID.dt)[3])
    np.testing.assert_allclose(after[3], growth, rtol=1e-4)


def test_the_volatility_is_bounded_however_large_the_state():
    loadings = jnp.full((GRID.steps + 1, 3, 1), 1e6)
    quiet = jnp.zeros((GRID.steps, 2, 1)), jnp.zeros((GRID.steps, 1, 1))
    mixture = readout(True)(loadings, GRID, *quiet)
    # ‖v‖ ≤ HIGHEST, and mixing adds at most its share of that.
    assert np.all(np.isfinite(mixture.values))
    assert mixture.variance[0, -1] <= HIGHEST**2 * (1.0 + OWN_SHARE / (1.0 - OWN_SHARE))


@pytest.mark.parametrize("kind", [Readout.MARTINGALE, Readout.MIXING])
def test_an_untrained_model_starts_at_a_plain_volatility(kind):
    model = SLiSDE(16, 3, 2, readout=kind, initial_value=2.0, key=jax.random.key(0))
    grid, count = random_grid(np.random.default_rng(2), 16), 20_000
    paths = np.asarray(model(grid, count, key=jax.random.key(1)), np.float64)
    assert paths.shape == (count, 17)
    assert np.all(paths > 0)
    np.testing.assert_allclose(paths[:, 0], 2.0)
    error = paths.std(axis=0) / count**0.5
    assert np.all(np.abs(paths.mean(axis=0) - 2.0) <= 4.0 * error)
    assert 0.9 * VOLATILITY < np.log(paths[:, -1]).std() < 1.5 * VOLATILITY


def test_paths_and_their_law_come_from_the_same_noise():
    model = SLiSDE(16, 3, 2, readout=Readout.MIXING, key=jax.random.key(0))
    grid = TimeGrid.uniform(1.0, 8)
    drivers = model.drivers(grid, 6, key=jax.random.key(1))
    sample = model.sample(grid, drivers)
    assert isinstance(sample, Mixture)
    np.testing.assert_array_equal(sample.values, model.observe(grid, drivers))
    np.testing.assert_array_equal(sample.values, model(grid, 6, key=jax.random.key(1)))
    assert np.all(np.diff(sample.variance, axis=1) > 0)


def test_segments_do_not_change_the_paths():
    model = SLiSDE(16, 3, 2, readout=Readout.MIXING, key=jax.random.key(0))
    grid = TimeGrid.uniform(1.0, 8)
    drivers = model.drivers(grid, 6, key=jax.random.key(1))
    whole, cut = model.sample(grid, drivers), model.sample(grid, drivers, segment=3)
    np.testing.assert_allclose(drawn(whole), drawn(cut), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"out": 2}, "one coordinate"), ({"initial_value": -1.0}, "must be positive")],
)
def test_what_cannot_be_a_martingale_is_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        SLiSDE(16, 3, 2, readout=Readout.MIXING, key=jax.random.key(0), **options)


def test_a_normalised_batch_has_its_mean_at_the_start():
    model = SLiSDE(16, 3, 2, readout=Readout.NORMALISED, initial_value=1.5, key=jax.random.key(0))
    paths = model(TimeGrid.uniform(1.0, 8), 300, key=jax.random.key(1))
    np.testing.assert_allclose(paths.mean(axis=0), 1.5, rtol=1e-5)


def test_a_batch_without_a_start_cannot_be_normalised():
    with pytest.raises(ArgumentError, match="must be given"):
        SLiSDE(16, 3, 2, readout=Readout.NORMALISED, key=jax.random.key(0))


def grown(kind, slopes, **options):
    """Return an untrained model whose mean grows as it is told."""
    model = SLiSDE(16, 3, 2, readout=kind, growth=True, key=jax.random.key(0), **options)
    return eqx.tree_at(lambda tree: tree.readout.slopes, model, jnp.asarray(slopes))


def test_growth_is_linear_between_knots_from_zero():
    slopes = np.linspace(-0.1, 0.2, KNOTS - 1)
    grid = TimeGrid(np.linspace(0.0, 2.0, 2 * (KNOTS - 1) + 1))
    curve = np.asarray(growth_curve(jnp.asarray(slopes), grid))
    width = 2.0 / (KNOTS - 1)
    np.testing.assert_allclose(curve[::2], np.concatenate([[0.0], np.cumsum(slopes) * width]))
    np.testing.assert_allclose(curve[1::2], (curve[:-1:2] + curve[2::2]) / 2.0, atol=1e-6)


@pytest.mark.parametrize("kind", [Readout.MARTINGALE, Readout.MIXING])
def test_the_mean_of_a_growing_path_is_its_curve(kind):
    model = grown(kind, np.linspace(0.3, -0.1, KNOTS - 1), initial_value=2.0)
    grid, count = TimeGrid.uniform(1.0, 16), 20_000
    paths = np.asarray(model(grid, count, key=jax.random.key(1)), np.float64)
    mean = 2.0 * np.exp(np.asarray(growth_curve(model.readout.slopes, grid)))
    error = paths.std(axis=0) / count**0.5
    assert np.all(np.abs(paths.mean(axis=0) - mean) <= 4.0 * error)
    assert np.abs(mean[-1] - 2.0) > 20.0 * error[-1]
    assert not model.is_martingale


def test_without_slopes_growth_changes_nothing():
    plain = SLiSDE(16, 3, 2, readout=Readout.MIXING, key=jax.random.key(0))
    model = grown(Readout.MIXING, np.zeros(KNOTS - 1))
    grid = TimeGrid.uniform(1.0, 8)
    for one, other in zip(
        jax.tree.leaves(plain.draw(grid, 6, key=jax.random.key(1))),
        jax.tree.leaves(model.draw(grid, 6, key=jax.random.key(1))),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert plain.is_martingale


def test_the_law_given_the_latent_path_grows_along():
    slopes = np.full(KNOTS - 1, 0.5)
    grid, key = TimeGrid.uniform(1.0, 8), jax.random.key(1)
    still, moving = (grown(Readout.MIXING, s).draw(grid, 6, key=key) for s in (0 * slopes, slopes))
    assert isinstance(still, Mixture)
    assert isinstance(moving, Mixture)
    factor = np.exp(0.5 * np.asarray(grid.times))
    np.testing.assert_allclose(moving.centre, np.asarray(still.centre) * factor, rtol=1e-5)
    np.testing.assert_allclose(moving.values, np.asarray(still.values) * factor, rtol=1e-5)
    np.testing.assert_array_equal(moving.variance, still.variance)


def test_an_expiry_moves_all_slopes_before_it_and_none_after():
    grid = TimeGrid.uniform(1.0, KNOTS - 1)
    loadings, noise = jnp.zeros((grid.steps + 1, 3, 1)), jnp.zeros((grid.steps, 2, 1))

    def value(part):
        return part(loadings, grid, noise, jnp.zeros((grid.steps, 1, 1))).centre[0, 6]

    slopes = eqx.filter_grad(value)(readout(True, growth=True)).slopes
    assert np.all(slopes[:6] > 0.0)
    assert np.all(slopes[6:] == 0.0)


def test_only_martingales_grow():
    with pytest.raises(ArgumentError, match="must be false with the readout `linear`"):
        SLiSDE(16, 3, 2, growth=True, key=jax.random.key(0))
