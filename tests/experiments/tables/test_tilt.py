"""The table of tilted arms: means beside the paper's, and arms compared seed by seed."""

import math

import numpy as np
from scipy.stats import ttest_1samp

from slisde.experiments.tables import tilt


def record(arm: str, seed: int, far_calls: float):
    return {
        "arm": arm,
        "seed": seed,
        "steps": 5,
        "paths": 6,
        "grid": 7,
        "seconds_per_step": 0.5,
        "effective": [],
        "held_out_loss": 1e-4,
        "far_puts": 1e-6,
        "far_calls": far_calls,
    }


def test_arms_are_compared_on_their_common_seeds():
    vanilla, combined = [4e-6, 2e-6, 8e-6], [2e-6, 3e-6, 2e-6]
    records = [record("vanilla", seed, value) for seed, value in enumerate(vanilla)]
    records += [record("combined", seed, value) for seed, value in enumerate(combined)]
    records.append(record("vanilla", 3, 1.0))  # no partner
    (note,) = [note for note in tilt.arms(records).notes if "against" in note]
    assert "far call: 0.50×, lower on 2 of 3 seeds" in note
    gaps = [math.log(ours / theirs) for ours, theirs in zip(combined, vanilla, strict=True)]
    p_value = np.asarray(ttest_1samp(gaps, 0.0))[1]  # a paired test is one of the differences
    assert f"p = {p_value:.2f}" in note


def test_one_seed_is_not_compared():
    records = [record("vanilla", 0, 1e-6), record("combined", 0, 1e-6)]
    assert not any("against" in note for note in tilt.arms(records).notes)


def test_the_cost_of_a_tilted_step_is_said():
    cost = {
        "arm": "cost",
        "paths": 1024,
        "grid": 128,
        "seconds": {"combined": 0.6, "untilted-double": 0.5},
    }
    (note,) = [note for note in tilt.arms([cost]).notes if "takes" in note]
    assert "1.20 times as long as an untilted one of as many paths, 1,024 on 128 time steps" in note


def test_a_wall_that_was_never_reached_is_said_to_be():
    high, low, other = (record(arm, 0, 1.0) for arm in ("combined", "wall-2", "wall-2"))
    assert "the last digit" in tilt.controllers([high, low]).notes[-1]
    other["held_out_loss"] = 2.0 * high["held_out_loss"]
    assert "the last digit" not in tilt.controllers([high, other]).notes[-1]
