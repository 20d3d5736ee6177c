"""Exact probabilities of one linear additive layer, whose terminal value is normal."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from slisde.functionals.terminal import Forward
from slisde.girsanov.diagnosis import diagnose
from slisde.girsanov.event import Event
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.objective import cross_entropy, target_weights
from slisde.girsanov.proposal import Proposal, sample_proposal
from slisde.girsanov.tilt import sample_tilted
from tests.builders import relative_error
from tests.girsanov.tilts import Gaussian

PATHS = 10_000


@pytest.fixture(scope="module")
def gaussian(_exact_mathematics):
    return Gaussian()


def estimate(gaussian, tilt, threshold, reference, key):
    event = Event(Forward(1.0), threshold)

    @eqx.filter_jit
    def run(tilt):
        proposal = Proposal((tilt,), reference)
        batch = sample_proposal(proposal, gaussian.model, gaussian.grid, PATHS, key=key)
        values = event.values(batch.sample, jnp.asarray(gaussian.grid.times))
        return values, batch.log_weights, batch.origin

    return diagnose(*(np.asarray(each) for each in run(tilt)))


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


def test_the_cross_entropy_is_least_at_the_conditional_mean(gaussian, key):
    threshold = gaussian.mean + gaussian.deviation
    identity = gaussian.free_tilt()
    noise = draw_noise(gaussian.model, gaussian.grid, PATHS, key=key)
    batch = sample_tilted(identity, gaussian.model, gaussian.grid, noise)
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
