"""Simulate an untrained SLiSDE and estimate statistics of its paths, plainly and antithetically."""

import jax
import jax.numpy as jnp

from slisde import SLiSDE, TimeGrid, parameter_count

PATHS = 4096

model = SLiSDE(latent=32, noise=8, layers=3, initial_value=1.0, key=jax.random.key(0))
grid = TimeGrid.uniform(horizon=1.0, steps=256)
print(f"a three-layer SLiSDE with {parameter_count(model):,} parameters, untrained")

y = model(grid, PATHS, key=jax.random.key(1))  # [path, node]
highest = y.max(axis=1)
print(f"E[max Y] = {highest.mean():.3f} ± {jnp.std(highest) / PATHS**0.5:.3f}")

pairs = model(grid, PATHS, antithetic=True, key=jax.random.key(1))[:, -1].reshape(2, -1)
plain = jnp.std(y[:, -1]) / PATHS**0.5
mirrored = jnp.std(pairs.mean(axis=0)) / (PATHS / 2) ** 0.5
print(
    f"E[Y_T] = {y[:, -1].mean():.3f} ± {plain:.3f}, antithetic {pairs.mean():.3f} ± {mirrored:.3f}"
)
