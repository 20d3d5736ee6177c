"""Proposals that mix laws, with the weights of the balance heuristic.

A share of paths is drawn under each law and every path is weighted by

    w = dP / (Σ_j α_j dQ_j),

whichever law drew it. With a share α of the reference law itself, w ≤ 1/α: a defensive mixture. A
*ladder* has weaker versions of a tilt as well, which reach what the tilt has left behind: with the
cross-entropy, a tilt follows the likeliest way into an event, and the others come as large weights.
"""

from collections.abc import Sequence

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


class Proposal(eqx.Module):
    """Tilted laws and the share of the reference law; the rest is divided equally.

    Attributes:
        tilts: at least one, or none for the reference law alone.
        reference: share of paths drawn under the reference law.
        versions: whether all versions of each tilt take part.
    """

    tilts: tuple[AbstractTilt, ...]
    reference: float = eqx.field(static=True, default=0.0)
    versions: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if not 0.0 <= self.reference <= 1.0:
            raise ArgumentError("reference", self.reference, "must be in [0, 1]", "it is a share")
        if not self.tilts and self.reference < 1.0:
            raise ArgumentError(
                "reference", self.reference, "must be 1 without tilts", "no other law is there"
            )
        kinds = {tilt.sight for tilt in self.tilts}
        if len(self.tilts) > 1 and (len(kinds) > 1 or None in kinds):
            raise ArgumentError(
                "tilts", kinds, "must see alike", "each is evaluated on the paths of all"
            )

    @classmethod
    def ladder(cls, tilt: AbstractTilt, reference: float | None = None) -> "Proposal":
        """Return the mixture of all versions of a tilt with a share of the reference law, or the usual one."""
        return cls((tilt,), tilt.reference if reference is None else reference, versions=True)

    @property
    def laws(self) -> list[AbstractTilt]:
        """The tilts, or every version of every tilt."""
        if not self.versions:
            return list(self.tilts)
        return [version for tilt in self.tilts for version in tilt.versions]

    def counts(self, paths: int) -> list[int]:
        """Return how many of the paths each law draws, the reference law first."""
        laws = len(self.laws)
        if laws == 0:
            return [paths]
        plain = round(self.reference * paths)
        each, rest = divmod(paths - plain, laws)
        return [plain, *(each + (index < rest) for index in range(laws))]

    def log_shares(self, paths: int) -> Float[Array, " law"]:
        """Return the logarithms of the shares in which laws lead a path, as far as each takes part."""
        taking = jnp.stack([jnp.ones(()), *(jnp.asarray(law.share) for law in self.laws)])
        return jax.nn.log_softmax(jnp.log(jnp.asarray(self.counts(paths)) * taking))

    def origin(self, paths: int) -> Int[np.ndarray, " path"]:
        """Return which law draws each of the paths, 0 for the reference law; law comes after law."""
        counts = self.counts(paths)
        return np.repeat(np.arange(len(counts)), counts)


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
    counts, laws = proposal.counts(paths), proposal.laws
    samples, ratios = [], []
    for law, count in enumerate(counts):
        if count == 0:
            continue
        noise = draw_noise(model, grid, count, key=jax.random.fold_in(key, law))
        if not laws:
            sample, known = model.sample(grid, drivers_of(model, noise)), jnp.zeros((1, count))
        elif law == 0:
            sample, seen = laws[0].watch(model, grid, noise)
            known = _all_ratios(laws, grid, seen)
        else:
            batch = laws[law - 1].draw(model, grid, noise)
            sample, known = batch.sample, _all_ratios(laws, grid, batch.path)
        samples.append(sample)
        ratios.append(known)
    log_shares = jnp.log(jnp.asarray(counts) / paths)
    log_ratios = jnp.concatenate(ratios, axis=1)
    return WeightedBatch(
        jax.tree.map(lambda *parts: jnp.concatenate(parts), *samples),
        balance_log_weights(log_ratios, log_shares),
        jnp.asarray(proposal.origin(paths)),
    )


def weigh_plain_paths(
    proposal: Proposal, model: SLiSDE, grid: TimeGrid, paths: int, *, key: PRNGKeyArray
) -> WeightedBatch:
    """Return paths of the reference law alone, with the weights that they have under the proposal."""
    laws = proposal.laws
    sample, seen = laws[0].watch(model, grid, draw_noise(model, grid, paths, key=key))
    log_weights = balance_log_weights(_all_ratios(laws, grid, seen), proposal.log_shares(paths))
    return WeightedBatch(sample, log_weights, jnp.zeros(paths, int))


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
