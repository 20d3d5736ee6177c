"""Fit the demo's option surface, then price exotics that were never quoted, beside the truth.

python examples/price_an_exotic.py [STEPS]
"""

import sys

import jax

from slisde import SLiSDE, TimeGrid, TrainSettings, calibrate, estimate, price
from slisde.data.synthetic import EXOTICS, demo_exotics, demo_problem, true_values

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 400

problem = demo_problem()  # 110 calls, puts and digitals of a Bates model; a quarter is held out
grid = TimeGrid.uniform(problem.horizon, steps=64)
model = SLiSDE(latent=32, noise=8, layers=2, initial_value=1.0, key=jax.random.key(0))
settings = TrainSettings(
    steps=STEPS, paths=512, learning_rate=3e-3, warmup=40, straight_through=True
)
fit = calibrate(model, problem, grid, settings, key=jax.random.key(1))

result = estimate(fit.model, problem, grid, 32_768, key=jax.random.key(2))
for group in problem.groups:
    fitted, held_out = (result.mean_absolute_error(group, held_out=flag) for flag in (False, True))
    print(f"{group}: mean absolute error {fitted:.4f}, held-out strikes {held_out:.4f}")

ours = price(fit.model, demo_exotics(), grid, 32_768, key=jax.random.key(3))
theirs = true_values(demo_exotics(), grid.steps, paths=20_000)
for text, mean, error, true in zip(
    EXOTICS, ours.mean, ours.standard_error, theirs.mean, strict=True
):
    print(f"{text}: {mean:.4f} ± {error:.4f}, truth {true:.4f}")
