"""The tilted law is a probability, its weights have mean one, and expectations agree (thm:girsanov-validity)."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.flow.mixture import drawn
from slisde.girsanov.log_ratio import divergence, log_ratio_score
from slisde.girsanov.noise import draw_noise, drivers_of
from slisde.girsanov.pace import features_of
from slisde.girsanov.proposal import Proposal, sample_proposal, weigh_plain_paths
from slisde.girsanov.tilt import Driver, make_tilt
from tests.builders import perturbed, relative_error
from tests.girsanov.tilts import (
    GUIDED,
    LATENT,
    VARIANTS,
    mixing_model,
    random_noise,
    random_tilt,
    small_grid,
    small_model,
    untrained_tilt,
)

PATHS = 4000
GRID = small_grid()
CASES = {
    **{name: (small_model, options) for name, options in VARIANTS.items()},
    "one driver": (partial(small_model, rho=None), VARIANTS["all, covariance"]),
    "one layer": (partial(small_model, layers=1), VARIANTS["last"]),
    "three layers": (partial(small_model, layers=3), VARIANTS["all"]),
    "mixing": (mixing_model, VARIANTS["all"]),
    "mixing and innovation": (partial(mixing_model, 0.5), VARIANTS["all"]),
    "guided": (small_model, GUIDED),
    "guided, one layer and driver": (partial(small_model, layers=1, rho=None), GUIDED),
    "guided, three layers": (partial(small_model, layers=3), GUIDED),
    "guided, mixing": (mixing_model, GUIDED),
    "guided, mixing and innovation": (partial(mixing_model, 0.5), GUIDED),
}
"""Models are built by the tests, which are in float64."""

draw = eqx.filter_jit(
    lambda tilt, model, key: tilt.draw(model, GRID, draw_noise(model, GRID, PATHS, key=key))
)
plain = eqx.filter_jit(lambda model, key: model(GRID, PATHS, key=key))


@pytest.fixture(scope="module", params=CASES)
def case(request, _exact_mathematics, key):
    build, options = CASES[request.param]
    model = build()
    tilt = random_tilt(model, 0.15, **options)
    return model, tilt, draw(tilt, model, key)


def standard_error(values) -> float:
    return float(np.std(values)) / len(values) ** 0.5


def test_weights_have_mean_one_under_the_tilted_law(case):
    weights = np.exp(-np.asarray(case[2].log_ratio))
    assert np.std(weights) > 0.1
    assert abs(weights.mean() - 1.0) <= 4.0 * standard_error(weights)


def test_expectations_agree(case, key):
    model, _, batch = case
    for functional in (lambda y: np.exp(-y[:, -1]), lambda y: y.max(axis=1) > y[:, 0] + 0.3):
        weighted = np.exp(-np.asarray(batch.log_ratio)) * functional(
            np.asarray(drawn(batch.sample))
        )
        reference = functional(np.asarray(plain(model, jax.random.fold_in(key, 1))))
        error = np.hypot(standard_error(weighted), standard_error(reference))
        assert abs(weighted.mean() - reference.mean()) <= 4.0 * error


def test_the_energy_is_the_divergence(case):
    _, tilt, batch = case
    energy = float(divergence(tilt, tilt.pace(GRID), batch.noise))
    assert energy > 0.05
    assert abs(np.mean(batch.log_ratio) - energy) <= 4.0 * standard_error(batch.log_ratio)


def test_the_log_ratio_of_a_draw_is_that_of_its_path(case):
    _, tilt, batch = case
    along = log_ratio_score(tilt, tilt.pace(GRID), batch.path)
    assert relative_error(along, batch.log_ratio) <= 1e-10


def test_the_reference_law_is_covered_by_a_defensive_mixture(case, key):
    model, tilt, _ = case
    share = 0.25
    batch = eqx.filter_jit(
        lambda model: sample_proposal(Proposal((tilt,), share), model, GRID, PATHS, key=key)
    )(model)
    weights = np.exp(np.asarray(batch.log_weights))
    assert np.all(weights <= (1.0 + 1e-12) / share)
    assert np.sum(batch.origin == 0) == share * PATHS
    assert abs(weights.mean() - 1.0) <= 4.0 * standard_error(weights)


def test_the_laws_of_a_ladder_are_weighted_together(case, key):
    model, tilt, _ = case
    batch = eqx.filter_jit(lambda proposal: sample_proposal(proposal, model, GRID, PATHS, key=key))(
        Proposal.ladder(tilt, 0.1)
    )
    weights = np.exp(np.asarray(batch.log_weights))
    laws = len(tilt.versions)
    assert np.bincount(batch.origin).tolist() == [400, *[3600 // laws] * laws]
    assert np.all(weights <= 10.0 * (1.0 + 1e-12))
    assert abs(weights.mean() - 1.0) <= 4.0 * standard_error(weights)


def test_plain_paths_have_the_weights_that_the_proposal_gives_them(case, key):
    model, tilt, _ = case
    proposal = Proposal.ladder(tilt, 0.1)
    batch = eqx.filter_jit(weigh_plain_paths)(proposal, model, GRID, PATHS, key=key)
    # The density of the proposal to the reference law has mean one under the latter.
    densities = np.exp(-np.asarray(batch.log_weights))
    assert np.all(densities >= 0.1 * (1.0 - 1e-12))
    assert abs(densities.mean() - 1.0) <= 4.0 * standard_error(densities)


@pytest.mark.parametrize("name", CASES)
def test_an_untrained_tilt_is_the_reference_law_itself(name, key):
    build, options = CASES[name]
    model = build()
    tilt = untrained_tilt(model, GRID, **options)
    noise = draw_noise(model, GRID, 5, key=key)
    batch = tilt.draw(model, GRID, noise)
    assert np.all(np.asarray(batch.log_ratio) == 0.0)
    assert float(divergence(tilt, tilt.pace(GRID), batch.noise)) == 0.0
    same = model.observe(GRID, model.drivers(GRID, 5, key=key))
    assert relative_error(drawn(batch.sample), same) <= 1e-13


def test_prefix_layers_are_the_same_to_the_bit_given_the_same_start():
    model = small_model(layers=3)
    tilt = random_tilt(model, 0.5, driver=Driver.LAST, control_steps=GRID.steps)
    tilt = eqx.tree_at(lambda t: t.initial.shift, tilt, jnp.zeros(LATENT))
    noise = random_noise(model, GRID, 4)
    batch = tilt.draw(model, GRID, noise)
    *prefix, _ = model.layer_paths(GRID, drivers_of(model, noise))
    assert np.array_equal(batch.path.initial, noise.initial)
    assert np.array_equal(batch.path.prefix, noise.prefix)
    features = features_of(tilt.pace(GRID), prefix[-1])
    assert batch.path.features is not None
    assert np.array_equal(batch.path.features, features)
    untilted = model.observe(GRID, drivers_of(model, noise))
    assert relative_error(drawn(batch.sample), untilted) > 1e-3


def test_several_tilts_share_one_batch(key):
    model = small_model()
    tilts = tuple(
        perturbed(np.random.default_rng(seed), make_tilt(model, driver=Driver.ALL, key=key), 0.1)
        for seed in (1, 2)
    )
    batch = sample_proposal(Proposal(tilts, 0.2), model, GRID, 1000, key=key)
    weights = np.exp(np.asarray(batch.log_weights))
    assert np.bincount(batch.origin).tolist() == [200, 400, 400]
    assert abs(weights.mean() - 1.0) <= 4.0 * standard_error(weights)
