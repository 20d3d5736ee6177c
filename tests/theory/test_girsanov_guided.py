"""A guided tilt conditions on its event as far as what it expects is right (see slisde.girsanov.guide)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import drawn
from slisde.functionals.running import LookbackCall
from slisde.functionals.terminal import Forward
from slisde.girsanov.diagnosis import diagnose
from slisde.girsanov.event import Event
from slisde.girsanov.guide_fit import fit_guide
from slisde.girsanov.guided import make_guided
from slisde.girsanov.noise import Noise, draw_noise, drivers_of
from slisde.girsanov.pace import FEATURE_EPSILON, Pace
from slisde.girsanov.proposal import Proposal, sample_proposal
from slisde.girsanov.tilt import Driver, make_tilt
from slisde.girsanov.walk import OTHER_FEATURES, walk
from slisde.model.stack import Stacking
from tests.builders import relative_error
from tests.girsanov.tilts import (
    EVENT,
    Gaussian,
    mixing_model,
    random_noise,
    small_grid,
    small_model,
)

GRID = small_grid()
MODELS = {
    "one layer, one driver": lambda: small_model(layers=1, rho=None),
    "gated": lambda: small_model(layers=3),
    "mixing": mixing_model,
    "mixing and innovation": lambda: mixing_model(0.5),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request, _exact_mathematics):
    return MODELS[request.param]()


def noise_of(model, paths: int) -> Noise:
    drivers = model.drivers(GRID, 2, key=jax.random.key(0))
    own = (0 if model.rho is None else model.noise) + (0 if drivers.mixing is None else 1)
    return random_noise(model, GRID, paths, own)


def features(model, noise: Noise, every: int):
    pace = Pace(GRID, -(-GRID.steps // every))
    return walk(model, GRID, pace, noise, lambda _, place, __: (None, place.features()))


@pytest.mark.parametrize("every", [1, 3, 7])
def test_a_walk_without_control_is_the_model(model, every):
    noise = noise_of(model, 3)
    walked = features(model, noise, every)
    expected = drawn(model.sample(GRID, drivers_of(model, noise)))
    assert relative_error(drawn(walked.sample), expected) <= 1e-12
    last = model.layer_paths(GRID, drivers_of(model, noise))[-1]
    width = model.latent
    assert relative_error(walked.records[:, -3 - width : -3], last[:-1][::every]) <= 1e-12
    sizes = np.mean(np.asarray(last[:-1][::every]) ** 2, axis=1)
    assert relative_error(walked.records[:, -2], sizes) <= 1e-12
    assert relative_error(walked.records[:, -1], np.log(sizes + FEATURE_EPSILON)) <= 1e-12


def test_slopes_are_what_noise_adds_to_the_features(model):
    step, pace = 3, Pace(GRID, GRID.steps)
    # Slopes are those where no noise is: states before the last are normalised.
    noise = jax.tree.map(lambda x: x.at[step].set(0.0) if x.ndim == 3 else x, noise_of(model, 2))
    weights = jnp.cos(jnp.arange(len(model.layers) * model.latent + OTHER_FEATURES) + 1.0)
    walked = walk(model, GRID, pace, noise, lambda _, __, slope: (None, slope(weights)))
    slopes = walked.records[step]

    def after(increments):
        driven = [noise.prefix.at[step].set(increments[: model.noise])]
        driven.append(
            None if noise.own is None else noise.own.at[step].set(increments[model.noise :])
        )
        walked = features(model, Noise(noise.initial, *driven), 1)
        return weights @ walked.records[step + 1]

    parts = [noise.prefix[step]] + ([] if noise.own is None else [noise.own[step]])
    _, pull = jax.vjp(after, jnp.concatenate(parts))
    assert relative_error(slopes, pull(jnp.ones(2))[0]) <= 1e-10


@pytest.fixture(scope="module")
def gaussian(_exact_mathematics):
    return Gaussian(steps=64)


@pytest.fixture(scope="module")
def plain_guide(gaussian):
    """A guide for the law that it supposes, with nothing to train."""

    def fitted(event):
        tilt = make_guided(gaussian.model, gaussian.grid, event, control_steps=64)
        tilt = fit_guide(
            tilt, gaussian.model, gaussian.grid, event, paths=4096, key=jax.random.key(3)
        )
        return eqx.tree_at(lambda t: t.steering.width, tilt, jnp.ones(()))

    return fitted


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("probability", [1e-2, 1e-4, 1e-6])
def test_probabilities_of_a_normal_law_are_found_with_less_variance_than_by_a_shift(
    gaussian, plain_guide, probability, above, key
):
    deviations = (1.0 if above else -1.0) * norm.isf(probability)
    threshold = gaussian.mean + deviations * gaussian.deviation
    event = Event(Forward(1.0), threshold, above=above)

    @eqx.filter_jit
    def estimate(tilt):
        proposal = Proposal((tilt,), 0.0)
        batch = sample_proposal(proposal, gaussian.model, gaussian.grid, 4000, key=key)
        values = event.values(batch.sample, jnp.asarray(gaussian.grid.times))
        return values, batch.log_weights, batch.origin

    found, shifted = (
        diagnose(*(np.asarray(each) for each in estimate(tilt)))
        for tilt in (plain_guide(event), gaussian.best_tilt(deviations))
    )
    assert abs(found.value - probability) <= 4.0 * found.standard_error
    assert found.hit_rate > 0.9
    # What is left comes from the initial state, whose law is shifted only, and from long steps.
    assert found.standard_error <= 0.7 * shifted.standard_error


def test_a_guide_expects_what_the_normal_law_expects(gaussian, plain_guide):
    event = Event(Forward(1.0), gaussian.mean + 2.0 * gaussian.deviation)
    guide = plain_guide(event).steering.guide
    left = [
        float(jnp.sum(gaussian.driver_slope[k:] ** 2)) / gaussian.grid.steps for k in (0, 16, 48)
    ]
    found = np.asarray(guide.usual)[[0, 16, 48], 0, 0]
    # The variance of a sample variance of 4,096 normals, less the fitted features.
    assert np.all(np.abs(found / np.array(left) - 1.0) <= 4.0 * (2.0 / 4096) ** 0.5 + 0.01)


def test_a_weaker_version_aims_at_the_event_when_its_time_comes(gaussian, plain_guide):
    """At the start it aims at a part of the way to the threshold, and at the threshold in the end."""
    event = Event(Forward(0.5), gaussian.mean + 2.0 * gaussian.deviation)
    steering = plain_guide(event).steering
    pace = Pace(gaussian.grid, 64)
    aims = np.asarray(steering.weakened(0.25)._rows(pace)[-1])
    centre, threshold = float(steering.centre), float(steering.threshold)
    assert np.isclose(aims[0], centre + 0.25 * (threshold - centre), rtol=1e-12)
    assert np.isclose(aims[16], centre + 0.625 * (threshold - centre), rtol=1e-12)
    assert np.all(aims[32:] == threshold)
    assert np.all(np.asarray(steering._rows(pace)[-1]) == threshold)
    twice = steering.weakened(0.5).weakened(0.5)
    assert np.allclose(twice._rows(pace)[-1], aims, rtol=1e-12)


def test_a_tilt_can_be_aimed_at_an_easier_event_and_at_no_harder_one(gaussian, plain_guide):
    threshold = gaussian.mean + 2.0 * gaussian.deviation
    tilt = plain_guide(Event(Forward(1.0), threshold))
    centre = float(tilt.steering.centre)
    nearer = tilt.aimed_at(jnp.asarray(0.25 * threshold + 0.75 * centre))
    assert np.isclose(nearer.steering.threshold, 0.25 * threshold + 0.75 * centre, rtol=1e-12)
    assert np.allclose(nearer.initial.shift, 0.25 * tilt.initial.shift, rtol=1e-12)
    further = tilt.aimed_at(jnp.asarray(threshold + 1.0))
    assert np.isclose(further.steering.threshold, threshold, rtol=1e-12)


@pytest.fixture(scope="module")
def wild(_exact_mathematics):
    """A model whose noise multiplies its states, its grid, and means and deviations of plain paths."""
    model, grid = small_model(layers=2), TimeGrid.uniform(1.0, 32)
    pace = Pace(grid, 16)
    walked = walk(
        model,
        grid,
        pace,
        draw_noise(model, grid, 4096, key=jax.random.key(5)),
        lambda _, place, __: (None, place.features()),
    )
    ends, sizes = drawn(walked.sample)[:, -1], walked.records[-1, -1]
    return model, grid, ends, sizes


@pytest.mark.parametrize(("deviations", "share"), [(2.0, 0.0), (3.5, 0.5), (6.0, 1.0)])
def test_growth_takes_part_in_far_events_only(wild, deviations, share):
    model, grid, ends, _ = wild
    event = Event(Forward(1.0), float(ends.mean() + deviations * ends.std()))
    tilt = fit_guide(
        make_guided(model, grid, event, control_steps=16),
        model,
        grid,
        event,
        paths=4096,
        key=jax.random.key(6),
    )
    # Deviations are those of other paths: 4,096 squares of kurtosis below 10.
    tolerance = 0.0 if share in (0.0, 1.0) else 4.0 * deviations * (9.0 / 4096 / 2.0) ** 0.5
    assert abs(float(tilt.growth.share) - share) <= tolerance


def test_growth_makes_the_last_state_grow(wild):
    model, grid, ends, sizes = wild
    event = Event(Forward(1.0), float(ends.mean() + 6.0 * ends.std()))
    tilt = make_guided(model, grid, event, control_steps=16)
    tilt = fit_guide(tilt, model, grid, event, paths=4096, key=jax.random.key(6))
    noise = draw_noise(model, grid, 4096, key=jax.random.key(7))
    grown = [float(last_sizes(law, model, grid, noise).mean()) for law in tilt.versions[-2:]]
    assert grown[1] > grown[0] > float(sizes.mean() + 1.5 * sizes.std())


def last_sizes(law, model, grid, noise: Noise):
    """Return the logarithm of the last state's mean square where the last control step begins."""
    pace = law.pace(grid)

    def control(index, place, slope):
        outlook = law.steering.guide.outlook(index, place, slope)
        return law.steering.at(pace, index, outlook), place.features()[-1]

    noise = Noise(law.initial.push(noise.initial), noise.prefix, noise.own)
    return walk(model, grid, pace, noise, control).records[-1]


def test_what_cannot_be_guided_is_refused():
    residual = small_model(rho=None, stacking=Stacking.RESIDUAL)
    with pytest.raises(ArgumentError, match="must be gated"):
        make_guided(residual, GRID, EVENT)
    with pytest.raises(ArgumentError, match="further back than one node"):
        make_guided(small_model(causal_conv=True), GRID, EVENT)
    with pytest.raises(ArgumentError, match="make_guided"):
        make_tilt(small_model(), driver=Driver.GUIDED, key=jax.random.key(0))
    with pytest.raises(ArgumentError, match="must be 1"):
        make_guided(small_model(out=2), GRID, EVENT)
    with pytest.raises(ArgumentError, match="must watch a quantity"):
        make_guided(small_model(), GRID, Event(None, payoff=LookbackCall(1.0)))


def test_guides_that_expect_different_things_are_not_mixed():
    guides = tuple(make_guided(small_model(), GRID, EVENT) for _ in range(2))
    with pytest.raises(ArgumentError, match="must see alike"):
        Proposal(guides, 0.1)
