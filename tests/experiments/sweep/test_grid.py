"""Grids: which cells there are, what they are called, and what is wrong with a file."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from slisde.errors import ConfigError
from slisde.experiments.config import Config, parse
from slisde.experiments.record import read
from slisde.experiments.sweep.grid import Cell, read_sweep
from tests.experiments.sweep.grids import SMALL, write

RESULTS = Path(__file__).parents[3] / "results"


def test_a_grid_is_the_product_of_its_lists_with_every_row_and_seed(tmp_path):
    rows = SMALL + (
        '[[rows]]\nname = "ours"\nvary = { "train.learning_rate" = [1e-3, 3e-3] }\n'
        '[[rows]]\nname = "theirs"\nmodel = { family = "neural-sde" }\n'
    )
    sweep = read_sweep(write(tmp_path, rows), seeds=2)
    assert len(sweep.cells) == 2 * (2 * 2 + 2)
    assert len({cell.digest for cell in sweep.cells}) == len(sweep.cells)
    first = sweep.cells[0]
    assert first.name == "ours, latent=8, learning_rate=0.001, seed 0"
    assert first.config.model.latent == 8
    assert first.config.train.learning_rate == 1e-3
    assert [cell.config.train.seed for cell in sweep.cells] == [0] * 6 + [1] * 6
    assert {cell.config.model.family for cell in sweep.cells if cell.row == "theirs"} == {
        "neural-sde"
    }


def test_the_digest_is_of_what_is_computed_and_not_of_where_it_stands(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    problem = 'name = "one"\nhorizon = 1.0\n[[target]]\nfunctional = "call(strike=1.0, maturity=1.0)"\nvalue = {}\n'
    grid = '[base]\nproblem.source = "p.toml"\nmodel = {{ latent = 8 }}\ntrain.steps = {}\n'
    digests = []
    for folder, value, steps in ((here, 0.1, 3), (there, 0.1, 3), (there, 0.2, 3), (there, 0.2, 4)):
        folder.mkdir(exist_ok=True)
        (folder / "p.toml").write_text(problem.format(value))
        (cell,) = read_sweep(write(folder, grid.format(steps)), seeds=1).cells
        digests.append(cell.digest)
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_the_digest_of_a_built_in_problem_is_the_same_on_every_processor(tmp_path):
    (cell,) = read_sweep(
        write(tmp_path, '[base]\nproblem.source = "demo"\nmodel = { latent = 8 }\n'), seeds=1
    ).cells
    rounded_otherwise = replace(cell, problem=cell.problem.replace("value = 0.1", "value = 0.2"))
    assert rounded_otherwise.problem != cell.problem
    assert rounded_otherwise.digest == cell.digest


def test_records_of_older_programs_are_known_by_their_configuration():
    for record in read(RESULTS / "families-toy.jsonl"):
        cell = Cell(record["row"], record["varied"], parse(record["config"]), problem="")
        assert cell.digest == record["cell"]


def test_a_younger_key_counts_where_it_changes_something():
    plain, pulled = (parse({"model": {"reversion": rate}}) for rate in (0.0, 1.0))
    digests = {Cell("row", {}, config, problem="").digest for config in (plain, pulled, Config())}
    assert len(digests) == 2


def test_a_grid_extends_another_one(tmp_path):
    write(tmp_path)
    (tmp_path / "more.toml").write_text(
        'extends = "grid.toml"\nseeds = 1\n[base]\ntrain.steps = 4\n[[rows]]\nname = "all"\n'
    )
    cells = read_sweep(tmp_path / "more.toml").cells
    assert [cell.name for cell in cells] == ["all, latent=8, seed 0", "all, latent=4, seed 0"]
    assert {(cell.config.train.steps, cell.config.train.paths) for cell in cells} == {(4, 32)}


def test_grids_that_extend_each_other_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="circle"):
        read_sweep(write(tmp_path, 'extends = "grid.toml"'))


def test_the_papers_grids_have_the_papers_cells(tmp_path):
    del tmp_path
    configs = Path(__file__).parents[3] / "configs"
    sweep = read_sweep(configs / "search-toy.toml", seeds=1)
    counts = Counter(cell.row for cell in sweep.cells)
    assert counts == {"SLiSDE": 576, "Neural SDE": 96, "SLiCE": 72}
    assert not sweep.impossible


def test_an_impossible_cell_is_named_and_the_rest_stays(tmp_path):
    sweep = read_sweep(write(tmp_path, SMALL.replace("[8, 4]", "[8, 10, 4]")))
    assert [cell.config.model.latent for cell in sweep.cells[:2]] == [8, 4]
    (impossible,) = sweep.impossible
    assert impossible.name == "row 1, model.latent=10"
    assert "block_size" in impossible.reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate = 3", "no place for `rate`"),
        ("seeds = 0", "`seeds` must be at least 1"),
        ("seeds = true", "`seeds` must be at least 1"),
        ('[vary]\n"model.latent" = 8', "must hold lists"),
        ("[vary]\nlatent = [8]", "must hold lists"),
        ("rows = 3", "opened by `\\[\\[rows\\]\\]`"),
        ("[[rows]]\n[[rows]]", "are the same configuration"),
        ("base = [", "is not TOML"),
        ('base.problem.source = "no.csv"', "no cell can be fitted.*no.csv"),
    ],
)
def test_a_wrong_grid_is_refused_in_a_line(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        read_sweep(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_grid_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ConfigError, match="cannot read"):
        read_sweep(tmp_path / "none.toml")
