"""What weighted paths say: the estimate with its error, and whether the weights can be trusted."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from slisde.girsanov.pareto import pareto_shape

PerPath = Float[np.ndarray, " path"]


@dataclass(frozen=True)
class Diagnosis:
    """An importance-sampling estimate.

    Attributes:
        value: n⁻¹ Σ w G.
        standard_error: its standard error, laws being drawn in exact shares, or from independent batches.
        paths: n.
        ess: effective sample size of the weights.
        event_ess: effective sample size of w |G|, the one that the error depends on.
        mean_weight: average weight, one if the proposal covers the reference law.
        mean_weight_error: its standard error.
        hit_rate: share of the paths on which G is not zero.
        pareto_k: shape of the weights' tail.
        event_pareto_k: shape of the tail of w |G|.
        largest_share: share of the largest w |G| in their sum.
    """

    value: float
    standard_error: float
    paths: int
    ess: float
    event_ess: float
    mean_weight: float
    mean_weight_error: float
    hit_rate: float
    pareto_k: float
    event_pareto_k: float
    largest_share: float


def diagnose(
    values: PerPath,
    log_weights: PerPath,
    origin: Int[np.ndarray, " path"] | None = None,
    *,
    batches: int | None = None,
) -> Diagnosis:
    """Return the estimate of E_P[G] and its diagnostics.

    Args:
        values: G of every path.
        log_weights: log dP/dQ.
        origin: which law drew a path, where there are several.
        batches: how many batches of equally many paths there are, where the paths of one depend on each
            other; None where all are independent.
    """
    values, log_weights = (np.asarray(each, np.float64) for each in (values, log_weights))
    origin = np.zeros(values.size, int) if origin is None else np.asarray(origin)
    weights = np.exp(log_weights)
    terms = weights * values
    hits = values != 0.0
    sizes = np.abs(terms)
    with np.errstate(divide="ignore"):
        log_terms = log_weights[hits] + np.log(np.abs(values[hits]))
    total = sizes.sum()

    def error(terms: PerPath) -> float:
        return stratified_error(terms, origin) if batches is None else batch_error(terms, batches)

    return Diagnosis(
        float(terms.mean()),
        error(terms),
        values.size,
        _effective_size(weights),
        _effective_size(sizes),
        float(weights.mean()),
        error(weights),
        float(hits.mean()),
        pareto_shape(log_weights),
        pareto_shape(log_terms),
        float(sizes.max() / total) if total > 0.0 else 0.0,
    )


def stratified_error(terms: PerPath, origin: Int[np.ndarray, " path"]) -> float:
    """Return the standard error of an average over strata of given sizes."""
    variance = 0.0
    for law in np.unique(origin):
        members = terms[origin == law]
        if members.size > 1:
            variance += members.size * float(members.var(ddof=1))
    return math.sqrt(variance) / terms.size


def batch_error(terms: PerPath, batches: int) -> float:
    """Return the standard error of an average over independent batches of equally many terms."""
    means = terms.reshape(batches, -1).mean(axis=1)
    return float(means.std(ddof=1)) / math.sqrt(batches) if batches > 1 else math.inf


def _effective_size(weights: PerPath) -> float:
    square = float(np.sum(weights**2))
    return float(weights.sum()) ** 2 / square if square > 0.0 else 0.0
