"""`slisde sweep`: what it prints of a grid and of its records."""

import pytest

from slisde.experiments.record import append, read
from slisde.experiments.sweep.grid import read_sweep
from slisde.experiments.sweep.local import LocalEngine
from slisde.experiments.sweep.run import run_sweep
from tests.experiments.sweep import fakes
from tests.experiments.sweep.grids import SMALL, write
from tests.experiments.sweep.test_run import ROOT


@pytest.fixture
def swept(tmp_path, monkeypatch):
    """A grid with an impossible cell, and the records of the others."""
    monkeypatch.setenv(fakes.FOLDER, str(tmp_path))
    monkeypatch.chdir(ROOT)
    grid, out = write(tmp_path, SMALL.replace("[8, 4]", "[8, 10, 4]")), tmp_path / "out.jsonl"
    for _ in run_sweep(read_sweep(grid), LocalEngine(2, module=fakes.__name__), out):
        pass
    return grid, out


def test_a_person_reads_rows_the_best_first_and_what_was_left_out(slisde, swept):
    grid, out = swept
    shown = slisde("sweep", str(grid), "--out", str(out))
    assert shown.code == 0
    first, second, last = shown.out.splitlines()
    # the fakes' loss is latent plus seed
    assert first.split("  ")[:2] == ["row 1, latent=4", "loss 5.00e+00 ± 5.8e-01"]
    assert second.startswith("row 1, latent=8  loss 9.00e+00 ± 5.8e-01")
    assert last == f"6 of 6 cells are in {out}"
    assert "left out: row 1, model.latent=10: [model] `block_size` must divide" in shown.err


def test_scripts_read_the_same(slisde, swept):
    grid, out = swept
    values = slisde("sweep", str(grid), "--out", str(out), "--json").json()
    assert values["cells"] == values["done"] == values["found"] == 6
    assert values["best"] == {
        "row": "row 1",
        "varied": {"model.latent": 4},
        "seed": 0,
        "debiased_loss": 4.0,
    }
    assert [each["name"] for each in values["impossible"]] == ["row 1, model.latent=10"]
    assert [row["seeds"] for row in values["rows"]] == [3, 3]


@pytest.mark.parametrize("latents", [[8], [4, 8]])
def test_rows_that_never_trained_say_so(slisde, swept, latents):
    grid, out = swept
    records = read(out)
    out.unlink()
    for record in records:
        if record["varied"]["model.latent"] in latents:
            del record["metrics"]
            record["error"] = "training diverged"
        append(out, record)
    lines = slisde("sweep", str(grid), "--out", str(out)).out.splitlines()
    lost = [line for line in lines if line.endswith("no fit: all of 3 seeds failed to train")]
    assert sorted(lost) == sorted(lines[: len(lines) - 1][-len(latents) :])
    assert len(lost) == len(latents)
    values = slisde("sweep", str(grid), "--out", str(out), "--json").json()
    assert (values["best"] is None) == (len(latents) == 2)


def test_a_fit_without_a_finite_loss_is_never_the_best(slisde, swept):
    grid, out = swept
    records = read(out)
    out.unlink()
    for record in records:
        if record["seed"] == 0:
            record["metrics"]["population"]["debiased_loss"] = float("nan")
        append(out, record)
    values = slisde("sweep", str(grid), "--out", str(out), "--json").json()
    best = values["best"]
    assert (best["varied"], best["seed"]) == ({"model.latent": 4}, 1)
    assert [(row["loss"], row["failed"]) for row in values["rows"]] == [(5.5, 1), (9.5, 1)]


def test_a_plan_lists_cells_with_their_size_and_runs_nothing(slisde, tmp_path):
    values = slisde("sweep", str(write(tmp_path)), "--plan", "--seeds", "2", "--json").json()
    assert [cell["cell"] for cell in values["cells"]] == [
        f"row 1, latent={latent}, seed {seed}" for seed in (0, 1) for latent in (8, 4)
    ]
    assert all(cell["parameters"] > 0 for cell in values["cells"])
    *lines, last = slisde("sweep", str(write(tmp_path)), "--plan", "--seeds", "2").out.splitlines()
    assert lines[0].startswith("row 1, latent=8, seed 0: ")
    assert last.startswith("4 cells, ")
    assert list(tmp_path.iterdir()) == [tmp_path / "grid.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.toml",), "cannot read none.toml"),
        (("--scheduler", "tcp://127.0.0.1:9"), "add `--engine dask`"),
        (("--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"), "no Dask scheduler answers"),
    ],
)
def test_what_the_user_can_mend_is_one_line(slisde, tmp_path, arguments, message):
    if arguments[0].startswith("--"):
        arguments = (str(write(tmp_path)), *arguments)
    shown = slisde("sweep", *arguments, "--out", str(tmp_path / "out.jsonl"))
    assert shown.code == 2
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "out.jsonl").exists()
