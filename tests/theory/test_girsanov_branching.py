"""Paths that branch keep their weights exact (see slisde.girsanov.branching)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from slisde.errors import ArgumentError
from slisde.flow.mixture import drawn
from slisde.functionals.running import RunningMaximum
from slisde.functionals.terminal import Forward
from slisde.girsanov import branching
from slisde.girsanov.branching import chosen, lineages, log_promise, sample_branching
from slisde.girsanov.diagnosis import diagnose
from slisde.girsanov.event import Event
from slisde.girsanov.guide_fit import fit_guide
from slisde.girsanov.guided import make_guided
from slisde.girsanov.noise import drivers_of
from slisde.girsanov.proposal import Proposal, sample_proposal
from slisde.girsanov.tilt import Driver
from tests.builders import relative_error
from tests.girsanov.tilts import Gaussian, mixing_model, random_tilt, small_grid, small_model

GRID = small_grid()
MODELS = {"gated": lambda: small_model(layers=3), "mixing": lambda: mixing_model(0.5)}
BATCHES, PATHS = 32, 256


@pytest.fixture(scope="module", params=MODELS)
def case(request, _exact_mathematics):
    """A model, and a proposal whose guide is wrong in every number."""
    model = MODELS[request.param]()
    tilt = random_tilt(model, 0.3, driver=Driver.GUIDED)
    return model, Proposal.ladder(tilt, 0.1)


@pytest.fixture
def chosen_often(monkeypatch):
    """Let paths be chosen anew before there is much need."""
    monkeypatch.setattr(branching, "DIVERSITY", 0.9)


def batches(model, proposal, grid, event, key, sample=sample_branching, paths=PATHS):
    """Return values and log-weights of independent batches."""

    @eqx.filter_jit
    def one(key):
        batch = sample(proposal, model, grid, paths, key=key)
        return event.values(batch.sample, jnp.asarray(grid.times)), batch.log_weights

    parts = [one(each) for each in jax.random.split(key, BATCHES)]
    return [np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(2)]


@pytest.mark.usefixtures("chosen_often")
def test_expectations_are_those_of_the_model_whatever_the_guide_thinks(case, key):
    model, proposal = case
    event = Event(None, payoff=RunningMaximum(float(GRID.times[-1])))
    values, log_weights = batches(model, proposal, GRID, event, key)
    found = diagnose(values, log_weights, batches=BATCHES)
    plain, _ = batches(model, Proposal((), 1.0), GRID, event, key, sample_proposal, 4 * PATHS)
    error = np.hypot(found.standard_error, plain.std() / plain.size**0.5)
    assert abs(found.value - plain.mean()) <= 4.0 * error
    assert abs(found.mean_weight - 1.0) <= 4.0 * found.mean_weight_error
    assert found.mean_weight_error < 0.1


@pytest.mark.usefixtures("chosen_often")
def test_a_branched_path_is_one_path_of_the_model(case, key):
    model, proposal = case
    batch = eqx.filter_jit(sample_branching)(proposal, model, GRID, PATHS, key=key)
    assert batch.choices > 0
    expected = drawn(model.sample(GRID, drivers_of(model, batch.path)))
    assert relative_error(drawn(batch.sample), expected) <= 1e-12


@pytest.mark.parametrize("probability", [1e-2, 1e-6])
def test_probabilities_of_a_normal_law_are_found(probability, key):
    gaussian = Gaussian(steps=32)
    threshold = gaussian.mean + norm.isf(probability) * gaussian.deviation
    event = Event(Forward(1.0), float(threshold))
    tilt = make_guided(gaussian.model, gaussian.grid, event)
    tilt = fit_guide(tilt, gaussian.model, gaussian.grid, event, paths=4096, key=jax.random.key(3))
    proposal = Proposal.ladder(tilt)
    branched = diagnose(
        *batches(gaussian.model, proposal, gaussian.grid, event, key), batches=BATCHES
    )
    mixed = diagnose(
        *batches(gaussian.model, proposal, gaussian.grid, event, key, sample_proposal),
        batches=BATCHES,
    )
    assert abs(branched.value - probability) <= 4.0 * branched.standard_error
    assert branched.standard_error <= 0.05 * probability
    # Weights of a guide that is right do not degenerate: nothing is to be gained, and nothing is lost. An
    # error that is known from 32 batches has itself one of 13 %.
    assert branched.standard_error <= 1.5 * mixed.standard_error


def test_offspring_are_as_many_as_their_chances_say_and_weights_are_kept_on_average():
    count = 50
    rng = np.random.default_rng(3)
    log_weights, log_reach = (
        jnp.asarray(rng.normal(size=count)),
        jnp.asarray(3.0 * rng.normal(size=count)),
    )
    reach = jnp.stack([jnp.zeros(count), log_reach])
    shares = jnp.log(jnp.asarray([0.1, 0.9]))
    places = (jnp.arange(2000) + 0.5) / 2000
    beta = log_promise(reach, shares, log_weights)
    after, ancestors = jax.vmap(lambda place: chosen(log_weights, beta, place))(places)
    weights = np.exp(np.asarray(log_weights))
    promise = np.exp(np.asarray(log_reach))
    scores = weights * (0.1 + 0.9 * promise * weights.sum() / (weights @ promise))
    chances = scores / scores.sum()
    counts = np.stack([np.bincount(row, minlength=count) for row in np.asarray(ancestors)])
    assert np.all(np.abs(counts - count * chances) < 1.0)
    # The sum over offspring of any f(ancestor), averaged over the uniform place.
    for power in (0.0, 1.0):
        kept = np.exp(np.asarray(after)) * promise[np.asarray(ancestors)] ** power
        expected = weights @ promise**power
        assert abs(kept.sum(axis=1).mean() / expected - 1.0) <= 1e-2


def test_paths_that_are_diverse_enough_go_on_as_they_are():
    log_weights = jnp.linspace(0.0, 0.1, 8)
    after, ancestors = chosen(log_weights, jnp.zeros((1, 8)), jnp.asarray(0.3))
    assert np.array_equal(ancestors, np.arange(8))
    assert np.array_equal(after, log_weights)


def test_there_is_no_choice_once_the_event_is_decided():
    log_weights = jnp.linspace(0.0, 9.0, 8)
    after, ancestors = chosen(log_weights, jnp.zeros((1, 8)), jnp.asarray(0.3), jnp.asarray(False))
    assert np.array_equal(ancestors, np.arange(8))
    assert np.array_equal(after, log_weights)


def test_lineages_lead_back_to_the_start():
    lines, first = lineages(jnp.asarray([[0, 0, 2], [2, 1, 1], [0, 2, 2]]))
    assert np.array_equal(lines, [[2, 1, 1], [0, 2, 2], [0, 1, 2]])
    assert np.array_equal(first, [2, 0, 0])


def test_only_paths_of_one_guided_tilt_branch(key):
    model = small_model()
    proposal = Proposal((random_tilt(model, driver=Driver.ALL),))
    with pytest.raises(ArgumentError, match="must have one guided tilt"):
        sample_branching(proposal, model, GRID, PATHS, key=key)
