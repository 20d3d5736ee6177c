"""The kinds of readouts, and the making of one."""

from enum import StrEnum

from jaxtyping import PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.model.martingale import MartingaleReadout
from slisde.model.readout import LinearReadout


class Readout(StrEnum):
    """What a path is of the last layer's state."""

    LINEAR = "linear"
    NORMALISED = "normalised"
    MARTINGALE = "martingale"
    MIXING = "mixing"


def make_readout(
    kind: Readout,
    latent: int,
    noise: int,
    out: int,
    growth: bool,
    initial_value: float | tuple[float, ...] | None,
    key: PRNGKeyArray,
) -> LinearReadout | MartingaleReadout:
    """Return an untrained readout, or say what it cannot be combined with."""
    if kind in (Readout.LINEAR, Readout.NORMALISED):
        if growth:
            raise ArgumentError(
                "growth",
                True,
                f"must be false with the readout `{kind.value}`",
                "it multiplies the paths of a martingale",
            )
        normalised = kind is Readout.NORMALISED
        return LinearReadout(
            latent, out, initial_value=initial_value, normalised=normalised, key=key
        )
    if out != 1:
        raise ArgumentError("out", out, "must be 1", "a martingale readout has one coordinate")
    if isinstance(initial_value, tuple):
        initial_value = initial_value[0]
    start = 1.0 if initial_value is None else initial_value
    mixing = kind is Readout.MIXING
    return MartingaleReadout(
        latent, noise, mixing=mixing, growth=growth, initial_value=start, key=key
    )
