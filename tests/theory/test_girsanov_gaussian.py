"""Exact probabilities of one linear additive layer, whose terminal value is normal."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from slisde.experiments.rare_verdict import Advice, judge
from slisde.functionals.base import Custom
from slisde.functionals.terminal import Forward
from slisde.girsanov.coverage import LEAST, NEAREST, coverage
from slisde.girsanov.diagnosis import diagnose
from slisde.girsanov.event import Event
from slisde.girsanov.log_ratio import divergence
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.objective import cross_entropy, target_weights
from slisde.girsanov.proposal import Proposal, sample_proposal
from tests.builders import relative_error
from tests.girsanov.tilts import Gaussian

PATHS = 10_000


@pytest.fixture(scope="module")
def gaussian(_exact_mathematics):
    return Gaussian()


def draw(gaussian, proposal, event, key):
    """Return G, the log-weights, the origin and the excess of paths of a proposal."""

    @eqx.filter_jit
    def run(proposal):
        batch = sample_proposal(proposal, gaussian.model, gaussian.grid, PATHS, key=key)
        times = jnp.asarray(gaussian.grid.times)
        values, excess = event.values(batch.sample, times), event.excess(batch.sample, times)
        return values, batch.log_weights, batch.origin, excess

    return tuple(np.asarray(each) for each in run(proposal))


def estimate(gaussian, tilt, threshold, reference, key):
    proposal = Proposal((tilt,), reference)
    return diagnose(*draw(gaussian, proposal, Event(Forward(1.0), threshold), key)[:3])


@pytest.mark.parametrize("reference", [0.0, 0.1])
@pytest.mark.parametrize("probability", [1e-2, 1e-4, 1e-6, 1e-8])
def test_probabilities_are_those_of_the_normal_law(gaussian, probability, reference, key):
    deviations = norm.isf(probability)
    threshold = gaussian.mean + deviations * gaussian.deviation
    found = estimate(gaussian, gaussian.best_tilt(deviations), threshold, reference, key)
    assert abs(found.value - probability) <= 4.0 * found.standard_error
    assert found.standard_error <= 0.035 * probability
    assert 0.4 < found.hit_rate < 0.55
    if probability == 1e-6:
        assert abs(found.value / probability - 1.0) <= 0.05


@pytest.mark.parametrize("probability", [1e-2, 1e-4, 1e-8])
def test_a_ladder_has_the_same_expectation_and_goes_to_all_of_a_simple_event(
    gaussian, probability, key
):
    deviations = norm.isf(probability)
    event = Event(Forward(1.0), gaussian.mean + deviations * gaussian.deviation)
    proposal = Proposal.ladder(gaussian.best_tilt(deviations), 0.1)
    values, log_weights, origin, excess = draw(gaussian, proposal, event, key)
    found = diagnose(values, log_weights, origin)
    assert abs(found.value - probability) <= 4.0 * found.standard_error
    assert found.standard_error <= 0.06 * probability
    assert abs(found.mean_weight - 1.0) <= 4.0 * found.mean_weight_error
    assert np.exp(log_weights).max() <= 10.0 * (1.0 + 1e-12)
    assert coverage(excess, log_weights, origin) >= 0.95


def test_a_tilt_that_goes_one_way_into_a_two_sided_event_is_noticed(gaussian, key):
    probability = 2e-4
    deviations = norm.isf(probability / 2.0)
    distance = Custom(1.0, lambda values, _: jnp.abs(values[-1] - gaussian.mean))
    event = Event(distance, deviations * gaussian.deviation)
    proposal = Proposal.ladder(gaussian.best_tilt(deviations), 0.1)
    values, log_weights, origin, excess = draw(gaussian, proposal, event, key)
    found = diagnose(values, log_weights, origin)
    # Half of the event is missing and nothing in the weights says so ...
    assert abs(found.value - probability / 2.0) <= 4.0 * found.standard_error
    assert found.standard_error <= 0.06 * probability
    # ... but half of the plain paths nearest to it are where the tilt does not go.
    share = coverage(excess, log_weights, origin)
    near = max(LEAST, NEAREST * (origin == 0).sum())
    assert abs(share - 0.5) <= 4.0 * 0.5 / near**0.5
    plain = diagnose(np.zeros(1000), np.zeros(1000))
    assert judge(found, plain, share).advice is Advice.FALL_BACK
    assert judge(found, plain).advice is Advice.TRUST


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_a_weakened_tilt_is_a_part_of_it(gaussian, strength, key):
    tilt = gaussian.best_tilt(3.0).weakened(strength)
    noise = draw_noise(gaussian.model, gaussian.grid, 100, key=key)
    batch = tilt.draw(gaussian.model, gaussian.grid, noise)
    whole = gaussian.best_tilt(3.0).draw(gaussian.model, gaussian.grid, noise)
    moved = batch.path.prefix - batch.noise.prefix
    assert relative_error(moved, strength * (whole.path.prefix - whole.noise.prefix)) <= 1e-10
    # KL of a shift is half its square.
    energy = divergence(tilt, tilt.pace(gaussian.grid), batch.noise)
    assert abs(float(energy) - 0.5 * (3.0 * strength) ** 2) <= 1e-10


def test_the_cross_entropy_is_least_at_the_conditional_mean(gaussian, key):
    threshold = gaussian.mean + gaussian.deviation
    identity = gaussian.free_tilt()
    noise = draw_noise(gaussian.model, gaussian.grid, PATHS, key=key)
    batch = identity.draw(gaussian.model, gaussian.grid, noise)
    inside = Event(Forward(1.0), threshold).values(batch.sample, jnp.asarray(gaussian.grid.times))
    target = target_weights(inside, batch.log_ratio)
    means = (batch.path.initial @ target, batch.path.prefix @ target * gaussian.grid.steps**0.5)
    tilt = eqx.tree_at(
        lambda t: (t.initial.shift, t.prefix.level),
        identity,
        (means[0], identity.prefix.level + means[1]),
    )
    gradient = jax.grad(lambda t: cross_entropy(t, t.pace(gaussian.grid), batch.path, target))(tilt)
    for leaf in jax.tree.leaves(gradient):
        assert np.max(np.abs(leaf)) <= 1e-12
    # The conditional mean itself: along the slope of Y_T, as far as E[ξ | ξ > 1].
    along = norm.pdf(1.0) / norm.sf(1.0) / gaussian.deviation
    expected = along * np.asarray(gaussian.initial_slope)
    error = np.asarray(batch.path.initial)[:, np.asarray(inside) > 0].std(axis=1)
    assert np.all(np.abs(means[0] - expected) <= 4.0 * error / float(jnp.sum(inside)) ** 0.5)
    assert relative_error(np.sum(target), np.asarray(1.0)) <= 1e-12
