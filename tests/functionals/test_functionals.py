"""Every functional on a path small enough to compute by hand, and on random ones by NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.functionals.barrier import (
    BarrierOption,
    CrossesAbove,
    CrossesBelow,
    Effect,
    Right,
    Side,
)
from slisde.functionals.base import Custom, Smoothing
from slisde.functionals.path import PathView
from slisde.functionals.running import (
    AsianCall,
    AsianPut,
    Average,
    LookbackCall,
    LookbackPut,
    RealisedVariance,
    RunningMaximum,
    RunningMinimum,
    SquaredAverage,
)
from slisde.functionals.terminal import Call, DigitalAbove, DigitalBelow, Forward, Put

TIMES = np.array([0.0, 0.25, 0.5, 1.0])
PATH = np.array([1.0, 2.0, 0.5, 1.5])


def barrier(right, side, effect):
    return BarrierOption(1.0, 1.2, 1.8 if side is Side.UP else 0.6, right, side, effect)


@pytest.mark.parametrize(
    ("functional", "expected"),
    [
        (Forward(0.5), 0.5),
        (Call(1.0, 1.2), 0.3),
        (Call(0.5, 1.2), 0.0),
        (Put(0.5, 1.2), 0.7),
        (DigitalAbove(1.0, 1.5), 1.0),
        (DigitalAbove(0.5, 0.51), 0.0),
        (DigitalBelow(0.5, 0.5), 1.0),
        (RunningMaximum(1.0), 2.0),
        (RunningMaximum(0.2), 2.0),
        (RunningMaximum(0.1), 1.0),
        (RunningMinimum(1.0), 0.5),
        (RunningMinimum(0.25), 1.0),
        (Average(0.5), (0.25 * 1.5 + 0.25 * 1.25) / 0.5),
        (SquaredAverage(0.25), 0.25 * 2.5 / 0.25),
        (AsianCall(0.5, 1.0), 0.375),
        (AsianPut(0.5, 1.5), 0.125),
        (LookbackCall(1.0), 1.0),
        (LookbackPut(1.0), 0.5),
        (RealisedVariance(0.5), (np.log(2.0) ** 2 + np.log(4.0) ** 2) / 0.5),
        (CrossesAbove(1.0, 2.0), 1.0),
        (CrossesAbove(1.0, 2.01), 0.0),
        (CrossesBelow(1.0, 0.5), 1.0),
        (CrossesBelow(0.25, 0.9), 0.0),
        (barrier(Right.CALL, Side.UP, Effect.IN), 0.3),
        (barrier(Right.CALL, Side.UP, Effect.OUT), 0.0),
        (barrier(Right.PUT, Side.DOWN, Effect.IN), 0.0),
        (BarrierOption(0.5, 1.2, 0.4, Right.PUT, Side.DOWN, Effect.OUT), 0.7),
        (Custom(0.5, lambda y, _: jnp.max(y) - y[-1]), 1.5),
    ],
)
@pytest.mark.usefixtures("exact")
def test_a_functional_has_the_value_computed_by_hand(functional, expected):
    view = PathView(jnp.asarray(PATH), jnp.asarray(TIMES))
    np.testing.assert_allclose(functional(view), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("right", list(Right))
@pytest.mark.parametrize("side", list(Side))
def test_knock_in_plus_knock_out_is_the_vanilla_option(key, right, side):
    paths = 1.0 + 0.5 * jax.random.normal(key, (50, 4))
    times = jnp.asarray(TIMES)

    def total(values):
        view = PathView(values, times)
        options = [barrier(right, side, effect)(view) for effect in Effect]
        vanilla = (Call if right is Right.CALL else Put)(1.0, 1.2)(view)
        return sum(options) - vanilla

    np.testing.assert_allclose(jax.vmap(total)(paths), 0.0, atol=1e-6)


@pytest.mark.parametrize(
    "functional", [CrossesAbove(1.0, 1.4), CrossesBelow(1.0, 0.7), DigitalAbove(1.0, 1.4)]
)
def test_the_smooth_stand_in_has_a_gradient_and_agrees_away_from_the_threshold(functional):
    def value(functional, shift):
        view = PathView(jnp.asarray(PATH, jnp.float32) + shift, jnp.asarray(TIMES, jnp.float32))
        return functional(view)

    assert jax.grad(lambda s: value(functional, s))(0.0) == 0.0
    assert jax.grad(lambda s: value(functional.smooth(Smoothing()), s))(0.0) != 0.0
    far = 3.0 if not isinstance(functional, CrossesBelow) else -3.0
    np.testing.assert_allclose(
        value(functional.smooth(Smoothing()), far), value(functional, far), atol=1e-6
    )


@pytest.mark.parametrize(
    "functional",
    [CrossesAbove(1.0, 1.4), DigitalBelow(1.0, 1.4), barrier(Right.CALL, Side.UP, Effect.OUT)],
)
def test_straight_through_has_the_value_of_the_indicator_and_the_gradient_of_the_sigmoid(
    functional,
):
    def value(functional, shift):
        view = PathView(jnp.asarray(PATH, jnp.float32) + shift, jnp.asarray(TIMES, jnp.float32))
        return functional(view)

    through = functional.smooth(Smoothing(0.3, straight_through=True))
    soft = functional.smooth(Smoothing(0.3))
    for shift in (-0.2, 0.0, 0.1):
        assert value(through, shift) == pytest.approx(float(value(functional, shift)), abs=1e-6)
    if not isinstance(functional, BarrierOption):  # a product: its other factor has a value too
        slope, expected = (jax.grad(lambda s, f=f: value(f, s))(0.0) for f in (through, soft))
        assert float(slope) == pytest.approx(float(expected), rel=1e-5)
        assert slope != 0.0


def test_the_average_has_a_finite_gradient_at_the_first_node():
    def start(y):
        return PathView(y, jnp.asarray(TIMES, jnp.float32)).running_average[0]

    gradient = jax.grad(start)(jnp.asarray(PATH, jnp.float32))
    np.testing.assert_array_equal(gradient, [1.0, 0.0, 0.0, 0.0])
