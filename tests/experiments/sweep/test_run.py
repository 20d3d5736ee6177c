"""Sweeps that are killed, resumed, run twice and fed broken records."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from slisde.errors import EngineError, SlisdeError, StorageError
from slisde.experiments.record import read
from slisde.experiments.sweep.child import ABANDONED
from slisde.experiments.sweep.cluster import DaskEngine
from slisde.experiments.sweep.events import Finished, Lost
from slisde.experiments.sweep.grid import read_sweep
from slisde.experiments.sweep.local import LocalEngine
from slisde.experiments.sweep.run import run_sweep
from slisde.experiments.sweep.task import payload_of, run_payload
from slisde.files import alone
from tests.experiments.sweep import fakes
from tests.experiments.sweep.grids import write

FAKE = "tests.experiments.sweep.fakes"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the fakes look at; children find the tests by the root of the project."""
    monkeypatch.setenv(fakes.FOLDER, str(tmp_path))
    monkeypatch.chdir(ROOT)
    return tmp_path


def finish(sweep, engine, out):
    return list(run_sweep(sweep, engine, out))


def assert_complete(sweep, out):
    cells = [record["cell"] for record in read(out)]
    assert sorted(cells) == sorted(cell.digest for cell in sweep.cells)


def local():
    return LocalEngine(2, module=FAKE)


def test_every_cell_has_one_record_and_a_second_run_does_nothing(folder):
    sweep, out = read_sweep(write(folder)), folder / "out.jsonl"
    *_, (state, _) = finish(sweep, local(), out)
    assert_complete(sweep, out)
    best = state.best
    assert best is not None
    assert best["varied"] == {"model.latent": 4}
    assert best["seed"] == 0
    before = out.read_bytes()
    events = finish(sweep, local(), out)
    assert [event for _, event in events] == [None]
    assert out.read_bytes() == before


def test_more_seeds_keep_the_records_of_fewer(folder):
    out = folder / "out.jsonl"
    finish(read_sweep(write(folder), seeds=1), local(), out)
    sweep = read_sweep(write(folder), seeds=3)
    events = finish(sweep, local(), out)
    assert sum(isinstance(event, Finished) for _, event in events) == 4
    assert_complete(sweep, out)


@pytest.mark.parametrize("make", [local, lambda: DaskEngine(2, task=fakes.task)])
def test_a_killed_worker_loses_its_cell_only_and_it_is_run_anew(folder, make):
    (folder / "deadly-1").touch()
    sweep, out = read_sweep(write(folder)), folder / "out.jsonl"
    *_, (state, _) = finish(sweep, make(), out)
    assert_complete(sweep, out)
    assert not state.failed
    for seed in range(3):
        for latent in (4, 8):
            attempts = (folder / f"attempts-{latent}-{seed}").read_text().splitlines()
            assert len(attempts) >= 2 if seed == 1 else attempts


@pytest.mark.parametrize("make", [local, lambda: DaskEngine(1, task=fakes.task)])
def test_a_cell_that_never_works_is_given_up_and_the_rest_is_done(folder, make):
    (folder / "broken-2").touch()
    sweep, out = read_sweep(write(folder)), folder / "out.jsonl"
    events = finish(sweep, make(), out)
    state = events[-1][0]
    assert sorted(state.failed) == ["row 1, latent=4, seed 2", "row 1, latent=8, seed 2"]
    assert all("this cell never works" in reason for reason in state.failed.values())
    assert any(isinstance(event, Lost) and event.final for _, event in events)
    assert len(read(out)) == 4
    (folder / "broken-2").unlink()
    finish(sweep, make(), out)
    assert_complete(sweep, out)


def test_a_driver_that_is_killed_goes_on_where_it_was(folder):
    (folder / "slow").touch()
    grid, out = write(folder), folder / "out.jsonl"
    command = [sys.executable, "-m", "tests.experiments.sweep.driver", str(grid), str(out)]
    sweep = read_sweep(grid, seeds=3)
    for wanted in (1, 3):
        driver = subprocess.Popen(command, cwd=ROOT)
        deadline = time.monotonic() + 120
        while not (out.exists() and len(out.read_bytes().splitlines()) >= wanted):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    subprocess.run(command, cwd=ROOT, check=True)
    assert_complete(sweep, out)


def test_children_end_when_nobody_listens(folder):
    sweep, out = read_sweep(write(folder)), folder / "out.jsonl"
    (folder / "slow").touch()
    running = run_sweep(sweep, local(), out)
    for _, event in running:
        if isinstance(event, Finished):
            break
    running.close()
    time.sleep(0.1)
    pids = {int(pid) for file in folder.glob("attempts-*") for pid in file.read_text().splitlines()}
    assert not [pid for pid in pids if _runs(pid)]


def test_a_child_ends_with_its_driver_whatever_it_does(tmp_path):
    cell = read_sweep(write(tmp_path), seeds=1).cells[0]
    tables = cell.config.model_dump()
    tables["train"]["steps"] = 10**6
    child = subprocess.Popen(
        [sys.executable, "-m", "slisde.experiments.sweep.child", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(payload_of(tables, cell.problem)) + "\n")
    child.stdin.flush()
    assert "step" in json.loads(child.stdout.readline())
    child.stdin.close()
    assert child.wait(timeout=30.0) == ABANDONED
    child.stdout.close()


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_two_drivers_do_not_write_one_file(folder):
    sweep, out = read_sweep(write(folder)), folder / "out.jsonl"
    with (
        alone(folder / ".out.jsonl.lock", "busy"),
        pytest.raises(StorageError, match="another sweep is writing"),
    ):
        finish(sweep, local(), out)
    assert not out.exists()


def test_a_corrupt_record_is_reported_with_its_line_and_nothing_is_lost(folder):
    sweep, out = read_sweep(write(folder), seeds=1), folder / "out.jsonl"
    finish(sweep, local(), out)
    first, second = out.read_bytes().splitlines(keepends=True)
    broken = first + b"{half\n" + second
    out.write_bytes(broken)
    with pytest.raises(SlisdeError, match="line 2"):
        finish(sweep, local(), out)
    assert out.read_bytes() == broken


def test_a_record_that_was_cut_short_is_run_again(folder):
    sweep, out = read_sweep(write(folder), seeds=1), folder / "out.jsonl"
    finish(sweep, local(), out)
    out.write_bytes(out.read_bytes()[:-20])
    finish(sweep, local(), out)
    assert_complete(sweep, out)


def test_a_last_record_without_a_line_break_is_kept(folder):
    sweep, out = read_sweep(write(folder), seeds=1), folder / "out.jsonl"
    finish(sweep, local(), out)
    whole = out.read_bytes()
    out.write_bytes(whole[:-1])
    assert len(finish(sweep, local(), out)) == 1
    assert out.read_bytes() == whole


def test_an_unreachable_scheduler_is_said_in_seconds(folder):
    sweep, out = read_sweep(write(folder), seeds=1), folder / "out.jsonl"
    begun = time.monotonic()
    with pytest.raises(EngineError, match="no Dask scheduler answers at tcp"):
        finish(sweep, DaskEngine(scheduler="tcp://127.0.0.1:9"), out)
    assert time.monotonic() - begun < 30.0


def test_a_running_cluster_is_used_by_its_address(folder):
    import distributed

    make: Any = distributed.LocalCluster
    (folder / "slow").touch()
    sweep, out = read_sweep(write(folder)), folder / "out.jsonl"
    with make(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        engine = DaskEngine(scheduler=cluster.scheduler_address, task=fakes.task)
        finish(sweep, engine, out)
        assert cluster.scheduler.workers
    assert_complete(sweep, out)
    seen = Counter(
        pid for file in folder.glob("attempts-*") for pid in file.read_text().splitlines()
    )
    assert len(seen) == 2


def test_both_engines_fit_to_the_same_numbers(tmp_path):
    sweep = read_sweep(write(tmp_path), seeds=1)
    cell = sweep.cells[1]
    one = type(sweep)(sweep.name, [cell], [])
    here = run_payload(payload_of(cell.config.model_dump(), cell.problem), lambda *_: None)
    for name, engine in (("local", LocalEngine()), ("dask", DaskEngine())):
        out = tmp_path / f"{name}.jsonl"
        finish(one, engine, out)
        (record,) = read(out)
        assert record["metrics"] == json.loads(json.dumps(here["metrics"]))
        assert record["config"]["model"]["latent"] == 4
        assert record["machine"]["version"] == here["machine"]["version"]
