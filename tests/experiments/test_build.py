import jax
import pytest

from slisde import Exponential, NoiseType, Norm
from slisde.experiments.build import build_grid, build_model
from slisde.experiments.config import parse
from slisde.model.gate import Gate
from slisde.model.residual import ResidualDriver

SMALL = {"latent": 16, "noise": 4, "block_size": 4, "layers": 2}


def build(**model):
    return build_model(parse({"model": {**SMALL, **model}}).model, key=jax.random.key(0))


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
        causal_conv=True,
        amplitude=0.2,
        transition="exponential",
        prior=True,
        out=3,
        initial_value=1,
        rho=0.5,
    )
    layer, gate = model.layers[0], model.couplings[0]
    assert layer.coefficients.matrices.shape[0] == 1
    assert layer.coefficients.diffusion_left is not None
    assert layer.coefficients.diffusion_left.shape == (16, 2)
    assert layer.coefficients.decoder is None
    assert isinstance(layer.transition, Exponential)
    assert isinstance(gate, Gate)
    assert gate.time_kernel is None
    assert gate.norm.kind is Norm.LAYER
    assert gate.convolution is not None
    assert gate.amplitude == 0.2
    assert model.prior is not None
    assert model.readout.kernel.shape == (3, 16)
    assert model.readout.initial_value == 1.0
    assert model.rho == 0.5


def test_noise_types_and_stackings_become_objects():
    assert build(noise_type=NoiseType.MULTIPLICATIVE.value).layers[0].coefficients.diffusion is None
    assert isinstance(build(stacking="residual").couplings[0], ResidualDriver)


def test_the_grid_has_the_configured_steps_and_horizon():
    grid = build_grid(parse({"grid": {"steps": 4, "horizon": 2}}).grid)
    assert grid.times.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
