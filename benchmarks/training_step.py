"""Time and memory of one SLiSDE training step, beside the figures published for it.

The shape is the paper's: B = 1024 paths, N = 512 steps, the L = 2 TOY cell. Every engine runs in a
process of its own, because peak memory is a property of a process.

    python benchmarks/training_step.py [--paths B] [--steps N] [--repeat R]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

PUBLISHED = {"published code": (16.9, 10.3), "plain batched lax.scan": (5.6, float("nan"))}
"""Seconds and gigabytes on a two-core AMD EPYC, measured with the authors' code and with a sketch."""


def measure(paths: int, steps: int, repeat: int) -> dict[str, float]:
    """Return median seconds of a training step and peak resident gigabytes of this process."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    from slisde import SLiSDE, TimeGrid

    grid = TimeGrid.uniform(1.0, steps)
    model = SLiSDE(64, 8, 2, initial_value=0.45, key=jax.random.key(0))
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=1e-4))
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    def loss(model, key):
        y = model(grid, paths, key=key)
        highest = jax.lax.cummax(y, axis=1)
        squares = jnp.cumsum(y**2, axis=1) / jnp.arange(1, steps + 2)
        statistics = jnp.stack(
            [jax.nn.relu(y - 0.5), highest, squares, jax.nn.sigmoid((highest - 1.5) / 0.05)]
        )
        return jnp.mean(jnp.mean(statistics[:, :, :: max(steps // 5, 1)], axis=1) ** 2)

    @eqx.filter_jit(donate="all")
    def step(model, state, key):
        _, gradient = eqx.filter_value_and_grad(loss)(model, key)
        updates, state = optimiser.update(gradient, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state

    seconds = []
    for index in range(repeat + 1):
        start = time.perf_counter()
        model, state = jax.block_until_ready(step(model, state, jax.random.key(index)))
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": sorted(seconds[1:])[repeat // 2], "compile": seconds[0], "gigabytes": peak}


def in_child(engine: str, arguments: list[str]) -> dict[str, float] | None:
    """Return the child's measurement, or None where the engine is not there."""
    command = [sys.executable, __file__, "--child", *arguments]
    child = subprocess.run(
        command, env={**os.environ, "SLISDE_ENGINE": engine}, capture_output=True, text=True
    )
    if child.returncode:
        print(f"{engine}: {child.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(child.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paths", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.paths, given.steps, given.repeat)))
        return
    rows = {name: {"seconds": s, "gigabytes": g} for name, (s, g) in PUBLISHED.items()}
    sizes = [f"--{name}={getattr(given, name)}" for name in ("paths", "steps", "repeat")]
    for engine in ("jax", "native"):
        result = in_child(engine, sizes)
        if result is not None:
            rows[f"slisde, {engine} engine"] = result
    print(f"{'training step':<26}{'seconds':>9}{'GB':>7}{'vs published':>14}")
    reference = PUBLISHED["published code"][0]
    for name, row in rows.items():
        ratio = reference / row["seconds"]
        print(f"{name:<26}{row['seconds']:>9.3f}{row['gigabytes']:>7.2f}{ratio:>13.1f}x")


if __name__ == "__main__":
    main()
