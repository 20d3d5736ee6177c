"""The relative-entropy penalty on Gaussian marginals, whose divergence is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from slisde import AbstractPathModel, SLiSDE, TimeGrid, TrainSettings, calibrate
from slisde.calibration.penalty import entropy_to
from slisde.errors import ArgumentError
from slisde.flow.brownian import increments
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Forward

GRID = TimeGrid.uniform(1.0, 8)
KEY = jax.random.key(3)


class Walk(AbstractPathModel):
    """shift + scale · W, started at 0."""

    scale: Float[Array, ""] = eqx.field(converter=jnp.asarray)
    shift: Float[Array, ""] = eqx.field(converter=jnp.asarray)

    def drivers(self, grid, paths, *, antithetic=False, key):
        return increments(grid, 1, paths, antithetic=antithetic, key=key)

    def observe(self, grid, drivers):
        walk = jnp.cumsum(drivers[:, 0], axis=0)
        return jnp.concatenate([jnp.zeros_like(walk[:1]), self.shift + self.scale * walk]).T


def gaussian_divergence(scale: float, shift: float) -> float:
    """The mean over the eight nodes of KL(N(shift, scale² t) ‖ N(0, t))."""
    times = np.asarray(GRID.times)[1:]
    return float(np.mean(0.5 * (scale**2 + shift**2 / times - 1.0) - np.log(scale)))


def penalty_of(model: Walk, paths: int = 20_000) -> float:
    penalty = entropy_to(Walk(1.0, 0.0), GRID, weight=1.0, key=KEY)
    return float(penalty(model, model(GRID, paths, key=jax.random.key(4))))


def test_a_model_with_the_references_marginals_pays_only_for_noise():
    # 2n times the divergence of two samples of n in 48 bins is about chi-squared with 47 degrees
    assert penalty_of(Walk(1.0, 0.0)) < 47 / 20_000


@pytest.mark.parametrize(("scale", "shift"), [(1.5, 0.0), (0.7, 0.0), (1.0, 0.5), (1.2, -0.3)])
def test_it_is_near_the_divergence_of_the_marginals_and_never_above_it(scale, shift):
    exact = gaussian_divergence(scale, shift)
    found = penalty_of(Walk(scale, shift))
    assert 0.75 * exact < found < exact + 47 / 20_000


def test_it_stays_finite_for_a_model_far_from_the_reference():
    assert np.isfinite(penalty_of(Walk(0.01, 50.0)))


def test_it_counts_its_weight():
    model = Walk(1.5, 0.0)
    paths = model(GRID, 500, key=KEY)
    once, thrice = (entropy_to(Walk(1.0, 0.0), GRID, weight=w, key=KEY) for w in (1.0, 3.0))
    assert float(thrice(model, paths)) == pytest.approx(3.0 * float(once(model, paths)), rel=1e-5)


def test_it_selects_among_models_that_fit_alike():
    """E[Y] = 0 says nothing of the scale: the penalty brings it to the reference's.

    Mirrored pairs make the mean exact; without them its noise alone would shrink the scale.
    """
    problem = Problem([Target(Forward(1.0), 0.0)], 1.0)
    settings = TrainSettings(
        steps=120, paths=256, learning_rate=3e-2, warmup=5, weight_decay=0.0, antithetic=True
    )
    penalty = entropy_to(Walk(1.0, 0.0), GRID, weight=0.1, key=KEY)
    alone = calibrate(Walk(2.0, 0.0), problem, GRID, settings, key=KEY).model
    drawn = calibrate(Walk(2.0, 0.0), problem, GRID, settings, penalties=[penalty], key=KEY).model
    assert isinstance(alone, Walk)
    assert isinstance(drawn, Walk)
    assert abs(float(drawn.scale) - 1.0) < 0.1
    assert abs(float(alone.scale) - 1.0) > 0.3


def test_any_function_of_model_and_paths_is_a_penalty():
    problem = Problem([Target(Forward(1.0), 0.0)], 1.0)
    settings = TrainSettings(steps=3, paths=16)
    model = SLiSDE(8, 2, 1, block_size=4, key=KEY)
    plain = calibrate(model, problem, GRID, settings, key=KEY)
    moved = calibrate(
        model,
        problem,
        GRID,
        settings,
        penalties=[lambda m, _: jnp.sum(m.readout.kernel**2), lambda _, y: jnp.mean(y**2)],
        key=KEY,
    )
    paths = model(GRID, 16, key=jax.random.fold_in(KEY, 0))
    extra = float(jnp.sum(model.readout.kernel**2) + jnp.mean(paths**2))
    assert moved.losses[0] == pytest.approx(plain.losses[0] + extra, rel=1e-4)


def test_a_weight_that_is_not_positive_is_refused():
    with pytest.raises(ArgumentError, match="`weight` must be positive"):
        entropy_to(Walk(1.0, 0.0), GRID, weight=0.0, key=KEY)
