"""Penalties beside the calibration loss: a rule that selects among fitting models (paper: app:objective)."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.model.interface import AbstractPathModel
from slisde.shapes import ObservedPaths

Penalty = Callable[[Any, ObservedPaths], Float[Array, ""]]
"""A number to be added to the loss, of the model and of the paths it drew in this step."""

REFERENCE_PATHS = 16_384
BINS = 48
MARGINALS = 8


class RelativeEntropy(eqx.Module):
    """λ times the mean KL(model ‖ reference) of the marginals at several nodes.

    Both marginals pass through one channel first: a value falls into a bin with a probability that
    decays with its distance, like a Gaussian kernel. The divergence of the binned laws is smooth in
    the paths, finite for any two models, zero for equal ones, and never above the divergence of the
    marginals themselves (data processing).

    Args:
        nodes: where marginals are compared.
        centres: bins of every node, `[node, bin]`.
        widths: kernel width of every node.
        shares: the reference's bin probabilities, `[node, bin]`.
        weight: λ.
    """

    nodes: tuple[int, ...] = eqx.field(static=True)
    centres: Float[Array, "marginal bin"]
    widths: Float[Array, " marginal"]
    shares: Float[Array, "marginal bin"]
    weight: float = eqx.field(static=True)

    def __call__(self, model: Any, paths: ObservedPaths) -> Float[Array, ""]:
        del model  # only its paths matter here; other penalties look at weights
        ours = _binned(paths[:, jnp.array(self.nodes)], self.centres, self.widths)
        return self.weight * jnp.mean(
            jnp.sum(jax.scipy.special.rel_entr(ours, self.shares), axis=1)
        )


def entropy_to(
    reference: AbstractPathModel,
    grid: TimeGrid,
    *,
    weight: float,
    paths: int = REFERENCE_PATHS,
    key: PRNGKeyArray,
) -> RelativeEntropy:
    """Return the penalty that keeps marginals near those of a reference model on the same grid."""
    if not weight > 0:
        raise ArgumentError("weight", weight, "must be positive", "at 0 there is no penalty")
    nodes = np.unique(np.linspace(0, grid.steps, MARGINALS + 1).round().astype(int))[1:]
    values = eqx.filter_jit(reference)(grid, paths, key=key)[:, nodes]
    low, high = jnp.quantile(values, jnp.array([0.001, 0.999]), axis=0)
    reach = 0.25 * (high - low)
    centres = jnp.linspace(low - reach, high + reach, BINS, axis=1)
    widths = centres[:, 1] - centres[:, 0]
    shares = _binned(values, centres, widths)
    # No bin is impossible under the reference: one path in all of them would make the penalty infinite.
    shares = (shares * paths + 1.0 / BINS) / (paths + 1.0)
    return RelativeEntropy(tuple(nodes.tolist()), centres, widths, shares, weight)


def _binned(
    values: Float[Array, "path marginal"],
    centres: Float[Array, "marginal bin"],
    widths: Float[Array, " marginal"],
) -> Float[Array, "marginal bin"]:
    """Return the law of the bin that a value falls into."""
    distance = (values[:, :, None] - centres[None]) / widths[None, :, None]
    return jnp.mean(jax.nn.softmax(-0.5 * distance**2, axis=2), axis=0)
