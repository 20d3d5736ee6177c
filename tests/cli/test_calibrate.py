"""`slisde calibrate` and the commands that read its run."""

import json
import tomllib

import numpy as np
import polars as pl
import pytest

from tests.cli import small_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run, made by the command line."""
    from slisde.cli.main import app

    folder = tmp_path_factory.mktemp("calibrate")
    root = folder / "run"
    app([*small_run.write(folder), "--out", str(root)], standalone_mode=False)
    return root


def test_a_run_has_everything_in_its_directory(run):
    names = {entry.name for entry in run.iterdir()} - {".lock"}
    assert names == {
        "config.toml",
        "problem.toml",
        "history.jsonl",
        "checkpoint",
        "model.safetensors",
        "model.json",
        "metrics.json",
        "report.html",
    }
    config = tomllib.loads((run / "config.toml").read_text())
    assert config["train"]["steps"] == 24
    assert config["train"]["weight_decay"] == 1e-4  # defaults are written out, too
    assert len((run / "history.jsonl").read_text().splitlines()) == 24


def test_the_configuration_of_a_run_repeats_it_to_the_bit(slisde, run, tmp_path):
    again = tmp_path / "again"
    outcome = slisde(
        "calibrate", "--config", str(run / "config.toml"), "--out", str(again), "--json"
    )
    assert outcome.code == 0
    model = (again / "model.safetensors").read_bytes()
    assert model == (run / "model.safetensors").read_bytes()
    values = outcome.json()
    assert values["run"] == str(again)
    assert values["steps"] == 24
    assert values["loss"] == json.loads((again / "metrics.json").read_text())["loss"]
    assert values["seconds"] > 0
    assert outcome.err == ""


def test_another_seed_is_another_fit(slisde, run, tmp_path):
    again = tmp_path / "again"
    config = str(run / "config.toml")
    slisde("calibrate", "--config", config, "--out", str(again), "--seed", "1", "--steps", "2")
    assert (again / "model.safetensors").read_bytes() != (run / "model.safetensors").read_bytes()


@pytest.mark.parametrize("family", ["neural-sde", "slice"])
def test_the_baselines_are_fitted_the_same_way(slisde, tmp_path, family):
    arguments = small_run.write(tmp_path)
    out = str(tmp_path / "run")
    outcome = slisde(*arguments, "--model", family, "--steps", "2", "--out", out, "--json")
    assert outcome.code == 0
    assert slisde("price", out, "forward(maturity=0.5)", "--paths", "64", "--json").code == 0


def test_an_existing_run_is_not_overwritten(slisde, run, tmp_path):
    before = {file: file.stat().st_mtime_ns for file in run.rglob("*")}
    outcome = slisde(*small_run.write(tmp_path), "--out", str(run))
    assert outcome.code == 2
    assert "holds a run: go on with it by --resume" in outcome.err
    assert {file: file.stat().st_mtime_ns for file in run.rglob("*")} == before


def test_a_finished_run_that_is_resumed_stays_as_it_is(slisde, run):
    model = (run / "model.safetensors").read_bytes()
    outcome = slisde("calibrate", "--out", str(run), "--resume", "--json")
    assert outcome.code == 0
    assert (run / "model.safetensors").read_bytes() == model


def test_a_resumed_run_keeps_its_configuration(slisde, run):
    outcome = slisde("calibrate", "--out", str(run), "--resume", "--steps", "99")
    assert outcome.code == 2
    assert "the run has [train] `steps` = 24, not 99" in outcome.err


def test_resuming_where_nothing_is_begins_a_run(slisde, tmp_path):
    out = str(tmp_path / "new")
    arguments = [*small_run.write(tmp_path), "--steps", "2", "--out", out, "--resume", "--json"]
    assert slisde(*arguments).json()["steps"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[[target]]", "[[targets]]"), "there is no key `targets`. Did you mean `target`?"),
        (("maturity=1.0", "maturity=2.0"), "matures outside the grid, which runs from 0 to 1"),
        (("value = 0.08", "value = nan"), "target 2: `value` must be finite, got nan"),
        (("strike=1.1", "strike=1.0"), "are both call(strike=1, maturity=1)"),
        (('group = "calls"\nheld_out = true', 'group = "calls"\nheld_out = 1'), "true or false"),
        (("forward(", "foward("), "there is no functional `foward`. Did you mean `forward`?"),
    ],
)
def test_a_bad_problem_ends_in_one_line_and_leaves_nothing_behind(
    slisde, tmp_path, change, message
):
    arguments = small_run.write(tmp_path)
    problem = tmp_path / "small.toml"
    problem.write_text(problem.read_text().replace(*change))
    outcome = slisde(*arguments, "--out", str(tmp_path / "run"))
    assert outcome.code == 2
    assert outcome.err.startswith("slisde: error: ")
    assert outcome.err.count("\n") == 1
    assert message in outcome.err
    assert not (tmp_path / "run").exists()


def test_contradictory_calls_are_refused(slisde, tmp_path):
    arguments = small_run.write(tmp_path)
    problem = tmp_path / "small.toml"
    text = problem.read_text().replace("bid = 0.079\nask = 0.081\n", "")
    problem.write_text(text.replace("value = 0.045", "value = 0.09"))
    outcome = slisde(*arguments, "--out", str(tmp_path / "run"))
    assert outcome.code == 2
    assert "the call of maturity 1 rises from 0.08 at strike 1 to 0.09 at 1.1" in outcome.err


def test_a_problem_without_functionals_is_refused(slisde, tmp_path):
    empty = tmp_path / "empty.toml"
    empty.write_text('name = "empty"\nhorizon = 1.0\ntarget = []\n')
    outcome = slisde("calibrate", str(empty), "--out", str(tmp_path / "run"))
    assert outcome.code == 2
    assert "empty has no functionals: there is nothing to fit" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "dmeo"], "there is no problem `dmeo`. Did you mean `demo`?"),
        (["calibrate", "none.toml"], "none.toml: cannot be read: No such file"),
        (["calibrate", "--preset", "fast"], "there is no preset `fast`: choose one of paper"),
        (["calibrate", "--model", "lstm"], "[model] `family` must be 'slisde', 'neural-sde'"),
        (["calibrate", "--set", "train.ema=2"], "[train] `ema` must be in [0, 1), got 2.0"),
        (["calibrate", "--out", "/dev/null/run"], "/dev/null is not a writable directory"),
        (["evaluate", "nowhere"], "nowhere is not a run: it has no config.toml"),
        (["price", "nowhere", "call(strike=1)"], "`call` needs `maturity`"),
        (["simulate", "nowhere", "--to", "x.xlsx"], "must end in .parquet, .csv, .npz"),
        (["simulate", "nowhere", "--to", "no/x.csv"], "must lie in an existing folder"),
    ],
)
def test_what_the_user_can_mend_ends_in_one_line(slisde, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    outcome = slisde(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_evaluate_gives_losses_errors_and_groups(slisde, run):
    values = slisde("evaluate", str(run), "--paths", "1000", "--json").json()
    assert values["paths"] >= 1000
    assert set(values["groups"]) == {"forward", "calls"}
    assert values["groups"]["calls"]["held_out"] == 1
    assert 0.0 <= values["groups"]["calls"]["inside_bid_ask"] <= 1.0
    for key in ("loss", "loss_se", "debiased_loss", "debiased_loss_se", "noise_floor"):
        assert np.isfinite(values[key])
    plain = slisde("evaluate", str(run), "--paths", "1000").out
    assert f"{values['loss']:.4g}" in plain
    assert "calls" in plain


def test_evaluation_is_repeatable_and_a_seed_changes_it(slisde, run):
    first, second, other = (
        slisde("evaluate", str(run), "--paths", "64", "--json", *more).json()["loss"]
        for more in ([], [], ["--seed", "5"])
    )
    assert first == second != other


def test_prices_have_errors_and_put_call_parity(slisde, run):
    payoffs = [
        "call(strike=1, maturity=0.5)",
        "put(strike=1, maturity=0.5)",
        "forward(maturity=0.5)",
    ]
    rows = slisde("price", str(run), *payoffs, "--paths", "512", "--json").json()["prices"]
    assert [row["payoff"] for row in rows] == payoffs
    call, put, forward = (row["price"] for row in rows)
    assert call - put == pytest.approx(forward - 1.0, abs=1e-5)
    assert all(row["standard_error"] > 0 for row in rows)
    assert "±" in slisde("price", str(run), payoffs[0], "--paths", "64").out


def test_a_price_beyond_the_horizon_is_refused(slisde, run):
    outcome = slisde("price", str(run), "forward(maturity=3)")
    assert outcome.code == 2
    assert "forward(maturity=3) matures outside the grid" in outcome.err


@pytest.mark.parametrize("ending", ["parquet", "csv", "npz"])
def test_simulated_paths_are_the_same_in_every_format(slisde, run, tmp_path, ending):
    file = tmp_path / f"paths.{ending}"
    outcome = slisde("simulate", str(run), "--paths", "5", "--to", str(file), "--json")
    assert outcome.json() == {"file": str(file), "paths": 5, "nodes": 9}
    reference = tmp_path / "reference.npz"
    slisde("simulate", str(run), "--paths", "7", "--to", str(reference))
    with np.load(reference, allow_pickle=False) as arrays:
        times, paths = arrays["times"], arrays["paths"][:5]
    assert np.all(paths[:, 0] == 1.0)
    if ending == "npz":
        with np.load(file, allow_pickle=False) as arrays:
            np.testing.assert_array_equal(arrays["paths"], paths)
        return
    table = pl.read_parquet(file) if ending == "parquet" else pl.read_csv(file)
    assert table.columns == ["path", "time", "value"]
    np.testing.assert_allclose(table["value"].to_numpy().reshape(5, 9), paths, rtol=1e-6)
    np.testing.assert_allclose(table["time"].to_numpy()[:9], times, rtol=1e-6)


def test_the_report_is_written_anew(slisde, run):
    (run / "report.html").unlink()
    outcome = slisde("report", str(run), "--paths", "64", "--json")
    assert outcome.json() == {"report": str(run / "report.html")}
    assert "slisde fitted to small" in (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["model.safetensors", "model.json", "config.toml", "problem.toml"])
def test_a_damaged_file_is_refused_in_one_line(slisde, run, tmp_path, name):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: len(content) // 2] + b"\xff[[")
    outcome = slisde("price", str(copy), "forward(maturity=0.5)")
    assert outcome.code == 2
    assert name.split(".")[0] in outcome.err
    assert outcome.err.count("\n") == 1


def test_progress_goes_to_stderr_only_when_asked(slisde, tmp_path):
    arguments = [*small_run.write(tmp_path), "--steps", "2", "--json", "--progress"]
    outcome = slisde(*arguments, "--out", str(tmp_path / "run"))
    assert "step 2 of 2, loss" in outcome.err
    assert outcome.json()["steps"] == 2


def test_a_tilted_run_says_what_its_tilts_are_worth_and_repeats_to_the_bit(slisde, tmp_path):
    arguments = [
        *small_run.write(tmp_path),
        "--tilt",
        "--set",
        "tilt.groups=['calls']",
        "--set",
        "tilt.begin=20",
    ]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert slisde(*arguments, "--out", str(whole)).code == 0
    lines = [json.loads(line) for line in (whole / "history.jsonl").read_text().splitlines()]
    assert ["tilt_effective" in line for line in lines] == [False] * 20 + [True] * 4
    assert lines[20]["tilt_effective"] == [1.0]  # an untrained tilt
    assert tomllib.loads((whole / "config.toml").read_text())["model"]["rho"] == 0.0
    assert slisde(*arguments, "--set", "train.steps=24", "--out", str(parts)).code == 0
    assert (whole / "model.safetensors").read_bytes() == (parts / "model.safetensors").read_bytes()


def test_a_tilt_of_a_group_that_is_not_there_is_refused_before_anything_is_made(slisde, tmp_path):
    root = tmp_path / "run"
    outcome = slisde(*small_run.write(tmp_path), "--tilt", "--out", str(root))
    assert outcome.code == 2
    assert "no fitted target in the group `far_puts`: name some of forward, calls" in outcome.err
    assert not root.exists()
