"""The whole network: shapes, sizes, how it starts, and that evaluations agree."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.flow.evaluate import Evaluation, evaluate
from slisde.flow.gating import Norm
from slisde.flow.grid import TimeGrid
from slisde.flow.transition import Euler, Exponential
from slisde.model.coefficients import NoiseType
from slisde.model.interface import parameter_count
from slisde.model.stack import SLiSDE, Stacking
from tests.builders import EVALUATIONS, perturbed, random_drivers, random_grid, relative_error

OPTIONS = st.fixed_dictionaries(
    {
        "layers": st.integers(1, 3),
        "out": st.integers(1, 2),
        "block_size": st.sampled_from([1, 2, 6]),
        "noise_type": st.sampled_from(NoiseType),
        "low_rank": st.sampled_from([0, 2]),
        "time_dependent": st.booleans(),
        "time_features": st.booleans(),
        "norm": st.sampled_from(Norm),
        "causal_conv": st.booleans(),
        "transition": st.sampled_from([Euler(), Exponential()]),
        "prior": st.booleans(),
        "initial_value": st.sampled_from([None, 1.0]),
        "stacking": st.sampled_from(Stacking),
    }
)
SMALL_GRIDS = st.sampled_from([1, 2, 3, 7, 17])


@given(
    options=OPTIONS,
    noise=st.integers(1, 3),
    steps=SMALL_GRIDS,
    pairs=st.integers(1, 2),
    antithetic=st.booleans(),
    evaluation=st.sampled_from(EVALUATIONS),
)
@settings(derandomize=True, deadline=None, max_examples=25)
def test_every_choice_gives_paths_of_the_promised_shape(
    options, noise, steps, pairs, antithetic, evaluation, key
):
    def sample(key):
        model, grid = SLiSDE(6, noise, **options, key=key), TimeGrid.uniform(1.0, steps)
        return model(grid, 2 * pairs, antithetic=antithetic, evaluation=evaluation, key=key)

    paths = jax.eval_shape(sample, key)
    assert paths.dtype == jnp.float32
    tail = () if options["out"] == 1 else (options["out"],)
    assert paths.shape == (2 * pairs, steps + 1, *tail)


@pytest.mark.parametrize(("latent", "layers", "expected"), [(64, 2, 103_136), (32, 3, 73_744)])
def test_the_cells_of_the_toy_table_have_their_number_of_parameters(latent, layers, expected, key):
    assert parameter_count(SLiSDE(latent, 8, layers, key=key)) == expected


@pytest.mark.parametrize("out", [1, 3])
def test_a_prescribed_first_observation_holds_exactly(out, key):
    start = 1.3 if out == 1 else (0.1, 0.2, 0.7)
    model = SLiSDE(4, 2, 2, block_size=2, out=out, initial_value=start, key=key)
    paths = eqx.filter_jit(model)(TimeGrid.uniform(1.0, 5), 4, key=key)
    assert np.array_equal(
        paths[:, 0], np.broadcast_to(np.array(start, np.float32), paths[:, 0].shape)
    )
    assert np.all(np.asarray(paths[:, 1]) != np.asarray(paths[:, 0]))


@pytest.mark.parametrize("noise_type", NoiseType)
def test_a_new_model_does_not_depend_on_time_yet(noise_type, key):
    def sample(time_dependent):
        options = {"block_size": 2, "noise_type": noise_type, "time_dependent": time_dependent}
        model = SLiSDE(4, 2, 2, **options, key=key)
        return eqx.filter_jit(model)(TimeGrid.uniform(1.0, 5), 4, key=key)

    assert np.array_equal(sample(True), sample(False))


def test_the_same_key_gives_the_same_paths_and_another_key_others(key):
    model, grid = SLiSDE(4, 2, 2, block_size=2, key=key), TimeGrid.uniform(1.0, 5)
    sample = eqx.filter_jit(model)
    first, again = sample(grid, 4, key=key), sample(grid, 4, key=key)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, sample(grid, 4, key=jax.random.fold_in(key, 1)))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("prior", [False, True])
def test_the_initial_state_is_as_wide_as_it_is_told(prior, key):
    usual = SLiSDE(4, 2, 1, block_size=2, prior=prior, key=key)
    narrow = SLiSDE(4, 2, 1, block_size=2, prior=prior, initial_scale=0.1, key=key)
    normals = jax.random.normal(key, (4, 5))
    assert np.array_equal(usual.started(normals), normals)
    assert relative_error(narrow.started(normals), 0.1 * normals) <= 1e-14


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("stacking", Stacking)
def test_evaluations_of_a_stack_agree_in_values_and_gradients(stacking, key):
    rng = np.random.default_rng(111)
    options = {"block_size": 2, "prior": True, "initial_value": 1.0, "stacking": stacking}
    model = perturbed(rng, SLiSDE(4, 2, 2, **options, key=key))
    grid = random_grid(rng, 19)
    drivers = random_drivers(rng, model, grid, 3)
    weights = jnp.asarray(rng.normal(size=(3, 20)))

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def loss(model, evaluation):
        return jnp.sum(weights * model.observe(grid, drivers, evaluation=evaluation))

    reference = loss(model, Evaluation.SEQUENTIAL)
    assert all(np.any(np.asarray(leaf) != 0.0) for leaf in jax.tree.leaves(reference))
    for evaluation in (Evaluation.ASSOCIATIVE, Evaluation.CHUNKED, Evaluation.AUTO):
        assert relative_error(loss(model, evaluation), reference) <= 1e-10, evaluation


@pytest.mark.usefixtures("exact")
def test_a_stack_is_its_layers_one_after_the_other_from_one_initial_state(key):
    rng = np.random.default_rng(112)
    model = perturbed(rng, SLiSDE(4, 2, 3, block_size=2, prior=True, rho=0.5, key=key))
    grid = random_grid(rng, 7)
    drivers = random_drivers(rng, model, grid, 3)

    @eqx.filter_jit
    def by_hand(model):
        start = model.prior(drivers.initial)
        paths = [evaluate(model.layers[0].flow(grid, drivers.prefix), None, start)]
        for layer, gate, noise in zip(
            model.layers[1:], model.couplings, (drivers.prefix, drivers.last), strict=True
        ):
            on_path = gate.on_path(gate.on_grid(grid), paths[-1])
            paths.append(evaluate(layer.flow(grid, noise), on_path, start))
        return paths

    paths = eqx.filter_jit(model.layer_paths)(grid, drivers)
    assert relative_error(paths, by_hand(model)) <= 1e-14
    observed = eqx.filter_jit(model.observe)(grid, drivers)
    assert relative_error(observed, model.readout(paths[-1])) <= 1e-13


@pytest.mark.usefixtures("exact")
def test_residual_layers_add_to_the_path_before_them(key):
    rng = np.random.default_rng(113)
    model = SLiSDE(4, 2, 2, block_size=2, stacking=Stacking.RESIDUAL, key=key)
    model, grid = perturbed(rng, model), random_grid(rng, 7)
    drivers = random_drivers(rng, model, grid, 3)
    first, second = eqx.filter_jit(model.layer_paths)(grid, drivers)
    flow = model.layers[1].flow(grid, model.couplings[0](first))
    change = evaluate(flow, None, jnp.zeros((4, 3)), evaluation=Evaluation.SEQUENTIAL)
    assert relative_error(second, np.asarray(first) + np.asarray(change)) <= 1e-13
    assert np.array_equal(second[0], first[0])
