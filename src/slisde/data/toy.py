"""TOY: path statistics of a nonlinear three-component diffusion (paper: app:expset)."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.files import write_whole
from slisde.flow.brownian import increments
from slisde.flow.grid import TimeGrid
from slisde.functionals.barrier import CrossesAbove
from slisde.functionals.path import PathView
from slisde.functionals.problem import Problem, Target
from slisde.functionals.running import RunningMaximum, SquaredAverage
from slisde.functionals.terminal import Call
from slisde.model.interface import AbstractPathModel
from slisde.shapes import Increments, ObservedPaths

HORIZON = 1.0
TIMES = (0.1, 0.25, 0.5, 0.75, 1.0)
STRIKES = (-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
QUANTILES = (0.8, 0.9, 0.95)
START = (0.5, 0.0, 1.0)
READOUT = (0.40, 0.35, 0.25)
INITIAL_VALUE = 0.45

PATHS, STEPS, SEED = 200_000, 2048, 0
CHUNK = 8_000

GROUP_WEIGHTS = {"payoff": 1.0, "running_maximum": 1.0, "squared_average": 1.0, "barrier": 3.0}
"""Half the loss for the barriers, a sixth for each of the others."""


class ToyStatistics(NamedTuple):
    """What the targets and the recovery metrics need of every simulated path, at the five times."""

    values: Float[np.ndarray, "path time"]
    maxima: Float[np.ndarray, "path time"]
    squares: Float[np.ndarray, "path time"]


def drift(x: Float[Array, "3 path"]) -> Float[Array, "3 path"]:
    """Return the drift of the three components."""
    first, second, third = x
    return jnp.stack(
        [-first * (first**2 - 1.0), jnp.sin(second) * (2.0 - second**2), third - third**3 / 3.0]
    )


def diffusion(x: Float[Array, "3 path"]) -> Float[Array, "3 path"]:
    """Return the diagonal diffusion of the three components."""
    first, second, third = x
    return jnp.stack(
        [
            jnp.sqrt(jnp.abs(first) + 1.0) * jnp.cbrt(first + 5.0),
            jnp.cbrt(1.0 + second**2),
            jnp.exp(-(third**2) / 4.0) * third,
        ]
    )


class TrueSystem(AbstractPathModel):
    """The diffusion behind the targets, by Euler–Maruyama on whatever grid it is given."""

    def drivers(
        self, grid: TimeGrid, paths: int, *, antithetic: bool = False, key: PRNGKeyArray
    ) -> Increments:
        return increments(grid, 3, paths, antithetic=antithetic, key=key)

    def observe(self, grid: TimeGrid, drivers: Increments) -> ObservedPaths:
        start = jnp.broadcast_to(jnp.array(START)[:, None], (3, drivers.shape[-1]))
        readout = jnp.array(READOUT)

        def step(x, inputs):
            dt, dw = inputs
            x = x + drift(x) * dt + diffusion(x) * dw
            return x, readout @ x

        _, values = jax.lax.scan(step, start, (grid.dt, drivers))
        return jnp.concatenate([(readout @ start)[None], values]).T


def statistics(
    paths: int = PATHS,
    steps: int = STEPS,
    seed: int = SEED,
    *,
    monitoring: int | None = None,
    cache: Path | None = None,
    report: Callable[[int, int], None] | None = None,
) -> ToyStatistics:
    """Return the ground truth, simulated in chunks; kept in `cache` under its own settings.

    Args:
        paths: simulated paths.
        steps: steps of the true system's grid.
        seed: seed of the simulation.
        monitoring: equal parts of the horizon at whose ends maxima are observed; at every step by
            default. A diffusion on N steps misses its highest points between them, by about
            0.58 σ √Δt, and so cannot have maxima of a finer grid.
        cache: folder that keeps the result between runs, or None.
        report: called with the paths done and all of them.
    """
    monitoring = steps if monitoring is None else monitoring
    if monitoring < 1 or steps % monitoring:
        raise ArgumentError(
            "monitoring", monitoring, f"must divide {steps}", "maxima are observed at time steps"
        )
    observed = "" if monitoring == steps else f"-{monitoring}"
    file = None if cache is None else cache / f"toy-{paths}-{steps}-{seed}{observed}.npz"
    kept = None if file is None else _read(file)
    if kept is not None:
        return kept
    chunks = []
    for index, start in enumerate(range(0, paths, CHUNK)):
        count = min(CHUNK, paths - start)
        key = jax.random.fold_in(jax.random.key(seed), index)
        chunk = _chunk(count, steps, monitoring, key)
        chunks.append([np.asarray(part) for part in chunk])
        if report is not None:
            report(start + count, paths)
    result = ToyStatistics(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))
    if file is not None:
        _write(file, result)
    return result


def toy_problem(truth: ToyStatistics) -> Problem:
    """Return the four groups of targets with their standard errors."""
    targets: list[Target] = []
    levels = [float(np.quantile(truth.maxima[:, -1], q)) for q in QUANTILES]
    for index, time in enumerate(TIMES):
        value, highest = truth.values[:, index], truth.maxima[:, index]
        for strike in STRIKES:
            payoff = np.maximum(value - strike, 0.0)
            targets.append(_target(Call(time, strike), payoff, "payoff"))
        targets.append(_target(RunningMaximum(time), highest, "running_maximum"))
        square = truth.squares[:, index]
        targets.append(_target(SquaredAverage(time), square, "squared_average"))
        for level in levels:
            crossed = (highest >= level).astype(float)
            targets.append(_target(CrossesAbove(time, level), crossed, "barrier"))
    return Problem(targets, HORIZON, INITIAL_VALUE, GROUP_WEIGHTS, name="toy")


def _target(functional, samples: np.ndarray, group: str) -> Target:
    mean = float(np.mean(samples, dtype=np.float64))
    error = float(np.std(samples, dtype=np.float64) / len(samples) ** 0.5)
    return Target(functional, mean, group, standard_error=error)


@jax.jit(static_argnums=(0, 1, 2))
def _chunk(paths: int, steps: int, monitoring: int, key: PRNGKeyArray):
    grid = TimeGrid.uniform(HORIZON, steps)
    times, dates = (jnp.asarray(g.times) for g in (grid, TimeGrid.uniform(HORIZON, monitoring)))

    def on_path(values):
        path, observed = PathView(values, times), PathView(values[:: steps // monitoring], dates)
        nodes, last = (jnp.stack([p.node(time) for time in TIMES]) for p in (path, observed))
        return values[nodes], observed.running_maximum[last], path.running_square[nodes]

    return jax.vmap(on_path)(TrueSystem()(grid, paths, key=key))


def _read(file: Path) -> ToyStatistics | None:
    """Return a kept result, or None where there is none or its checksum does not hold."""
    try:
        content = file.read_bytes()
        expected = file.with_suffix(".sha256").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest() != expected:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return ToyStatistics(*(arrays[name] for name in ToyStatistics._fields))


def _write(file: Path, result: ToyStatistics) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez(buffer, **result._asdict())
    content = buffer.getvalue()
    write_whole(file, content)
    write_whole(file.with_suffix(".sha256"), f"{hashlib.sha256(content).hexdigest()}\n".encode())
