"""The native CPU engine: fused kernels for the affine recurrence of a layer and for a gated layer.

The kernels (C++ beside this file, called through the XLA foreign function interface) never write the
transition matrices F or the pre-activations of the gate to memory: a tile of paths stays in cache and
runs through all steps, and the backward pass recomputes them from the stored paths
(paper: eq:linear-approx-flow, eq:gated-recurrence). Importing this package loads neither JAX nor
the library; the first call does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from slisde.flow.native.library import available, instruction_set, reason

if TYPE_CHECKING:
    from slisde.flow.native.calls import Run, gated_recurrence, recurrence

__all__ = ["Run", "available", "gated_recurrence", "instruction_set", "reason", "recurrence"]

_LAZY = ("Run", "gated_recurrence", "recurrence")


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module("slisde.flow.native.calls")
    for each in _LAZY:
        globals()[each] = getattr(module, each)
    return globals()[name]
