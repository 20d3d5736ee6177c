"""Paths of a fitted run's model, as arrays and in files."""

import io
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import polars as pl
from jaxtyping import Float

from slisde.errors import ArgumentError
from slisde.experiments.job import FittedRun
from slisde.files import write_whole
from slisde.flow.grid import TimeGrid

STREAM = 2**32 - 4
"""Folded into the run's key for simulated paths."""
BATCH = 2048
ENDINGS = (".parquet", ".csv", ".npz")


def simulate_run(
    fitted: FittedRun,
    paths: int,
    *,
    seed: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Float[np.ndarray, "path node"]:
    """Return paths of the fitted model, drawn in batches; the first ones do not depend on how many."""
    key = jax.random.fold_in(fitted.keys.metrics, STREAM) if seed is None else jax.random.key(seed)
    draw = eqx.filter_jit(lambda model, key: model(fitted.grid, BATCH, key=key))
    batches = -(-paths // BATCH)
    values = []
    for index in range(batches):
        values.append(np.asarray(draw(fitted.model, jax.random.fold_in(key, index))))
        if report is not None:
            report(index + 1, batches)
    return np.concatenate(values)[:paths]


def check_destination(file: Path) -> None:
    """Raise, before anything is simulated, unless the file's ending says how to write it."""
    if file.suffix not in ENDINGS:
        raise ArgumentError(
            "to", str(file), f"must end in {', '.join(ENDINGS)}", "it is the format"
        )
    if not file.absolute().parent.is_dir():
        raise ArgumentError("to", str(file), "must lie in an existing folder", "none is made")


def write_paths(file: Path, grid: TimeGrid, values: Float[np.ndarray, "path node"]) -> None:
    """Write rows of path, time and value, or the arrays `times` and `paths` in an .npz."""
    buffer = io.BytesIO()
    times = np.asarray(grid.times)
    if file.suffix == ".npz":
        np.savez(buffer, times=times, paths=values)
    else:
        paths, nodes = values.shape
        table = pl.DataFrame(
            {
                "path": np.repeat(np.arange(paths, dtype=np.int32), nodes),
                "time": np.tile(times, paths),
                "value": values.reshape(-1),
            }
        )
        if file.suffix == ".parquet":
            table.write_parquet(buffer)
        else:
            table.write_csv(buffer)
    write_whole(file, buffer.getvalue())
