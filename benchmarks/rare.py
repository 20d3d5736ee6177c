"""The TOY rare-event study (paper: tab:girsanov-full); appends one record a cell to results/rare.jsonl.

Finished cells are never run again, so the study can be stopped and started at will; backbones, their
reference samples and the tilts are kept in the user's cache and shared by all variants.

    python benchmarks/rare.py [--replications 100] [--pool 102400] [--reference 800000] [CELL …]

A cell is BACKBONE_SEED:VARIANT, the variants are the keys of `VARIANTS`, or `cost`, which times a batch of
each kind of tilt in turn. A backbone is the three-layer TOY cell with an innovation of its own in the last
layer (ρ = 0), fitted by one of `TRAININGS`. Thresholds are quantiles of its reference sample. Tilts are
trained in the order of the thresholds, each starting from the one before, but for guided ones, which are fitted
to plain paths. A replication is a batch of its budget; those of all budgets are drawn from one pool of paths.
"""

import argparse
import hashlib
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from slisde.calibration.arrays import fill, read_stored, save_tree
from slisde.calibration.fit import calibrate
from slisde.calibration.settings import TrainSettings
from slisde.data.toy import INITIAL_VALUE, statistics, toy_problem
from slisde.experiments.machine import describe
from slisde.experiments.record import Record, read
from slisde.experiments.study import run_missing
from slisde.files import write_whole
from slisde.flow.grid import TimeGrid
from slisde.functionals.terminal import Forward
from slisde.girsanov.branching import sample_branching
from slisde.girsanov.course import TiltSettings
from slisde.girsanov.diagnosis import diagnose
from slisde.girsanov.event import Event
from slisde.girsanov.guide_fit import PATHS as GUIDE_PATHS
from slisde.girsanov.guide_fit import fit_guide
from slisde.girsanov.guided import GuidedTilt, make_guided
from slisde.girsanov.law import AbstractTilt
from slisde.girsanov.log_ratio import divergence
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.proposal import Proposal, sample_proposal
from slisde.girsanov.tilt import Driver, make_tilt
from slisde.girsanov.training import train_tilt
from slisde.girsanov.weights import self_normalised, truncated, vanilla
from slisde.model.stack import SLiSDE

RESULTS = Path(__file__).parents[1] / "results" / "rare.jsonl"
CACHE = Path.home() / ".cache" / "slisde"
PROBABILITIES = (1e-2, 1e-3, 1e-4)
BUDGETS = (256, 1024, 4096)
BATCH = 1024
ESTIMATORS = {"is": vanilla, "truncated": truncated, "snis": self_normalised}
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {"driver": Driver.LAST},
    "all": {"driver": Driver.ALL},
    "all-covariance": {"driver": Driver.ALL, "covariance": True},
    "all-defensive": {"driver": Driver.ALL, "reference": 0.1},
    "guided": {"driver": Driver.GUIDED},
}
TRAININGS = {
    # the paper's, with a quarter of its paths a step
    "paper": TrainSettings(steps=1000, paths=256),
    # ours, which leads to laws with heavier tails
    "ours": TrainSettings(
        steps=300, paths=512, memory=0.97, straight_through=True, learning_rate=3e-3
    ),
}
POLISH = 128
"""Rounds of training on a tilt's own weights."""
TRAINING_FACTS = ("reached", "kl", "training_paths", "training_seconds")
CELLS = [f"{seed}:{variant}" for seed in range(3) for variant in VARIANTS] + ["cost"]
TIMED = 9
"""Batches of each kind whose median is taken."""


def _fit(seed: int, given: argparse.Namespace) -> str:
    return f"{seed}-N{given.grid}-{given.training}"


def backbone(seed: int, grid: TimeGrid, given: argparse.Namespace) -> SLiSDE:
    """Return the fitted model of a seed, from the cache where it is there."""
    weights_key, run_key = jax.random.split(jax.random.key(seed))
    model = SLiSDE(32, 8, 3, initial_value=INITIAL_VALUE, rho=0.0, key=weights_key)
    stem = CACHE / "rare" / f"backbone-{_fit(seed, given)}"
    if stem.with_suffix(".json").exists():
        return fill(model, read_stored(stem, kind="model"), stem)
    problem = toy_problem(statistics(cache=CACHE / "data"))
    fit = calibrate(model, problem, grid, TRAININGS[given.training], key=run_key)
    stem.parent.mkdir(parents=True, exist_ok=True)
    save_tree(stem, fit.model, kind="model", facts={"loss": fit.losses[-1]})
    return fill(model, read_stored(stem, kind="model"), stem)


def digest(model: SLiSDE) -> str:
    """Return what tells fitted weights apart: the same seed fits others on another processor."""
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_array))
    return hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in leaves)).hexdigest()[:16]


def reference_sample(
    seed: int, model: SLiSDE, grid: TimeGrid, given: argparse.Namespace
) -> np.ndarray:
    """Return terminal values of plain paths in rising order, from the cache where they are there."""
    file = CACHE / "rare" / f"reference-{_fit(seed, given)}-{given.reference}.npy"
    if not file.exists():
        key = jax.random.fold_in(jax.random.key(seed), 1)
        batches = -(-given.reference // BATCH)
        values = [
            np.asarray(plain(model, grid, jax.random.fold_in(key, i))) for i in range(batches)
        ]
        sample = np.sort(np.concatenate(values))
        write_whole(file, sample.tobytes())
    return np.frombuffer(file.read_bytes(), np.float32)


def _size(given: argparse.Namespace) -> str:
    return f"N={given.grid} training={given.training} pool={given.pool} reference={given.reference}"


def known_thresholds(
    seed: int, model: SLiSDE, grid: TimeGrid, given: argparse.Namespace
) -> tuple[dict[float, tuple[float, float]], int]:
    """Return threshold and probability of every nominal one, and from how many paths they are known.

    Cells of one backbone share them: a record of another variant saves the reference sample.
    """
    for record in read(given.results) if given.results.exists() else []:
        if record.get("model") == digest(model) and record["cell"].endswith(_size(given)):
            events = {event["nominal"]: event for event in record["events"]}
            if all(nominal in events for nominal in given.probabilities):
                return {
                    nominal: (event["threshold"], event["probability"])
                    for nominal, event in events.items()
                }, record["reference_paths"]
    sample = reference_sample(seed, model, grid, given)
    quantiles = {
        nominal: float(np.quantile(sample, 1.0 - nominal)) for nominal in given.probabilities
    }
    return {
        nominal: (threshold, float(np.mean(sample >= threshold)))
        for nominal, threshold in quantiles.items()
    }, sample.size


def trained(
    name: str,
    tilt: AbstractTilt,
    model: SLiSDE,
    grid: TimeGrid,
    event: Event,
    settings: TiltSettings,
    key: PRNGKeyArray,
) -> tuple[AbstractTilt, Record]:
    """Return a tilt and how it was trained; variants that differ in the shares of laws have the same."""
    stem = CACHE / "rare" / name
    if stem.with_suffix(".json").exists():
        stored = read_stored(stem, kind="tilt")
        return fill(tilt, stored, stem), {name: stored.facts[name] for name in TRAINING_FACTS}
    start = time.time()
    found = train_tilt(tilt, model, grid, event, settings, key=key)
    facts: Record = {
        "reached": found.reached,
        "kl": found.rounds[-1].kl,
        "training_paths": found.paths,
        "training_seconds": time.time() - start,
    }
    save_tree(stem, found.tilt, kind="tilt", facts=facts)
    return found.tilt, facts


def fitted_guide(
    model: SLiSDE, grid: TimeGrid, event: Event, key: PRNGKeyArray
) -> tuple[GuidedTilt, Record]:
    """Return a guided tilt and what it took."""
    start = time.time()
    tilt = fit_guide(make_guided(model, grid, event), model, grid, event, key=key)
    noise = tilt.draw(model, grid, draw_noise(model, grid, BATCH, key=key)).noise
    return tilt, {
        "reached": True,
        "kl": float(divergence(tilt, tilt.pace(grid), noise)),
        "training_paths": GUIDE_PATHS,
        "training_seconds": time.time() - start,
    }


@eqx.filter_jit
def plain(model, grid, key):
    return model(grid, BATCH, key=key)[:, -1]


@eqx.filter_jit
def draw(proposal, model, grid, event, key, branching=False, paths=BATCH):
    sample = sample_branching if branching else sample_proposal
    batch = sample(proposal, model, grid, paths, key=key)
    return event.values(batch.sample, jnp.asarray(grid.times)), batch.log_weights


def _pool(proposal, model, grid, event, branching, batches, paths):
    """Return values and log-weights of many batches."""
    key = jax.random.key(2**31)
    parts = [
        draw(proposal, model, grid, event, jax.random.fold_in(key, i), branching, paths)
        for i in range(batches)
    ]
    values, log_weights = zip(*parts, strict=True)
    return jnp.concatenate(values), jnp.concatenate(log_weights)


def _scored(values, log_weights, take, probability: float) -> Record:
    """Return relative errors of all estimators, with a row of paths for each replication."""
    row: Record = {"replications": len(take)}
    for name, estimator in ESTIMATORS.items():
        found = np.array([float(estimator(values[i], log_weights[i])) for i in take])
        row[name] = float(np.sqrt(np.mean((found / probability - 1.0) ** 2)))
        row[f"{name}_mean"] = float(np.mean(found))
        row[f"{name}_spread"] = float(np.std(found) / max(np.mean(found), 1e-300))
    row["mean_weight"] = float(jnp.mean(jnp.exp(log_weights[take.reshape(-1)])))
    return row


def replicate(
    proposal: Proposal,
    model: SLiSDE,
    grid: TimeGrid,
    event: Event,
    probability: float,
    branching: bool,
    given: argparse.Namespace,
) -> Record:
    """Return relative errors of all estimators and budgets, and what the weights are worth."""
    pool = partial(_pool, proposal, model, grid, event, branching)
    start = time.time()
    batches = -(-given.pool // BATCH)
    values, log_weights = pool(batches, BATCH)
    seconds = (time.time() - start) / values.size
    errors: Record = {}
    for budget in BUDGETS:
        # A batch has its shares of laws in order: a smaller budget takes every fourth path of it. Where paths of
        # a batch depend on each other a part of it is no batch, and smaller ones are drawn.
        own = branching and budget < BATCH
        drawn = pool(given.replications, budget) if own else (values, log_weights)
        size = budget if own else max(BATCH, budget)
        groups = min(given.replications, drawn[0].size // size)
        take = np.arange(groups * size).reshape(groups, size)[:, :: size // budget]
        errors[str(budget)] = _scored(*drawn, take, probability)
    return {
        "errors": errors,
        "seconds_per_path": seconds,
        "pooled": vars(diagnose(np.asarray(values), np.asarray(log_weights), batches=batches)),
    }


def run(cell: str, given: argparse.Namespace) -> Record:
    seed, variant = cell.split(":")
    options = dict(VARIANTS[variant])
    reference = options.pop("reference", 0.0)
    guided = options["driver"] is Driver.GUIDED
    grid = TimeGrid.uniform(1.0, given.grid)
    model = backbone(int(seed), grid, given)
    thresholds, reference_paths = known_thresholds(int(seed), model, grid, given)
    key = jax.random.fold_in(jax.random.key(int(seed)), 2)
    tilt = None
    settings = TiltSettings(rounds=given.rounds, polish=given.polish)
    kind = "-".join([options["driver"], *(["covariance"] if options.get("covariance") else [])])
    events = []
    for index, nominal in enumerate(given.probabilities):
        threshold, probability = thresholds[nominal]
        event = Event(Forward(1.0), threshold)
        event_key = jax.random.fold_in(key, index)
        if guided:
            tilt, facts = fitted_guide(model, grid, event, event_key)
            proposal = Proposal.ladder(tilt)
        else:
            tilt = make_tilt(model, key=key, **options) if tilt is None else tilt
            rounds = f"rounds{settings.rounds}-{settings.polish}"
            name = f"tilt-{_fit(int(seed), given)}-{kind}-{rounds}-{nominal:.0e}"
            tilt, facts = trained(name, tilt, model, grid, event, settings, event_key)
            proposal = Proposal((tilt,), reference)
        events.append(
            {
                "nominal": nominal,
                "threshold": threshold,
                "probability": probability,
                "probability_error": (probability / reference_paths) ** 0.5,
                **facts,
                **replicate(proposal, model, grid, event, probability, guided, given),
            }
        )
        report(cell, events[-1])
    return {
        "seed": int(seed),
        "model": digest(model),
        "variant": variant,
        "grid": given.grid,
        "training": given.training,
        "reference_paths": reference_paths,
        "pool": given.pool,
        "rounds": 0 if guided else settings.rounds,
        "polish": 0 if guided else settings.polish,
        "events": events,
        "machine": describe(),
    }


def cost(given: argparse.Namespace) -> Record:
    """Return seconds of a batch, plain and under each kind of tilt, taken in turns."""
    grid = TimeGrid.uniform(1.0, given.grid)
    key = jax.random.key(0)
    model = SLiSDE(32, 8, 3, initial_value=INITIAL_VALUE, rho=0.0, key=key)
    event = Event(Forward(1.0), 1.0)
    guided = make_guided(model, grid, event)
    kinds: dict[str, Proposal] = {
        "plain": Proposal((), 1.0),
        **{
            kind.value: Proposal((make_tilt(model, driver=kind, key=key),))
            for kind in (Driver.LAST, Driver.ALL)
        },
        "guided": Proposal.ladder(guided),
    }
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(1 + TIMED):
        for name, each in kinds.items():
            start = time.perf_counter()
            branching = name == "guided"
            jax.block_until_ready(draw(each, model, grid, event, jax.random.key(turn), branching))
            if turn:  # the first one compiles
                seconds[name].append(time.perf_counter() - start)
    return {
        "grid": given.grid,
        "paths": BATCH,
        "seconds": {name: float(np.median(times)) for name, times in seconds.items()},
        "machine": describe(),
    }


def report(cell: str, event: Record) -> None:
    shown = {budget: round(row["is"], 3) for budget, row in event["errors"].items()}
    pooled = event["pooled"]
    print(
        f"{cell} p={event['probability']:.1e} rel. RMSE {shown} pooled "
        f"{pooled['value']:.3e} ± {pooled['standard_error']:.1e} mean weight "
        f"{pooled['mean_weight']:.3f} hits {pooled['hit_rate']:.2f} kl {event['kl']:.2f} "
        f"{event['training_seconds']:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    add = partial(parser.add_argument, type=int)
    parser.add_argument("cells", nargs="*", default=CELLS)
    add("--replications", default=100)
    add("--pool", default=102_400)
    add("--reference", default=800_000)
    add("--rounds", default=16)
    add("--polish", default=POLISH)
    add("--grid", default=512)
    parser.add_argument("--training", choices=TRAININGS, default="paper")
    parser.add_argument("--probabilities", type=float, nargs="*", default=PROBABILITIES)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    cells = {
        f"{cell} {_size(given)}": partial(cost, given)
        if cell == "cost"
        else partial(run, cell, given)
        for cell in given.cells
    }
    run_missing(given.results, cells)


if __name__ == "__main__":
    main()
