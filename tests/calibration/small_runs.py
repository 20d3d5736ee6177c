"""Short training runs of small models, for `test_devices`: here, or where there are more devices.

Nothing is computed on import, because a process must join the others before it computes.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from slisde import AbstractPathModel, SLiSDE, TimeGrid, TrainSettings
from slisde.baselines.neural_sde import NeuralSDE
from slisde.baselines.slice import SLiCE
from slisde.calibration.processes import join_processes
from slisde.calibration.simulate import local_copy, replicate, simulate
from slisde.calibration.step import make_step, start
from slisde.flow.brownian import increments
from slisde.functionals.barrier import CrossesAbove
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward
from slisde.model.readouts import Readout

STEPS, PATHS = 3, 16
GRID = TimeGrid.uniform(1.0, 6)
MIRRORED = {"antithetic": True, "unbiased": True}


def slisde(**options) -> SLiSDE:
    return SLiSDE(8, 2, 2, block_size=4, initial_value=1.0, **options, key=jax.random.key(1))


# The baselines start freely: with a prescribed start their bias has the gradient 0, which rounding
# makes ± 1e-7 and Adam a full step in either direction.
RUNS: dict[str, tuple[Callable[[], AbstractPathModel], dict[str, Any]]] = {
    "slisde": (slisde, {}),
    "averaged_errors": (slisde, {"memory": 0.9}),
    "slisde_in_mirrored_pairs": (lambda: slisde(prior=True, rho=0.5), MIRRORED),
    "mixing": (lambda: slisde(readout=Readout.MIXING), {}),
    "normalised": (lambda: slisde(readout=Readout.NORMALISED), {}),
    "neural_sde": (lambda: NeuralSDE(4, 2, 4, key=jax.random.key(1)), MIRRORED),
    "slice": (lambda: SLiCE(8, 2, 1, block_size=4, key=jax.random.key(1)), {}),
}


class Noise(AbstractPathModel):
    """Its paths are the noise itself, so that they can be compared to the bit."""

    def drivers(self, grid, paths, *, antithetic=False, key):
        return increments(grid, 1, paths, antithetic=antithetic, key=key)

    def observe(self, grid, drivers):
        del grid
        return drivers[:, 0].T


def train(name: str) -> dict[str, np.ndarray]:
    """Return the losses and the last weights of a run."""
    make_model, options = RUNS[name]
    model = make_model()
    settings = TrainSettings(steps=STEPS, paths=PATHS, learning_rate=1e-2, warmup=1, **options)
    problem = Problem(
        [
            Target(Call(1.0, 1.0), 0.1, "call"),
            Target(CrossesAbove(1.0, 1.3), 0.2, "barrier"),
            Target(Forward(1.0), 1.0, "forward"),
        ],
        1.0,
    )
    step = make_step(model, problem, GRID, settings, penalties=[spread], key=jax.random.key(2))
    state, losses = replicate(start(model, problem, settings)), []
    for _ in range(STEPS):
        state, seen = step(state)
        losses.append(float(seen.loss))
    weights = jax.tree.leaves(local_copy(state.weights))
    named = {f"{name}/{index}": np.asarray(leaf) for index, leaf in enumerate(weights)}
    return named | {f"{name}/losses": np.array(losses)}


def spread(model, paths):
    """A penalty on the paths of a step."""
    del model
    return 0.01 * jnp.var(paths[:, -1])


def draw(antithetic: bool) -> jax.Array:
    """Return the noise of a batch, as a compiled training step draws it."""
    return jax.jit(
        lambda key: simulate(Noise(), GRID, PATHS, antithetic=antithetic, key=key),
    )(jax.random.key(3))


def main(file: str, runs: Iterable[str]) -> None:
    """Join the other processes if the environment names any, and save what the runs give."""
    joined = join_processes()
    results: dict[str, np.ndarray] = {"devices": np.array(jax.device_count())}
    for name in runs:
        results |= train(name)
    if not joined:
        for antithetic in (False, True):
            noise = draw(antithetic)
            results[f"noise/{antithetic}"] = np.asarray(noise)
            results[f"shares/{antithetic}"] = np.array(
                [share.data.shape for share in noise.addressable_shards]
            )
    np.savez(file, **results)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
