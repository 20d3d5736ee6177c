"""A driver to be killed: `python -m tests.experiments.sweep.driver GRID OUT`."""

import sys
from pathlib import Path

from slisde.experiments.sweep.grid import read_sweep
from slisde.experiments.sweep.local import LocalEngine
from slisde.experiments.sweep.run import run_sweep

if __name__ == "__main__":
    grid, out = (Path(argument) for argument in sys.argv[1:3])
    engine = LocalEngine(2, module="tests.experiments.sweep.fakes")
    for _ in run_sweep(read_sweep(grid), engine, out):
        pass
