"""Fit the paper's TOY benchmark at a small size, and ask for a law that was never fitted.

    python examples/fit_toy.py [STEPS]

`slisde calibrate toy --preset paper` is the published protocol.
"""

import sys

import jax
import numpy as np
from scipy.stats import ks_2samp

from slisde import SLiSDE, TimeGrid, TrainSettings, calibrate, estimate
from slisde.data.toy import INITIAL_VALUE, statistics, toy_problem

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 300

truth = statistics(paths=20_000, steps=256)  # published: 200,000 paths and 2,048 steps
problem = toy_problem(truth)
grid = TimeGrid.uniform(horizon=1.0, steps=64)
model = SLiSDE(latent=32, noise=8, layers=2, initial_value=INITIAL_VALUE, key=jax.random.key(0))
settings = TrainSettings(
    steps=STEPS, paths=512, learning_rate=3e-3, warmup=40, straight_through=True
)


def report(progress):
    if progress.step % 50 == 0:
        print(f"step {progress.step}, loss {progress.loss:.1e}")


fit = calibrate(model, problem, grid, settings, report=report, key=jax.random.key(1))

result = estimate(fit.model, problem, grid, 16_384, key=jax.random.key(2))
loss, error = result.debiased_loss()
print(f"population loss {loss:.1e} ± {error:.1e}, noise adds {result.noise_floor():.1e}")
for group in problem.groups:
    print(f"  {group}: mean absolute error {result.mean_absolute_error(group):.4f}")

terminal = np.asarray(fit.model(grid, 10_000, key=jax.random.key(3))[:, -1])
distance = np.asarray(ks_2samp(terminal, truth.values[:, -1]))[0]
print(f"Kolmogorov-Smirnov distance of the law of Y_1, never fitted itself: {distance:.3f}")
