"""`slisde table`."""

import json
from pathlib import Path

import pytest

from slisde.experiments.tables.registry import ENTRIES

RESULTS = str(Path(__file__).parents[2] / "results")


def test_without_a_name_all_are_listed_with_a_line_each(slisde):
    outcome = slisde("table")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert [line.split()[0] for line in lines] == list(ENTRIES)
    assert all(len(line.split()) > 3 for line in lines)
    assert list(slisde("table", "--json").json()["tables"]) == list(ENTRIES)


def test_an_unknown_name_shows_the_names_and_one_line_of_error(slisde):
    outcome = slisde("table", "recovry", "--results", RESULTS)
    assert outcome.code == 2
    assert outcome.err == ("slisde: error: there is no table `recovry`. Did you mean `recovery`?\n")
    assert outcome.out == slisde("table").out
    outcome = slisde("table", "xyz", "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "timing-forward" in outcome.err


def test_a_table_has_the_papers_numbers_and_its_protocol_in_every_format(slisde):
    plain = slisde("table", "recovery", "--results", RESULTS).out
    assert "| SLiSDE, paper, L = 2 | 0.015 ± 0.001 |" in plain
    assert "tab:abl-dist" in plain
    assert (
        r"\bottomrule" in slisde("table", "recovery", "--results", RESULTS, "--format", "latex").out
    )
    for choice in (("--format", "json"), ("--json",)):
        values = slisde("table", "recovery", "--results", RESULTS, *choice).json()
        (table,) = values["tables"]
        assert values["name"] == "recovery"
        assert table["rows"][2][1] == {"value": 0.015, "standard_error": 0.001}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there are no records in"),
        (b'{"layers": 2}\n{"torn', "toy.jsonl, line 2, is not a JSON record"),
        (b"\xff\xfe", "toy.jsonl is not a file of records"),
        (b'{"layers": 2}\n', "toy.jsonl, line 1, has no `options`"),
    ],
    ids=["missing", "torn", "binary", "another"],
)
def test_records_that_cannot_be_used_are_one_line(slisde, tmp_path, content, said):
    if content is not None:
        (tmp_path / "toy.jsonl").write_bytes(content)
    outcome = slisde("table", "toy", "--results", str(tmp_path))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("slisde: error: ")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_part_of_a_record_that_is_missing_is_named_with_its_line(slisde, tmp_path):
    record = {"layers": 2, "options": [], "grid": 512, "paths": 1024, "steps": 1000, "last": {}}
    (tmp_path / "toy.jsonl").write_text(json.dumps(record))
    outcome = slisde("table", "recovery", "--results", str(tmp_path))
    assert outcome.code == 2
    assert "line 1, has no `ks_terminal`" in outcome.err


def test_seeds_run_what_is_missing_of_sweeps_only(slisde, tmp_path):
    outcome = slisde("table", "timing", "--results", RESULTS, "--seeds", "1")
    assert outcome.code == 2
    assert "are made by `python benchmarks/performance.py`, not by a sweep" in outcome.err
    outcome = slisde("table", "dax", "--results", str(tmp_path), "--seeds", "1", "--configs", "no")
    assert outcome.code == 2
    assert "cannot read no/families-dax.toml" in outcome.err
