import jax
import pytest

from slisde import Exponential, NoiseType, Norm, SLiSDE, parameter_count
from slisde.baselines.neural_sde import NeuralSDE
from slisde.errors import ConfigError
from slisde.experiments.build import build_grid, build_model, build_settings
from slisde.experiments.config import dump, load, parse
from slisde.experiments.presets import PRESETS, preset
from slisde.model.gate import Gate, OffsetUnit
from slisde.model.residual import ResidualDriver

SMALL = {"latent": 16, "noise": 4, "block_size": 4, "layers": 2}


def build(**keys) -> SLiSDE:
    model = build_model(parse({"model": {**SMALL, **keys}}).model, key=jax.random.key(0))
    assert isinstance(model, SLiSDE)
    return model


def test_the_published_baselines_have_their_parameter_counts():
    for family, count in (("neural-sde", 124_289), ("slice", 142_081)):
        model = build_model(parse({"model": {"family": family}}).model, key=jax.random.key(0))
        assert parameter_count(model) == count


def test_the_problems_start_is_used_where_the_table_names_none():
    config = parse({"model": SMALL}).model
    model = build_model(config, initial_value=2.0, key=jax.random.key(0))
    assert isinstance(model, SLiSDE)
    assert model.readout.initial_value == 2.0
    assert build(initial_value=3).readout.initial_value == 3.0


def test_a_configuration_that_was_written_is_read_back(tmp_path):
    config = parse({"train": {"ema": 0.5, "seed": 7}, "problem": {"source": 'a "b".toml'}})
    file = tmp_path / "config.toml"
    file.write_text(dump(config), encoding="utf-8")
    assert load(file) == config


def test_settings_go_over_a_file_and_a_file_over_a_preset(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text("[train]\nsteps = 7\npaths = 9\n", encoding="utf-8")
    base = {"train": {"steps": 5, "paths": 5, "ema": 0.9, "clip": 2.0}}
    train = load(file, ["train.paths=11", "train.ema=none"], base).train
    assert (train.steps, train.paths, train.ema, train.clip) == (7, 11, None, 2.0)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_configuration(name):
    build_settings(load(preset=preset(name)).train)


@pytest.mark.parametrize(("structure", "size"), [("diagonal", 1), ("block", 4), ("dense", 16)])
def test_a_structure_becomes_a_block_size(structure, size):
    blocks = build(structure=structure).layers[0].coefficients.matrices
    assert blocks.shape == (5, 16 // size, size, size)


def test_every_choice_of_the_search_grid_reaches_the_model():
    model = build(
        noise_type="additive",
        low_rank=2,
        time_dependent=False,
        time_features=False,
        norm="layer",
        norm_epsilon=1,
        reversion=50,
        causal_conv=True,
        amplitude=0.2,
        offset_scale=0,
        offset_unit="time",
        transition="exponential",
        prior=True,
        initial_scale=0.1,
        out=3,
        initial_value=1,
        rho=0.5,
    )
    layer, gate = model.layers[0], model.couplings[0]
    assert layer.coefficients.matrices.shape[0] == 1
    assert (layer.coefficients.matrices[0].diagonal(axis1=1, axis2=2) < -45).all()
    assert layer.coefficients.diffusion_left is not None
    assert layer.coefficients.diffusion_left.shape == (16, 2)
    assert layer.coefficients.decoder is None
    assert isinstance(layer.transition, Exponential)
    assert isinstance(gate, Gate)
    assert gate.time_kernel is None
    assert gate.norm.kind is Norm.LAYER
    assert gate.norm.epsilon == 1.0
    assert gate.convolution is not None
    assert gate.amplitude == 0.2
    assert not gate.kernel[3].any()
    assert gate.offset_unit is OffsetUnit.TIME
    assert model.prior is not None
    assert model.initial_scale == 0.1
    assert model.readout.kernel.shape == (3, 16)
    assert model.readout.initial_value == 1.0
    assert model.rho == 0.5


def test_noise_may_begin_additive_and_learn_to_multiply():
    matrices = build(multiplicative_scale=0).layers[0].coefficients.matrices
    assert matrices[0].any()
    assert not matrices[1:].any()


def test_noise_types_and_stackings_become_objects():
    assert build(noise_type=NoiseType.MULTIPLICATIVE.value).layers[0].coefficients.diffusion is None
    residual = build(stacking="residual", norm_epsilon=0.5).couplings[0]
    assert isinstance(residual, ResidualDriver)
    assert residual.norm.epsilon == 0.5


@pytest.mark.parametrize(
    ("spacing", "times"),
    [("uniform", [0.0, 0.5, 1.0, 1.5, 2.0]), ("maturities", [0.0, 0.25, 0.5, 1.25, 2.0])],
)
def test_the_grid_has_the_configured_steps_and_spacing(spacing, times):
    grid = build_grid(parse({"grid": {"steps": 4, "spacing": spacing}}).grid, 2.0, [0.5])
    assert grid.times.tolist() == times


def test_days_may_be_given_without_quotes(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text("[problem]\nexpiries = [2026-03-20, 2026-06-19]\n", encoding="utf-8")
    problem = load(file, ["problem.quote_date=2026-01-30"]).problem
    assert problem.quote_date == "2026-01-30"
    assert problem.expiries == ["2026-03-20", "2026-06-19"]


def test_a_neural_sde_may_begin_narrow_and_slice_begins_at_a_point():
    config = parse({"model": {"family": "neural-sde", "initial_scale": 0.1}}).model
    model = build_model(config, key=jax.random.key(0))
    assert isinstance(model, NeuralSDE)
    assert model.initial_scale == 0.1
    with pytest.raises(ConfigError, match=r"\[model\] `initial_scale` must be 1 for slice"):
        build(family="slice", initial_scale=0.1)
