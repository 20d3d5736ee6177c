"""SLiSDE, Neural SDE and SLiCE side by side, from the records of `slisde sweep configs/families-*.toml`."""

from collections.abc import Sequence
from statistics import fmean, variance

from slisde.data.toy import QUANTILES
from slisde.experiments.record import Record
from slisde.experiments.tables.choice import matching
from slisde.experiments.tables.contests import Contest, depth_of
from slisde.experiments.tables.metric import POPULATION_BARRIER, TOY, Metric
from slisde.experiments.tables.protocol import sweep_protocol
from slisde.experiments.tables.table import Cell, Number, Table, mean, over_seeds, published

WHOSE = ("paper", "ours")
OURS = "SLiSDE"


def table(contest: Contest, records: Sequence[Record]) -> Table:
    """Return the families on a contest, those of the paper and ours, from the records of its sweep."""
    heads = [f"{metric.head}, {whose}" for metric in contest.metrics for whose in WHOSE]
    return Table(
        contest.title,
        [
            "",
            "parameters, paper",
            "ours",
            *heads,
            *(metric.head for metric in contest.population),
            "ms a step, paper (GPU)",
            "ours (CPU)",
        ],
        [[name, *_row(name, contest, matching(records, row=name))] for name in contest.rows],
        [
            sweep_protocol(records),
            *_orders(contest, records),
            *(_barrier_noise(records) if contest.metrics == TOY else ()),
            *contest.remarks,
            "Milliseconds are medians of fits that ran beside other jobs on the machine; `slisde table timing` has those "
            "of an idle one.",
            f"Paper: {contest.label}; means over seven seeds ± standard errors at its full protocol.",
        ],
    )


def _barrier_noise(records: Sequence[Record]) -> list[str]:
    """Return how much of a population's barrier errors is the noise of its own paths."""
    fitted = [record["metrics"]["population"]["paths"] for record in records if "metrics" in record]
    if not fitted:
        return []
    fewest, often = min(fitted), 1.0 - QUANTILES[0]
    error = (often * (1.0 - often) / fewest) ** 0.5
    return [
        f"The population's barrier errors hold the noise of its own paths: that of an event which happens {often:.0%} of the "
        f"time has a standard error of {error / POPULATION_BARRIER.unit:.2f} with {fewest:,}."
    ]


def _orders(contest: Contest, records: Sequence[Record]) -> list[str]:
    """Return, for every depth that has been run, the families from best to worst, ours and the paper's."""
    notes = []
    for depth in dict.fromkeys(map(depth_of, contest.rows)):
        fitted = {
            name: [record for record in matching(records, row=name) if "metrics" in record]
            for name in contest.rows
            if depth_of(name) == depth
        }
        names = [name for name, found in fitted.items() if found]
        known = {name: row for name, row in contest.published.items() if name in fitted}
        ours = sum(name.startswith(OURS) for name in names)
        if not known.keys() <= set(names) or not 0 < ours < len(names):
            continue
        orders = []
        for metric in contest.population:
            values = {
                name: [metric.of(record) / metric.unit for record in fitted[name]] for name in names
            }
            order = sorted(names, key=lambda name: fmean(values[name]))
            lead = _lead(order, values, metric.decimals)
            orders.append(f"by {metric.quantity}: {_families(order)} ({lead})")
        if len(known) > 1:
            paper = sorted(known, key=lambda name: known[name].first[0])
            orders.append(f"the paper's by {contest.metrics[0].quantity}: {_families(paper)}")
        notes.append(f"{depth}, from best to worst {'; '.join(orders)}.")
    return notes


def _lead(order: Sequence[str], values: dict[str, list[float]], decimals: int) -> str:
    """Return how far our best row is ahead of the best baseline, with the standard error of that."""
    ours = next(name for name in order if name.startswith(OURS))
    rival = next(name for name in order if not name.startswith(OURS))
    lead = fmean(values[rival]) - fmean(values[ours])
    place = "ahead of" if lead > 0.0 else "behind"
    samples = (values[ours], values[rival])
    error = sum(variance(sample) / len(sample) for sample in samples if len(sample) > 1) ** 0.5
    margin = f" ± {error:.{decimals}f}" if all(len(sample) > 1 for sample in samples) else ""
    return f"best {OURS} {place} {_families([rival])} by {abs(lead):.{decimals}f}{margin}"


def _families(names: Sequence[str]) -> str:
    return ", ".join(name.rpartition(", ")[0].replace(",", " with", 1) for name in names)


def _row(name: str, contest: Contest, records: Sequence[Record]) -> list[Cell]:
    known = contest.published.get(name)
    fitted = [record for record in records if "metrics" in record]
    row: list[Cell] = [
        Number(float(known.parameters), ",.0f", "K") if known else "",
        Number(fitted[0]["parameters"] / 1e3, ",.0f", "K") if fitted else "",
    ]
    values = (known.first, known.second) if known else (None, None)
    for metric, value in zip(contest.metrics, values, strict=True):
        row += [published(value, ".2f") if value else "", _ours(metric, records)]
    seconds = [record["seconds_per_step"] for record in fitted]
    return [
        *row,
        *(_ours(metric, records) for metric in contest.population),
        Number(known.milliseconds, ".0f") if known else "",
        mean([1e3 * each for each in seconds], ".0f") if seconds else "",
    ]


def _ours(metric: Metric, records: Sequence[Record]) -> Cell:
    fitted = [metric.of(record) / metric.unit for record in records if "metrics" in record]
    if records and not fitted:
        return "failed to train"
    return over_seeds(fitted, f".{metric.decimals}f")
