"""Time one layer against its sizes (paper: tab:matrix-complexities); writes results/complexity.jsonl.

Finished points are never timed again. Run it on an idle machine, about five minutes.

    python benchmarks/complexity.py
"""

import statistics
import sys
import time
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from slisde.experiments.allocation import keep_freed_memory
from slisde.experiments.record import Record
from slisde.experiments.study import run_missing
from slisde.flow.evaluate import Evaluation, evaluate
from slisde.flow.grid import TimeGrid
from slisde.flow.linear import LinearFlow
from slisde.flow.transition import Euler

RESULTS = Path(__file__).parents[1] / "results" / "complexity.jsonl"
NOISE = 4
RUNS = 5
PATHS = {Evaluation.NATIVE: 256, Evaluation.SEQUENTIAL: 256, Evaluation.ASSOCIATIVE: 16}
"""The scan keeps every transition of every path, so it gets fewer of them."""

# axis: the sizes (steps, latent, block) of its points
AXES: dict[str, list[tuple[int, int, int]]] = {
    "steps, block-diagonal": [(steps, 64, 8) for steps in (128, 256, 512, 1024)],
    "latent, diagonal": [(256, latent, 1) for latent in (32, 64, 128, 256)],
    "latent, blocks of 8": [(256, latent, 8) for latent in (32, 64, 128, 256)],
    "latent, dense": [(128, latent, latent) for latent in (8, 16, 32, 64)],
    "block, width 64": [(256, 64, block) for block in (4, 8, 16, 32)],
}


def layer(steps: int, latent: int, block: int, paths: int) -> tuple[LinearFlow, jax.Array]:
    """Return a layer with random coefficients, and an initial state."""
    rng = np.random.default_rng(0)
    grid = TimeGrid.uniform(1.0, steps)
    shape = (steps, 1 + NOISE, latent // block, block, block)
    matrices = rng.normal(size=shape).astype(np.float32) / block**0.5
    vectors = rng.normal(size=(steps, 1 + NOISE, latent)).astype(np.float32)
    increments = rng.normal(size=(steps, NOISE, paths)).astype(np.float32) / steps**0.5
    start = rng.normal(size=(latent, paths)).astype(np.float32)
    flow = LinearFlow(
        jnp.asarray(matrices), jnp.asarray(vectors), grid.dt, jnp.asarray(increments), Euler()
    )
    return flow, jnp.asarray(start)


@eqx.filter_jit
def forward(flow: LinearFlow, start: jax.Array, evaluation: Evaluation) -> jax.Array:
    return evaluate(flow, None, start, evaluation=evaluation)


def point(axis: str, evaluation: Evaluation, sizes: tuple[int, int, int]) -> Record:
    paths = PATHS[evaluation]
    flow, start = layer(*sizes, paths)
    jax.block_until_ready(forward(flow, start, evaluation))
    seconds = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        jax.block_until_ready(forward(flow, start, evaluation))
        seconds.append(time.perf_counter() - begun)
    steps, latent, block = sizes
    return {
        "axis": axis,
        "evaluation": evaluation.value,
        "steps": steps,
        "latent": latent,
        "block": block,
        "paths": paths,
        "seconds": statistics.median(seconds),
    }


def main() -> None:
    keep_freed_memory()
    cells = {
        f"{axis} {evaluation.value} {sizes}": partial(point, axis, evaluation, sizes)
        for axis, points in AXES.items()
        for evaluation in PATHS
        for sizes in points
    }
    run_missing(RESULTS, cells, lambda name: print(name, file=sys.stderr, flush=True))


if __name__ == "__main__":
    main()
