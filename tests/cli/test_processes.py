"""`slisde calibrate` in two processes: one run directory, one answer, the fit of one process."""

import json
import os
import subprocess
import sys

import pytest
from safetensors.numpy import load_file

from tests.calibration.test_devices import free_port
from tests.cli import small_run


def start(arguments, root, **variables):
    line = "from slisde.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", line, *arguments, "--out", str(root), "--json"],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return out


def test_two_processes_write_one_run_and_agree_with_one_process(tmp_path):
    arguments = small_run.write(tmp_path)
    alone = json.loads(finish(start(arguments, tmp_path / "alone")))
    shared = {"SLISDE_COORDINATOR": f"127.0.0.1:{free_port()}", "SLISDE_PROCESSES": "2"}
    root = tmp_path / "together"
    processes = [start(arguments, root, **shared, SLISDE_PROCESS=str(i)) for i in range(2)]
    first, second = (finish(process) for process in processes)
    assert second == ""
    together = json.loads(first)
    assert together["steps"] == alone["steps"] == 24
    assert together["loss"] == pytest.approx(alone["loss"], rel=1e-2)
    weights = [load_file(run / "model.safetensors") for run in (tmp_path / "alone", root)]
    assert weights[0].keys() == weights[1].keys()
    for name, values in weights[0].items():
        assert weights[1][name] == pytest.approx(values, abs=1e-3)
    assert len((root / "history.jsonl").read_text().splitlines()) == 24
    assert (root / "report.html").exists()
