"""Tilts are trained from easy events to rare ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from slisde.errors import ArgumentError
from slisde.flow.mixture import drawn
from slisde.functionals.terminal import Forward
from slisde.girsanov.course import TiltSettings
from slisde.girsanov.diagnosis import diagnose
from slisde.girsanov.event import Event
from slisde.girsanov.log_ratio import divergence, log_ratio_score
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.objective import Wall, cross_entropy, snis_variance, target_weights
from slisde.girsanov.pool import EMPHASIS, Pool, reachable_level
from slisde.girsanov.proposal import Proposal, sample_proposal
from slisde.girsanov.tilt import Driver, check_tiltable, make_tilt
from slisde.girsanov.training import train_tilt
from slisde.model.readouts import Readout
from slisde.model.stack import SLiSDE
from tests.girsanov.tilts import Gaussian, random_tilt, small_grid, small_model

SETTINGS = TiltSettings(paths=512, rounds=10, polish=4, enough=100.0)


@pytest.fixture(scope="module")
def gaussian():
    return Gaussian()


@pytest.fixture(scope="module")
def trained(gaussian):
    """A tilt trained for an event of probability 10⁻⁴."""
    threshold = gaussian.mean + norm.isf(1e-4) * gaussian.deviation
    event = Event(Forward(1.0), threshold)
    tilt = make_tilt(gaussian.model, driver=Driver.ALL, covariance=True, key=jax.random.key(0))
    found = train_tilt(tilt, gaussian.model, gaussian.grid, event, SETTINGS, key=jax.random.key(1))
    return event, found


def test_training_goes_from_easy_to_rare_and_reaches_the_event(trained):
    _, found = trained
    assert found.reached
    assert found.paths == 512 * len(found.rounds)
    levels = [seen.level for seen in found.rounds]
    assert levels[0] < levels[1] < 0.0
    assert levels[-1] == 0.0
    assert found.rounds[0].probability > 0.1
    assert found.rounds[-1].share > 0.3


def test_a_trained_tilt_finds_the_exact_probability(gaussian, trained):
    event, found = trained
    proposal = Proposal((found.tilt,), 0.1)
    batch = sample_proposal(proposal, gaussian.model, gaussian.grid, 4000, key=jax.random.key(2))
    values = event.values(batch.sample, jnp.asarray(gaussian.grid.times))
    result = diagnose(*(np.asarray(x) for x in (values, batch.log_weights, batch.origin)))
    assert abs(result.value - 1e-4) <= 4.0 * result.standard_error
    assert result.standard_error <= 0.1e-4
    assert abs(result.mean_weight - 1.0) <= 0.02


def test_scales_are_never_narrower_than_the_reference_law(trained):
    log_scale = trained[1].tilt.initial.log_scale
    assert log_scale is not None
    assert float(jnp.min(log_scale)) >= 0.0


def test_the_level_is_the_rarest_that_has_enough_effective_paths():
    excess, log_ratio = np.array([-4.0, -1.0, -3.0, -2.0, -np.inf]), np.zeros(5)
    assert reachable_level(excess, log_ratio, 2.0) == -2.0
    assert reachable_level(excess + 3.5, log_ratio, 2.0) == 0.0
    assert reachable_level(excess, log_ratio, 9.0) == -4.0


def test_target_weights_are_clipped_about_their_mean_over_the_event():
    log_ratio = jnp.array([-20.0, -20.0, 20.0, 99.0])
    target = target_weights(jnp.array([1.0, 1.0, 1.0, 0.0]), log_ratio, clip=1.0)
    expected = np.array([np.exp(1.0), np.exp(1.0), np.exp(-1.0), 0.0])
    assert np.allclose(target, expected / expected.sum(), rtol=1e-6)
    assert np.all(np.asarray(target_weights(jnp.zeros(4), log_ratio)) == 0.0)


def test_the_wall_is_quadratic_above_its_height():
    wall = Wall(0.5, 2.0)
    assert float(wall(jnp.asarray(1.0))) == pytest.approx(0.5)
    assert float(wall(jnp.asarray(5.0))) == pytest.approx(2.5 + 9.0)


def test_the_variance_objective_is_the_variance_and_falls_along_its_gradient():
    model, grid = small_model(), small_grid()
    tilt = random_tilt(model, 0.1, driver=Driver.ALL)
    pace = tilt.pace(grid)
    noise = draw_noise(model, grid, 2000, key=jax.random.key(4))
    batch = eqx.filter_jit(tilt.draw)(model, grid, noise)
    values = (drawn(batch.sample)[:, -1] > 0.5).astype(jnp.float32)

    @eqx.filter_jit
    def objective(tilt):
        return snis_variance(tilt, pace, batch.path, values, batch.log_ratio)

    weights = np.exp(-np.asarray(batch.log_ratio, np.float64))
    seen = np.asarray(values)
    mean = np.sum(weights * seen) / weights.sum()
    expected = np.mean(weights**2 * (seen - mean) ** 2) / weights.mean() ** 2
    assert float(objective(tilt)) == pytest.approx(expected, rel=1e-3)
    gradient = eqx.filter_grad(objective)(tilt)
    moved = eqx.apply_updates(tilt, jax.tree.map(lambda g: -0.05 * g, gradient))
    assert float(objective(moved)) < float(objective(tilt))
    assert float(eqx.filter_jit(divergence)(moved, pace, batch.noise)) > 0.0


def test_polishing_lowers_a_power_of_the_tilts_own_weights():
    model, grid = small_model(), small_grid()
    drew, tilt = (random_tilt(model, scale, driver=Driver.ALL) for scale in (0.1, 0.2))
    pace = tilt.pace(grid)
    batch = drew.draw(model, grid, draw_noise(model, grid, 500, key=jax.random.key(4)))
    last = drawn(batch.sample)[:, -1]
    pool = Pool(batch.path, last - 0.5, jnp.abs(last), batch.log_ratio)
    shares = pool.target(jnp.zeros(()), clip=jnp.inf)

    def power(tilt):
        own = pool.magnitude * jnp.exp(-log_ratio_score(tilt, pace, pool.seen))
        return jnp.log(shares @ own**EMPHASIS) / EMPHASIS

    target = pool.emphasised(log_ratio_score(tilt, pace, pool.seen))
    expected = eqx.filter_grad(power)(tilt)
    found = eqx.filter_grad(lambda tilt: cross_entropy(tilt, pace, pool.seen, target))(tilt)
    for slope, other in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        assert np.allclose(slope, other, rtol=1e-3, atol=1e-5)


def test_a_model_without_innovation_has_no_last_layer_to_tilt():
    with pytest.raises(ArgumentError, match="no innovation is there"):
        make_tilt(small_model(rho=None), driver=Driver.LAST, key=jax.random.key(0))


def test_batches_that_are_normalised_cannot_be_tilted():
    model = SLiSDE(
        4, 2, 1, block_size=2, readout=Readout.NORMALISED, initial_value=1.0, key=jax.random.key(0)
    )
    with pytest.raises(ArgumentError, match="mean of a tilted batch"):
        check_tiltable(model)


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_outside_its_domain_is_refused(share):
    with pytest.raises(ArgumentError, match="it is a share"):
        Proposal((), share)
