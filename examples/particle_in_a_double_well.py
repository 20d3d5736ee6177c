"""A physical diffusion that is known through averages only: a particle in a double well.

An experiment gives the mean-square displacement, the share of particles found beyond four places, and
one correlation in time; never a trajectory. The fitted model then answers what was not measured: how
likely a particle is to have been over the barrier at any time, whether or not it came back.

    python examples/particle_in_a_double_well.py [STEPS]
"""

import sys

import jax
import jax.numpy as jnp

from slisde import Problem, SLiSDE, Target, TimeGrid, TrainSettings, calibrate, estimate, price
from slisde.functionals.barrier import CrossesAbove
from slisde.functionals.base import Custom
from slisde.functionals.path import PathView
from slisde.functionals.terminal import DigitalAbove
from slisde.functionals.text import describe

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
START, NODES = -1.0, 64
grid = TimeGrid.uniform(horizon=2.0, steps=NODES)


def displacement(values, _times):
    return (values[-1] - START) ** 2


def correlation_with_half_time(values, _times):
    return values[NODES // 2] * values[-1]


def particle(paths, key):
    """Return positions in the potential (x² − 1)²/4 at temperature 1/2: the truth, kept hidden."""
    dt = 2.0 / NODES
    noise = jax.random.normal(key, (NODES, paths)) * dt**0.5

    def step(x, dw):
        x = x - x * (x**2 - 1.0) * dt + dw
        return x, x

    _, positions = jax.lax.scan(step, jnp.full(paths, START), noise)
    return jnp.concatenate([jnp.full((1, paths), START), positions]).T


WHEN = (0.25, 0.5, 1.0, 1.5, 2.0)
measured = [
    *(Custom(time, displacement) for time in WHEN),  # any function of a path
    *(DigitalAbove(time, place) for time in WHEN for place in (-1.0, -0.5, 0.0, 0.5)),
    Custom(2.0, correlation_with_half_time),
]
truth = particle(50_000, jax.random.key(0))
times = jnp.asarray(grid.times)
values = [float(jax.vmap(lambda y, f=f: f(PathView(y, times)))(truth).mean()) for f in measured]
targets = [Target(functional, value) for functional, value in zip(measured, values, strict=True)]
problem = Problem(targets, horizon=2.0, initial_value=START, name="particle")

model = SLiSDE(latent=32, noise=4, layers=2, initial_value=START, key=jax.random.key(1))
settings = TrainSettings(
    steps=STEPS, paths=512, learning_rate=3e-3, warmup=40, straight_through=True
)
fit = calibrate(model, problem, grid, settings, key=jax.random.key(2))

result = estimate(fit.model, problem, grid, 16_384, key=jax.random.key(3))
for target, mean, error in zip(problem.targets, result.mean, result.standard_error, strict=True):
    print(f"{describe(target.functional)}: {mean:.3f} ± {error:.3f}, measured {target.value:.3f}")

crossing = price(fit.model, [CrossesAbove(2.0, 0.0)], grid, 16_384, key=jax.random.key(4))
true_crossing = float(jnp.mean(jnp.max(truth, axis=1) >= 0.0))
print(
    f"not measured: P(was over the barrier) = {crossing.mean[0]:.3f} ± "
    f"{crossing.standard_error[0]:.3f}, in truth {true_crossing:.3f}"
)
