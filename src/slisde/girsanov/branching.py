"""Tilted paths that branch: where the guide sees promise a path goes on as several, where not it ends.

The weights of a tilt multiply along a path, and a few of them come to count for all. Here paths are
chosen anew where a control step begins, with chances

    π ∝ W Σ_j β_j,   β_j = α_j h_j / h̄_j,   W ← W / (n π),

W being dP/dQ so far, α_j the shares of the laws, h_j a guide's probability of its event given the
present, one for the reference law, and h̄_j its average over W. Each path then takes its next control step
under law j with chance β_j / Σ_i β_i, and W is divided by dQ/dP of this mixture: a path far from the event is
left to the reference law and the weak ones, one that is near is led there. Were the h_j exact, both together
would draw from P times Σ_j β_j.

The average of W G keeps its expectation E_P[G] whatever h is (Del Moral and Garnier, "Genealogical particle
analysis of rare events", Ann. Appl. Probab. 2005; Whiteley and Lee, "Twisted particle filters", Ann. Statist.
2014). The reference law's share is chosen by weights alone, and weaker versions of the tilt go for easier
events, so that what the guide thinks little of is left some paths. Initial states are spread evenly, see
`slisde.girsanov.latin`. Paths of a batch depend on each other: errors come from independent batches.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample
from slisde.flow.scan import scan_chunks
from slisde.girsanov.guided import GuidedTilt
from slisde.girsanov.initial import PerPath
from slisde.girsanov.latin import latin_normals
from slisde.girsanov.noise import Noise, draw_noise
from slisde.girsanov.proposal import Proposal, balance_log_weights
from slisde.girsanov.walk import Walker
from slisde.girsanov.weights import effective_size
from slisde.model.stack import SLiSDE

DIVERSITY = 0.7
"""Share of effective paths below which paths are chosen anew."""
CHOICE = 2**32 - 7
"""Folded into a batch's key for these choices."""

Ancestors = Int[Array, " path"]


class Branched(NamedTuple):
    """A batch of paths that depend on each other.

    Attributes:
        sample: the observed paths, ancestors included.
        path: the noise that drives the model to them.
        log_weights: log W.
        choices: at how many control steps paths were chosen anew.
    """

    sample: Sample
    path: Noise
    log_weights: PerPath
    choices: Int[Array, ""]


def sample_branching(
    proposal: Proposal, model: SLiSDE, grid: TimeGrid, paths: int, *, key: PRNGKeyArray
) -> Branched:
    """Return a batch of weighted paths of a proposal, chosen anew on the way.

    Args:
        proposal: versions of one guided tilt, and a share of the reference law.
        model: the fitted model.
        grid: the time grid.
        paths: how many.
        key: random key.
    """
    tilt, laws = guided_laws(proposal)
    pace, guide = tilt.pace(grid), tilt.steering.guide
    origin = jnp.asarray(proposal.origin(paths))
    log_shares = proposal.log_shares(paths)
    noise = draw_noise(model, grid, paths, key=key)
    normals = latin_normals(tilt.initial.shift, proposal.counts(paths), key=key)
    initial = _of_law([normals, *(law.initial.push(normals) for law in laws)], origin)
    walker = Walker(model, grid, Noise(initial, noise.prefix, noise.own))
    choices = jax.random.split(jax.random.fold_in(key, CHOICE), pace.dt.shape[0])

    def control_step(carry, piece):
        index, place, log_weights = carry
        who, how = jax.random.split(choices[index])
        outlook = guide.outlook(index, place, walker.slope(place, piece))
        reach = [law.steering.log_reach(pace, index, outlook) for law in laws]
        promise = log_promise(jnp.stack([jnp.zeros(paths), *reach]), log_shares, log_weights)
        start = jax.random.uniform(who, dtype=initial.dtype)
        log_weights, ancestors = chosen(log_weights, promise, start, guide.undecided[index])
        place, outlook, promise = jax.tree.map(
            lambda x: x[..., ancestors], (place, outlook, promise)
        )
        steered = [law.steering.at(pace, index, outlook) for law in laws]
        controls = jnp.stack([jnp.zeros_like(steered[0]), *steered])
        law = jax.random.categorical(how, promise, axis=0)
        place, passed = walker.advance(place, piece, _of_law(controls, law))
        increments = jnp.concatenate([each.sum(axis=0) for each in passed.increments])
        work = jnp.einsum("lcp,cp->lp", controls, increments)
        energy = 0.5 * jnp.sum(controls**2, axis=1) * pace.dt[index]
        log_weights -= jax.nn.logsumexp(jax.nn.log_softmax(promise, axis=0) + work - energy, axis=0)
        return (index + 1, place, log_weights), (passed, ancestors[None])

    ratios = jnp.stack([jnp.zeros(paths), *(law.initial.log_ratio(initial) for law in laws)])
    log_weights = balance_log_weights(ratios, jnp.log(jnp.asarray(proposal.counts(paths)) / paths))
    (_, _, log_weights), (passed, ancestors) = scan_chunks(
        control_step, (jnp.zeros((), int), walker.start, log_weights), walker.pieces, pace.every
    )
    lines, first = lineages(ancestors)
    held = jnp.repeat(lines, pace.every, axis=0)[: pace.steps]
    passed = jax.tree.map(lambda x: jnp.take_along_axis(x, held[:, None], axis=-1), passed)
    sample, path = walker.finished(initial[:, first], passed)
    moved = jnp.any(ancestors != jnp.arange(paths)[None], axis=1)
    return Branched(sample, path, log_weights, jnp.sum(moved))


def log_promise(
    log_reach: Float[Array, "law path"],
    log_shares: Float[Array, " law"],
    log_weights: PerPath,
) -> Float[Array, "law path"]:
    """Return log β_j."""
    totals = jax.nn.logsumexp(log_weights[None] + log_reach, axis=1)
    means = totals - jax.nn.logsumexp(log_weights)
    return log_reach + (log_shares - means)[:, None]


def _of_law(
    values: list[Float[Array, "row path"]] | Float[Array, "law row path"],
    law: Int[Array, " path"],
) -> Float[Array, "row path"]:
    """Return each path's row of its own law."""
    return jnp.take_along_axis(jnp.asarray(values), law[None, None], axis=0)[0]


def chosen(
    log_weights: PerPath,
    promise: Float[Array, "law path"],
    place: Float[Array, ""],
    undecided: Bool[Array, ""] | bool = True,
) -> tuple[PerPath, Ancestors]:
    """Return the weights after a choice and whom it fell on, or all paths where they are diverse enough.

    Args:
        log_weights: log W.
        promise: log β_j.
        place: uniform in [0, 1); the choice is systematic.
        undecided: whether there is anything left to choose for.
    """
    count = log_weights.shape[0]
    scores = log_weights + jax.nn.logsumexp(promise, axis=0)
    ends = jnp.cumsum(jax.nn.softmax(scores))
    wanted = (jnp.arange(count) + place) / count * ends[-1]
    again = jnp.logical_and(undecided, effective_size(scores) < DIVERSITY * count)
    ancestors = jnp.minimum(jnp.searchsorted(ends, wanted, side="right"), count - 1)
    ancestors = jnp.where(again, ancestors, jnp.arange(count))
    evened = log_weights - jax.nn.log_softmax(scores) - jnp.log(count)
    return jnp.where(again, evened, log_weights)[ancestors], ancestors


def lineages(
    ancestors: Int[Array, "control_step path"],
) -> tuple[Int[Array, "control_step path"], Ancestors]:
    """Return, for the paths at the end, which path was theirs in every control step, and at the start.

    Args:
        ancestors: at the beginning of each control step, whose continuation a path is.
    """

    def back(line, parents):
        return parents[line], line

    first, lines = jax.lax.scan(back, jnp.arange(ancestors.shape[1]), ancestors, reverse=True)
    return lines, first


def guided_laws(proposal: Proposal) -> tuple[GuidedTilt, list[GuidedTilt]]:
    """Return the tilt and its versions, or say that the paths of other tilts do not branch."""
    laws = [law for law in proposal.laws if isinstance(law, GuidedTilt)]
    if len(proposal.tilts) != 1 or not isinstance(proposal.tilts[0], GuidedTilt):
        raise ArgumentError(
            "proposal", proposal.tilts, "must have one guided tilt", "its guide says who goes on"
        )
    return proposal.tilts[0], laws
