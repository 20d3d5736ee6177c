"""Far targets on tilted paths while a model is trained."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import SLiSDE, TimeGrid, TrainSettings
from slisde.calibration.objective import Objective
from slisde.calibration.step import make_step, start
from slisde.calibration.tilt_settings import Aim, FarTail, TiltTraining
from slisde.calibration.tilted import untrained_tilts
from slisde.errors import ArgumentError, ProblemError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Put
from slisde.girsanov.tilt import Tilt

GRID = TimeGrid.uniform(1.0, 8)
FAR = 3.0
PROBLEM = Problem(
    [
        Target(Call(1.0, 1.0), 0.3, "calls"),
        Target(Put(1.0, -1.0), 0.1, "far_puts"),
        Target(Call(1.0, FAR), 0.05, "far_calls"),
        Target(Call(1.0, FAR + 0.5), 0.02, "far_calls"),
    ],
    1.0,
    1.0,
)
TILT = TiltTraining(begin=0, paths=256)


def small(**options) -> SLiSDE:
    options = {"rho": 0.0, **options}
    return SLiSDE(8, 2, 2, block_size=4, initial_value=1.0, **options, key=jax.random.key(3))


def settings(**options) -> TrainSettings:
    return TrainSettings(**{"steps": 60, "paths": 512, "warmup": 2, "tilt": TILT, **options})


def moved(tilt: Tilt) -> Tilt:
    """A tilt that is not the reference law: all of its numbers are shifted a little."""
    return jax.tree.map(lambda leaf: leaf + 0.1 if leaf.ndim else leaf, tilt)


def untrained(model, chosen) -> tuple[Tilt, ...]:
    return untrained_tilts(model, chosen.tilt).tilts


def objective_of(model, chosen):
    return Objective(model, PROBLEM, GRID, chosen), eqx.filter(model, eqx.is_inexact_array)


def estimates(model, chosen, tilts, key):
    objective, _ = objective_of(model, chosen)
    plain = objective.evaluator(model(GRID, chosen.paths, key=key), objective.times)
    assert objective.tilted is not None
    means, seen = objective.tilted.estimate(model, tilts, plain, key)
    return np.asarray(plain), np.asarray(means), seen


def test_an_untrained_tilt_weighs_all_paths_alike(key):
    model = small()
    tilts = untrained(model, settings())
    _, _, seen = estimates(model, settings(), tilts, key)
    for each in seen:
        assert np.all(np.asarray(each.batch.log_ratio) == 0.0)
        assert float(each.effective) == pytest.approx(1.0)


@pytest.mark.parametrize("far_tail", FarTail)
def test_a_tilted_batch_estimates_the_same_expectations(far_tail, key):
    model, paths = small(), 32_768
    tilt = TiltTraining(begin=0, paths=paths, far_tail=far_tail)
    chosen = settings(paths=paths, tilt=tilt)
    tilts = tuple(moved(each) for each in untrained(model, chosen))
    plain, means, seen = estimates(model, chosen, tilts, key)
    effective = min(float(each.effective) for each in seen)
    assert 0.05 < effective < 0.999
    error = plain.std(axis=0) / paths**0.5
    assert np.all(np.abs(means - plain.mean(axis=0)) <= 4 * error * (1 + effective**-0.5))
    assert means[0] == pytest.approx(plain[:, 0].mean(), rel=1e-6)
    assert np.all(means[1:] != plain.mean(axis=0)[1:])


def test_neither_the_weights_of_paths_nor_the_tilts_get_a_gradient(key):
    model = small()
    objective, weights = objective_of(model, settings())
    tilts = tuple(moved(each) for each in untrained(model, settings()))

    def loss(tilts):
        return objective(weights, None, tilts, jnp.asarray(0), 64, key)[0]

    assert all(not np.any(leaf) for leaf in jax.tree.leaves(jax.grad(loss)(tilts)))


def test_tilts_wait_for_their_step_and_then_find_the_far_tail():
    model = small()
    tilt = TiltTraining(begin=4, paths=256, learning_rate=5e-2)
    chosen = settings(tilt=tilt, learning_rate=1e-6)
    step = make_step(model, PROBLEM, GRID, chosen, key=jax.random.key(5))
    state = start(model, PROBLEM, chosen)
    first = state.tilt
    for _ in range(4):
        state, report = step(state)
        assert report.effective.size == 0
    assert eqx.tree_equal(state.tilt, first)
    for _ in range(56):
        state, report = step(state)
        assert report.effective.shape == (2,)
    assert state.tilt is not None
    plain, _, seen = estimates(model, chosen, state.tilt.tilts, jax.random.key(6))
    for column, each in ((1, seen[0]), (2, seen[1])):
        hits = float(jnp.mean(each.mean_value > 0.0))
        assert hits > 2.0 * float(np.mean(plain[:, column] > 0.0))


@pytest.mark.parametrize("options", [{"memory": 0.9}, {"antithetic": True, "ema": 0.9}])
@pytest.mark.parametrize("aim", Aim)
def test_other_settings_go_with_a_tilt(aim, options):
    model = small()
    chosen = settings(paths=32, tilt=TiltTraining(begin=1, paths=16, aim=aim), **options)
    step, state = (
        make_step(model, PROBLEM, GRID, chosen, key=jax.random.key(5)),
        start(model, PROBLEM, chosen),
    )
    for _ in range(3):
        state, report = step(state)
        assert bool(report.finite)
    assert not eqx.tree_equal(state.tilt, start(model, PROBLEM, chosen).tilt)


def test_what_cannot_be_tilted_is_said():
    with pytest.raises(ArgumentError, match="`rho`"):
        start(small(rho=None), PROBLEM, settings())
    with pytest.raises(
        ProblemError, match="no fitted target in the group `far_lows`: name some of"
    ):
        Objective(small(), PROBLEM, GRID, settings(tilt=TiltTraining(groups=("far_lows",))))
    with pytest.raises(ArgumentError, match="`unbiased` must be false with a tilt"):
        settings(unbiased=True)
    with pytest.raises(ArgumentError, match="`groups` must be different names"):
        TiltTraining(groups=("far_puts", "far_puts"))
    with pytest.raises(ArgumentError, match="`paths` must be at least 2"):
        TiltTraining(paths=1)
