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
from slisde.girsanov.log_ratio import log_ratio_score
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.pace import Pace, Trace, features_of, trace
from slisde.girsanov.tilt import Tilt, sample_path, sample_tilted
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

    tilts: tuple[Tilt, ...]
    reference: float = 0.0

    def __post_init__(self):
        if not 0.0 <= self.reference <= 1.0:
            raise ArgumentError("reference", self.reference, "must be in [0, 1]", "it is a share")
        if not self.tilts and self.reference < 1.0:
            raise ArgumentError(
                "reference", self.reference, "must be 1 without tilts", "no other law is there"
            )
        kinds = {(tilt.control_steps, tilt.reads_prefix) for tilt in self.tilts}
        if len(kinds) > 1:
            raise ArgumentError(
                "tilts", sorted(kinds), "must be of one kind", "each is evaluated on all paths"
            )

    @classmethod
    def ladder(cls, tilt: Tilt, reference: float) -> "Proposal":
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
    first = proposal.tilts[0] if proposal.tilts else None
    pace = Pace(grid, grid.steps if first is None else first.control_steps)
    reads = first is not None and first.reads_prefix
    samples, ratios, origins = [], [], []
    for law, count in enumerate(counts):
        if count == 0:
            continue
        noise = draw_noise(model, grid, count, key=jax.random.fold_in(key, law))
        if law == 0:
            prefix = model.prefix_path(grid, noise.initial, noise.prefix) if reads else None
            samples.append(sample_path(model, grid, noise, prefix))
            seen = trace(pace, noise, None if prefix is None else features_of(pace, prefix))
        else:
            batch = sample_tilted(proposal.tilts[law - 1], model, grid, noise)
            samples.append(batch.sample)
            seen = batch.path
        ratios.append(_all_ratios(proposal.tilts, pace, seen))
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


def _all_ratios(tilts: Sequence[Tilt], pace: Pace, seen: Trace) -> Float[Array, "law path"]:
    """Return log dQ_j/dP of paths under every law, the reference law first."""
    plain = jnp.zeros(seen.initial.shape[-1], seen.initial.dtype)
    return jnp.stack([plain, *(log_ratio_score(tilt, pace, seen) for tilt in tilts)])
