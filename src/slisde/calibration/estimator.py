"""How an expectation is estimated from the paths of a batch."""

from enum import StrEnum

from slisde.errors import ArgumentError
from slisde.model.interface import AbstractPathModel


class Estimator(StrEnum):
    """Averages over paths, with what is known of their law, or hedged as well.

    All have the same mean; they differ in variance and in cost.
    """

    PATHS = "paths"
    CONDITIONAL = "conditional"
    HEDGED = "hedged"


def check_estimator(model: AbstractPathModel, estimator: Estimator) -> None:
    """Raise where a hedge would not have mean zero."""
    if estimator is Estimator.HEDGED and not model.is_martingale:
        raise ArgumentError(
            "estimator",
            estimator.value,
            "needs a martingale readout",
            "a hedge of other paths has a mean of its own",
        )
