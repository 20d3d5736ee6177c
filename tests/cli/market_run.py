"""An untrained run of a made chain, on disk, for tests of the commands that read it."""

from pathlib import Path

from slisde.calibration.run import RunDirectory
from slisde.data.surface.market import market_problem
from slisde.experiments.config import dump, parse
from slisde.experiments.job import prepare
from slisde.functionals.problem import Problem
from tests.data.surface.chains import make_chain
from tests.experiments.untrained import SMALL


def write(root: Path, readout: str = "mixing", problem: Problem | None = None) -> Path:
    """Write the run and return its directory."""
    config = parse(
        {
            "model": {**SMALL, "readout": readout},
            "grid": {"steps": 12, "spacing": "maturities"},
            "problem": {"source": "made.csv"},
        }
    )
    job = prepare(config, problem or market_problem(make_chain(step=400.0)))
    run = RunDirectory(root)
    run.begin(dump(config), job.problem)
    run.save_model(job.model, {"family": "slisde"})
    return root
