"""Times beside the paper's."""

import pytest

from slisde.errors import SlisdeError
from slisde.experiments.tables import timing
from slisde.experiments.tables.paper_times import PAPER
from slisde.experiments.tables.performance import machine
from slisde.experiments.tables.table import Number

FACTS = {
    "processor": "P",
    "cores": 2,
    "memory_gb": 8,
    "system": "S",
    "python": "3",
    "jax": "0",
    "engine_reason": "R",
}
RECORDS = [
    {
        "kind": "families",
        "paths": 1024,
        "steps": 512,
        "machine": FACTS,
        "slisde_step_s": 0.5,
        "slisde_forward_s": 0.1,
        "neural_sde_step_s": 2.0,
        "neural_sde_forward_s": 0.4,
        "slice_step_s": 3.0,
    },
    {"kind": "scaling", "axis": "steps", "paths": 1024, "steps": 2048, "seconds": 2.1},
]


def row(table, shape):
    (found,) = (row for row in table.rows if row[0] == shape)
    return [cell.value if isinstance(cell, Number) else cell for cell in found[1:]]


def test_the_speedups_of_the_paper_follow_from_its_times():
    rounded = [round(times.speedup, 1) for times in PAPER.values()]
    assert rounded == [5.7, 5.9, 7.2, 3.2, 1.3, 1.4, 0.7]


def test_steps_stand_beside_those_of_the_paper_in_milliseconds():
    table = timing.steps(RECORDS)
    assert row(table, "1024 × 512") == pytest.approx(
        [69.0, 500.0, 89.4, 2000.0, 155.0, 3000.0, 89.4 / 69.0, 4.0]
    )
    assert row(table, "64 × 512")[1::2] == ["—"] * 4


def test_slisde_timed_alone_has_no_speedup_and_no_memory_is_said():
    paper, ours, _, other, slice_paper, _, _, ratio = row(timing.steps(RECORDS), "1024 × 2048")
    assert (paper, ours) == (258.9, 2100.0)
    assert (other, slice_paper, ratio) == ("—", "OOM", "—")


def test_forward_passes_are_of_both_evaluations():
    forward = row(timing.forward(RECORDS), "1024 × 512")
    assert forward == [27.6, 100.0, 39.9, "—", 23.8, 400.0]


def test_a_study_without_its_main_shape_is_said():
    with pytest.raises(SlisdeError, match="B = 1024"):
        machine(RECORDS[1:])
