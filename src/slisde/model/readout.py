"""The linear readout of the last layer (paper: eq:output-readout)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.shapes import LatentPaths, ObservedPaths


class LinearReadout(eqx.Module):
    """Y_t = Π Z_t, or y_0 + Π (Z_t − Z_0) when the first observation is prescribed.

    Args:
        latent: the width d.
        out: the output dimension p; paths are `[path, node]` when it is 1.
        initial_value: y_0, or None to leave the start free.
        normalised: whether a batch is scaled so that its mean is y_0 at every node.
    """

    kernel: Float[Array, "out latent"]
    initial_value: float | tuple[float, ...] | None = eqx.field(static=True)
    normalised: bool = eqx.field(static=True)

    def __init__(
        self,
        latent: int,
        out: int = 1,
        *,
        initial_value: float | tuple[float, ...] | None = None,
        normalised: bool = False,
        key: PRNGKeyArray,
    ):
        check_output(out, initial_value)
        if normalised and initial_value is None:
            raise ArgumentError(
                "initial_value", None, "must be given", "the mean of a batch is moved to it"
            )
        self.kernel = jax.random.normal(key, (out, latent)) / latent**0.5
        self.initial_value = initial_value
        self.normalised = normalised

    def __call__(self, path: LatentPaths) -> ObservedPaths:
        return self.observe(jnp.einsum("od,kdb->kob", self.kernel, path))

    def observe(self, values: Float[Array, "node out path"]) -> ObservedPaths:
        """Return public paths from Π Z: shifted to y_0 and with the path axis first."""
        values = started_at(values, self.initial_value)
        paths = jnp.transpose(values, (2, 0, 1))
        return paths[..., 0] if self.kernel.shape[0] == 1 else paths

    def gather(self, paths: ObservedPaths) -> ObservedPaths:
        """Return a whole batch, its mean scaled to y_0 at every node where that is asked for."""
        if not self.normalised:
            return paths
        return paths * (
            jnp.asarray(self.initial_value, paths.dtype) / jnp.mean(paths, axis=0, keepdims=True)
        )


def started_at(
    values: Float[Array, "node out path"], initial_value: float | tuple[float, ...] | None
) -> Float[Array, "node out path"]:
    """Return the paths moved to a prescribed first observation, or as they are."""
    if initial_value is None:
        return values
    start = jnp.reshape(jnp.asarray(initial_value, values.dtype), (1, -1, 1))
    return values - values[:1] + start


def check_output(out: int, initial_value: float | tuple[float, ...] | None) -> None:
    """Raise unless there is an output and the prescribed start is one of its values."""
    if out < 1:
        raise ArgumentError("out", out, "must be at least 1", "a path has at least one coordinate")
    if isinstance(initial_value, tuple) and len(initial_value) != out:
        raise ArgumentError(
            "initial_value",
            initial_value,
            f"must have `out` = {out} entries",
            "one per coordinate",
        )
