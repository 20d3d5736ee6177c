import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from slisde import AbstractPathModel, SLiSDE, TimeGrid
from slisde.calibration.estimate import estimate
from slisde.calibration.fit import ENDURANCE, calibrate
from slisde.calibration.settings import TrainSettings
from slisde.calibration.step import make_step, start
from slisde.errors import ArgumentError, DivergenceError, ProblemError
from slisde.functionals.barrier import CrossesAbove
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward, Put
from slisde.model.readouts import Readout

GRID = TimeGrid.uniform(1.0, 16)
KEY = jax.random.key(5)


def problem():
    """Expectations of a lognormal martingale with volatility 0.2."""
    z = np.random.default_rng(0).standard_normal(200_000)
    y = np.exp(0.2 * z - 0.02)
    calls = [Target(Call(1.0, k), float(np.maximum(y - k, 0).mean()), "call") for k in (1.0, 1.2)]
    puts = [Target(Put(1.0, k), float(np.maximum(k - y, 0).mean()), "put") for k in (0.8, 0.9)]
    crossing = Target(CrossesAbove(1.0, 1.3), 0.17, "barrier")
    return Problem([*calls, *puts, Target(Forward(1.0), 1.0, "forward"), crossing], 1.0, 1.0)


def model(key=KEY):
    return SLiSDE(8, 2, 2, block_size=4, initial_value=1.0, key=key)


def settings(**options):
    return TrainSettings(
        **{"steps": 150, "paths": 256, "learning_rate": 1e-2, "warmup": 10, **options}
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"antithetic": True, "unbiased": True, "ema": 0.98},
        {"memory": 0.95},
        {"memory": 0.95, "whitening": 0.1},
    ],
    ids=["paper", "all", "memory", "whitening"],
)
def test_training_takes_the_population_loss_far_down(options):
    before, _ = estimate(model(), problem(), GRID, 8192, key=KEY).debiased_loss()
    fit = calibrate(model(), problem(), GRID, settings(**options), key=KEY)
    after, error = estimate(fit.model, problem(), GRID, 8192, key=KEY).debiased_loss()
    assert after + 4 * error < before / 10
    assert len(fit.losses) == 150
    assert fit.skipped == 0


@pytest.mark.parametrize("options", [{}, {"memory": 0.9}, {"memory": 0.9, "whitening": 0.1}])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(options):
    chosen = settings(steps=12, **options)
    whole = calibrate(model(), problem(), GRID, chosen, key=KEY)
    step = make_step(model(), problem(), GRID, chosen, key=KEY)
    state = start(model(), problem(), chosen)
    for _ in range(5):
        state, _ = step(state)
    resumed = calibrate(model(), problem(), GRID, chosen, state=state, key=KEY)
    assert len(resumed.losses) == 7
    for mine, theirs in zip(
        jax.tree.leaves(resumed.state), jax.tree.leaves(whole.state), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_another_key_gives_another_fit():
    first, second = (
        calibrate(model(), problem(), GRID, settings(steps=3), key=jax.random.key(k)).losses
        for k in (1, 2)
    )
    assert first != second


class Fragile(AbstractPathModel):
    """Returns NaN on the paths of steps whose key says so."""

    level: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    every: int = eqx.field(static=True)

    def drivers(self, grid, paths, *, antithetic=False, key):
        del grid
        assert not antithetic
        return jnp.broadcast_to(jax.random.randint(key, (), 0, self.every) == 0, paths)

    def observe(self, grid, drivers):
        level = jnp.where(drivers, jnp.nan, self.level)
        return jnp.broadcast_to(level[:, None], (len(drivers), grid.steps + 1))


def forward_problem():
    return Problem([Target(Forward(1.0), 2.0)], 1.0)


def test_non_finite_steps_are_skipped_and_counted_and_the_weights_survive():
    fit = calibrate(Fragile(1.0, 3), forward_problem(), GRID, settings(steps=60), key=KEY)
    assert 5 < fit.skipped < 40
    assert fit.skipped == sum(not np.isfinite(loss) for loss in fit.losses)
    assert isinstance(fit.model, Fragile)
    assert 1.0 < float(fit.model.level) < 2.0


def test_a_run_that_only_sees_nan_is_stopped_with_advice():
    with pytest.raises(
        DivergenceError, match=f"{ENDURANCE} steps in a row.*lower the learning rate"
    ):
        calibrate(Fragile(1.0, 1), forward_problem(), GRID, settings(steps=60), key=KEY)


@pytest.mark.parametrize("options", [{"steps": 0}, {"paths": 0}, {"ema": 1.0}])
def test_settings_outside_their_domain_are_refused(options):
    with pytest.raises(ArgumentError, match=f"`{next(iter(options))}` must be"):
        TrainSettings(**options)


def test_a_martingale_has_nothing_to_learn_from_forwards_alone():
    martingale = SLiSDE(8, 2, 2, block_size=4, readout=Readout.MIXING, key=KEY)
    with pytest.raises(ProblemError, match="only forwards, which a martingale meets"):
        calibrate(
            martingale,
            Problem([Target(Forward(1.0), 1.0)], 1.0, 1.0),
            GRID,
            settings(steps=3),
            key=KEY,
        )


def test_averaged_errors_and_the_two_halves_exclude_each_other():
    with pytest.raises(ArgumentError, match="`memory` must be None with `unbiased`"):
        settings(memory=0.9, unbiased=True)
