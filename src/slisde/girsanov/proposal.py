"""Proposals that mix laws, with the weights of the balance heuristic.

A share of paths is drawn under each law and every path is weighted by

    w = dP / (Σ_j α_j dQ_j),

whichever law drew it. With a share α of the reference law itself, w ≤ 1/α: a defensive mixture. A
*ladder* has weaker versions of a tilt as well, which reach what the tilt has left behind: with the
cross-entropy, a tilt follows the likeliest way into an event, and the others come as large weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample
from slisde.girsanov.initial import PerPath
from slisde.girsanov.law import AbstractTilt
from slisde.girsanov.log_ratio import log_ratio_score
from slisde.girsanov.noise import draw_noise, drivers_of
from slisde.girsanov.pace import Trace
from slisde.model.stack import SLiSDE

STRENGTHS = (0.5, 0.75, 1.0)
"""Rungs of a ladder."""


@dataclass(frozen=True)
class Proposal:
    """Tilted laws and the share of the reference law; the rest is divided equally.

    Attributes:
        tilts: at least one, or none for the reference law alone.
        reference: share of paths drawn under the reference law.
    """

    tilts: tuple[AbstractTilt, ...]
    reference: float = 0.0

    def __post_init__(self):
        if not 0.0 <= self.reference <= 1.0:
            raise ArgumentError("reference", self.reference, "must be in [0, 1]", "it is a share")
        if not self.tilts and self.reference < 1.0:
            raise ArgumentError(
                "reference", self.reference, "must be 1 without tilts", "no other law is there"
            )
        kinds = {tilt.sight for tilt in self.tilts}
        if len(kinds) > 1:
            raise ArgumentError(
                "tilts", kinds, "must be of one kind", "each is evaluated on all paths"
            )

    @classmethod
    def ladder(cls, tilt: AbstractTilt, reference: float) -> "Proposal":
        """Return the mixture of a tilt with its weaker versions and a share of the reference law."""
        return cls(tuple(tilt.weakened(strength) for strength in STRENGTHS), reference)

    def counts(self, paths: int) -> list[int]:
        """Return how many of the paths each law draws, the reference law first."""
        plain = round(self.reference * paths)
        if not self.tilts:
            return [paths]
        each, rest = divmod(paths - plain, len(self.tilts))
        return [plain, *(each + (index < rest) for index in range(len(self.tilts)))]


class WeightedBatch(eqx.Module):
    """Paths of a proposal, law after law.

    Attributes:
        sample: the observed paths.
        log_weights: log dP/dQ of the mixture.
        origin: which law drew a path, 0 for the reference law.
    """

    sample: Sample
    log_weights: PerPath
    origin: Int[Array, " path"]


def sample_proposal(
    proposal: Proposal, model: SLiSDE, grid: TimeGrid, paths: int, *, key: PRNGKeyArray
) -> WeightedBatch:
    """Return `paths` weighted paths, in exact shares."""
    counts = proposal.counts(paths)
    samples, ratios, origins = [], [], []
    for law, count in enumerate(counts):
        if count == 0:
            continue
        noise = draw_noise(model, grid, count, key=jax.random.fold_in(key, law))
        if not proposal.tilts:
            sample, known = model.sample(grid, drivers_of(model, noise)), jnp.zeros((1, count))
        elif law == 0:
            sample, seen = proposal.tilts[0].watch(model, grid, noise)
            known = _all_ratios(proposal.tilts, grid, seen)
        else:
            batch = proposal.tilts[law - 1].draw(model, grid, noise)
            sample, known = batch.sample, _all_ratios(proposal.tilts, grid, batch.path)
        samples.append(sample)
        ratios.append(known)
        origins.append(np.full(count, law))
    log_shares = jnp.log(jnp.asarray(counts) / paths)
    log_ratios = jnp.concatenate(ratios, axis=1)
    return WeightedBatch(
        jax.tree.map(lambda *parts: jnp.concatenate(parts), *samples),
        balance_log_weights(log_ratios, log_shares),
        jnp.asarray(np.concatenate(origins)),
    )


def balance_log_weights(
    log_ratios: Float[Array, "law path"], log_shares: Float[Array, " law"]
) -> PerPath:
    """Return −log Σ_j α_j dQ_j/dP, a share of zero counting for nothing."""
    return -jax.nn.logsumexp(log_ratios + log_shares[:, None], axis=0)


def _all_ratios(
    tilts: Sequence[AbstractTilt], grid: TimeGrid, seen: Trace
) -> Float[Array, "law path"]:
    """Return log dQ_j/dP of paths under every law, the reference law first."""
    plain = jnp.zeros(seen.initial.shape[-1], seen.initial.dtype)
    return jnp.stack([plain, *(log_ratio_score(tilt, tilt.pace(grid), seen) for tilt in tilts)])
