"""Studies of many cells."""

import pytest

from slisde.experiments.record import Record, append, read
from slisde.experiments.study import run_missing


def score() -> Record:
    return {"score": 1.0}


def crash() -> Record:
    raise RuntimeError("out of memory")


def test_a_cell_with_a_record_is_not_run_again(tmp_path):
    results = tmp_path / "study.jsonl"
    append(results, {"cell": "a:0", "score": 0.5})
    begun = []
    run_missing(results, {"a:0": crash, "a:1": score}, begun.append)
    assert begun == ["a:1"]
    assert read(results) == [{"cell": "a:0", "score": 0.5}, {"cell": "a:1", "score": 1.0}]


def test_a_study_that_crashes_keeps_the_cells_before_and_goes_on_at_that_one(tmp_path):
    results = tmp_path / "study.jsonl"
    with pytest.raises(RuntimeError, match="out of memory"):
        run_missing(results, {"a": score, "b": crash, "c": score})
    assert [record["cell"] for record in read(results)] == ["a"]
    begun = []
    run_missing(results, {"a": score, "b": score, "c": score}, begun.append)
    assert begun == ["b", "c"]
    assert [record["cell"] for record in read(results)] == ["a", "b", "c"]


def test_cells_run_in_their_order_each_recorded_before_the_next(tmp_path):
    results = tmp_path / "study.jsonl"

    def recorded() -> Record:
        return {"before": len(read(results)) if results.exists() else 0}

    run_missing(results, dict.fromkeys("abc", recorded))
    assert read(results) == [{"cell": name, "before": i} for i, name in enumerate("abc")]
