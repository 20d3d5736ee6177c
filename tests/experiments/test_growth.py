"""Runs whose mean grows, as values in units of the spot do."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.calibration.estimate import estimate
from slisde.calibration.estimator import Estimator
from slisde.calibration.run import RunDirectory
from slisde.data.surface.paper import paper_problem
from slisde.errors import ArgumentError, ConfigError
from slisde.experiments.config import dump, parse
from slisde.experiments.job import begin, open_run, prepare
from slisde.model.martingale import MartingaleReadout
from slisde.model.stack import SLiSDE
from tests.data.surface.chains import make_chain
from tests.experiments.untrained import untrained

PATHS = 4_096
RATE = 0.015
"""At which the forwards of the chain grow."""


@pytest.fixture(scope="module")
def run():
    fitted = untrained(paper_problem(make_chain(step=100.0)), readout="mixing", growth=True)
    return replace(fitted, model=eqx.tree_at(slopes, fitted.model, jnp.full(15, RATE)))


def slopes(model):
    assert isinstance(model, SLiSDE)
    assert isinstance(model.readout, MartingaleReadout)
    return model.readout.slopes


def sampled(run, estimator):
    return estimate(
        run.model, run.problem, run.grid, PATHS, estimator=estimator, key=run.keys.metrics
    )


def test_paths_and_their_conditional_law_price_alike(run):
    paths, conditional = (sampled(run, e) for e in (Estimator.PATHS, Estimator.CONDITIONAL))
    apart = (paths.batch_means - conditional.batch_means).std(axis=0, ddof=1) / 32**0.5
    # What pays on a few paths only has no normal errors.
    common = conditional.mean > 5e-3
    assert common.sum() > 100
    assert np.all((np.abs(paths.mean - conditional.mean) <= 4.5 * apart)[common])
    assert np.median(conditional.variance[common] / paths.variance[common]) < 0.8


def test_a_path_that_grows_cannot_be_hedged(run):
    with pytest.raises(ArgumentError, match="needs a martingale readout"):
        sampled(run, Estimator.HEDGED)


def test_a_run_that_grows_is_kept_and_read(run, tmp_path):
    directory = RunDirectory(tmp_path / "run")
    begin(directory, run.config, run.problem)
    directory.save_model(run.model, {})
    read = open_run(directory.root)
    assert read.config.model.growth
    assert not read.model.is_martingale
    assert read.problem.forwards == run.problem.forwards
    np.testing.assert_array_equal(slopes(read.model), slopes(run.model))
    assert "growth = true" in dump(run.config)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"growth": True}, r"\[model\] `growth` must be false with the readout `linear`"),
        ({"family": "slice", "growth": True}, r"\[model\] `growth` must be false for slice"),
    ],
)
def test_growth_without_a_martingale_is_refused(run, model, message):
    with pytest.raises(ConfigError, match=message):
        prepare(parse({"model": model}), run.problem)
