"""Fit a generative model of paths to expectations of path functionals."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slisde.calibration.estimate import estimate, price
    from slisde.calibration.fit import calibrate
    from slisde.calibration.settings import TrainSettings
    from slisde.flow.evaluate import Evaluation
    from slisde.flow.gating import Norm
    from slisde.flow.grid import TimeGrid
    from slisde.flow.transition import Euler, Exponential
    from slisde.functionals.problem import Problem, Target
    from slisde.functionals.problem_file import read_problem, write_problem
    from slisde.functionals.text import read_functional
    from slisde.model.coefficients import NoiseType
    from slisde.model.gate import OffsetUnit
    from slisde.model.interface import AbstractPathModel, parameter_count
    from slisde.model.stack import SLiSDE, Stacking

__version__ = "0.1.0"

# Public names load on first use, so that `slisde --help` does not load JAX.
_HOMES = {
    "AbstractPathModel": "slisde.model.interface",
    "Euler": "slisde.flow.transition",
    "Evaluation": "slisde.flow.evaluate",
    "Exponential": "slisde.flow.transition",
    "NoiseType": "slisde.model.coefficients",
    "Norm": "slisde.flow.gating",
    "OffsetUnit": "slisde.model.gate",
    "Problem": "slisde.functionals.problem",
    "SLiSDE": "slisde.model.stack",
    "Stacking": "slisde.model.stack",
    "Target": "slisde.functionals.problem",
    "TimeGrid": "slisde.flow.grid",
    "TrainSettings": "slisde.calibration.settings",
    "calibrate": "slisde.calibration.fit",
    "estimate": "slisde.calibration.estimate",
    "parameter_count": "slisde.model.interface",
    "price": "slisde.calibration.estimate",
    "read_functional": "slisde.functionals.text",
    "read_problem": "slisde.functionals.problem_file",
    "write_problem": "slisde.functionals.problem_file",
}

__all__ = [
    "AbstractPathModel",
    "Euler",
    "Evaluation",
    "Exponential",
    "NoiseType",
    "Norm",
    "OffsetUnit",
    "Problem",
    "SLiSDE",
    "Stacking",
    "Target",
    "TimeGrid",
    "TrainSettings",
    "__version__",
    "calibrate",
    "estimate",
    "parameter_count",
    "price",
    "read_functional",
    "read_problem",
    "write_problem",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'slisde' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
