"""Small models and tilts whose every weight is in use."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from slisde.flow.grid import TimeGrid
from slisde.functionals.terminal import Forward
from slisde.girsanov.controller import Controller
from slisde.girsanov.event import Event
from slisde.girsanov.guided import GuidedTilt, make_guided
from slisde.girsanov.initial import InitialTilt
from slisde.girsanov.law import AbstractTilt
from slisde.girsanov.noise import Noise, drivers_of
from slisde.girsanov.tilt import Driver, Tilt, make_tilt
from slisde.model.coefficients import NoiseType
from slisde.model.readouts import Readout
from slisde.model.stack import SLiSDE
from tests.builders import perturbed, random_grid, random_increments

LATENT, NOISE = 4, 2
VARIANTS = {
    "last": {"driver": Driver.LAST},
    "last, covariance": {"driver": Driver.LAST, "covariance": True},
    "all": {"driver": Driver.ALL},
    "all, covariance": {"driver": Driver.ALL, "covariance": True},
}
GUIDED = {"driver": Driver.GUIDED}
EVENT = Event(Forward(1.0), 1.5)


def small_model(layers: int = 2, rho: float | None = 0.5, **options) -> SLiSDE:
    """Return a model whose gates do something."""
    model = SLiSDE(LATENT, NOISE, layers, block_size=2, rho=rho, key=jax.random.key(3), **options)
    return perturbed(np.random.default_rng(5), model, 0.1)


def mixing_model(rho: float | None = None) -> SLiSDE:
    """Return a model whose readout has a Brownian motion of its own."""
    return small_model(rho=rho, readout=Readout.MIXING, initial_value=1.0)


def small_grid(steps: int = 7) -> TimeGrid:
    """Return a grid of unequal steps."""
    return random_grid(np.random.default_rng(8), steps)


def untrained_tilt(
    model: SLiSDE, grid: TimeGrid, control_steps: int = 4, **options
) -> AbstractTilt:
    """Return a tilt of any kind that is the reference law still."""
    if options["driver"] is Driver.GUIDED:
        return make_guided(model, grid, EVENT, control_steps=control_steps)
    return make_tilt(model, states=3, control_steps=control_steps, key=jax.random.key(1), **options)


def random_tilt(
    model: SLiSDE,
    scale: float = 0.2,
    control_steps: int = 4,
    grid: TimeGrid | None = None,
    **options,
) -> AbstractTilt:
    """Return a tilt away from the identity in every weight that is trained or fitted."""
    grid = small_grid() if grid is None else grid
    tilt = untrained_tilt(model, grid, control_steps, **options)
    moved = perturbed(np.random.default_rng(2), tilt, scale)
    if not isinstance(tilt, GuidedTilt):
        return moved
    # Variances and shares stay positive.
    guide = tilt.steering.guide
    return eqx.tree_at(
        lambda t: (
            t.steering.guide.usual,
            t.steering.guide.local,
            t.steering.share,
            t.growth.share,
        ),
        moved,
        (2.0 * guide.usual, guide.local + 0.3, jnp.ones(()), 0.5 * jnp.ones(())),
    )


def random_noise(model: SLiSDE, grid: TimeGrid, paths: int, channels: int | None = None) -> Noise:
    """Return noise with as many own channels as the model has, or as are asked for."""
    rng = np.random.default_rng(4)
    own = NOISE if channels is None else channels
    return Noise(
        jnp.asarray(rng.normal(size=(model.latent, paths))),
        random_increments(rng, grid, model.noise, paths),
        random_increments(rng, grid, own, paths) if own else None,
    )


class Gaussian:
    """One linear additive layer: Y_T is affine in the noise, so its law is known."""

    def __init__(self, steps: int = 8):
        model = SLiSDE(
            LATENT, NOISE, 1, block_size=2, noise_type=NoiseType.ADDITIVE, key=jax.random.key(7)
        )
        self.model = perturbed(np.random.default_rng(6), model, 0.3)
        self.grid = TimeGrid.uniform(1.0, steps)
        zero = Noise(jnp.zeros((LATENT, 1)), jnp.zeros((steps, NOISE, 1)), None)
        value, slope = jax.value_and_grad(self.terminal)(zero)
        self.mean = float(value)
        self.initial_slope, self.driver_slope = slope.initial[:, 0], slope.prefix[:, :, 0]
        variance = jnp.sum(self.initial_slope**2) + jnp.sum(self.driver_slope**2) / steps
        self.deviation = float(jnp.sqrt(variance))

    def terminal(self, noise: Noise) -> jax.Array:
        """Return Y_T of one path."""
        return self.model.observe(self.grid, drivers_of(self.model, noise))[0, -1]

    def best_tilt(self, deviations: float) -> Tilt:
        """Return the shift of all noise to the likeliest point of the event."""
        shift = deviations * self.initial_slope / self.deviation
        control = deviations * self.driver_slope / self.deviation / self.grid.steps**0.5
        tilt = self.free_tilt()
        return eqx.tree_at(
            lambda t: (t.initial.shift, t.prefix.level),
            tilt,
            (shift, control),
        )

    def free_tilt(self) -> Tilt:
        """Return the identity, with a control that is free at every step and the same for all paths."""
        steps = self.grid.steps
        controller = Controller(
            NOISE, LATENT, knots=tuple(k / steps for k in range(steps)), key=jax.random.key(0)
        )
        return Tilt(InitialTilt(LATENT), steps, controller, None)
