"""Training on two devices, and in two processes, gives the weights that one device gives."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from slisde.calibration.simulate import check_share, local_copy, replicate, simulate
from slisde.errors import ArgumentError
from slisde.flow import native
from tests.calibration.small_runs import GRID, PATHS, RUNS, draw, slisde, train

ROOT = Path(__file__).parents[2]
SECONDS = 200
# Annotations are executed there too.
PROGRAM = """
import sys
import tests.conftest
from tests.calibration.small_runs import main
main(sys.argv[1], sys.argv[2:])
"""


def run_elsewhere(
    runs: tuple[str, ...], environments: dict[Path, dict[str, str]]
) -> list[dict[str, np.ndarray]]:
    """Return what processes with these environments save in their files, all running at once."""
    processes: list[subprocess.Popen] = []
    deadline = time.monotonic() + SECONDS
    try:
        for file, environment in environments.items():
            command = [sys.executable, "-c", PROGRAM, str(file), *runs]
            with file.with_suffix(".log").open("w") as log:
                processes.append(
                    subprocess.Popen(
                        command,
                        cwd=ROOT,
                        env={**os.environ, **environment},
                        stdout=log,
                        stderr=subprocess.STDOUT,
                    )
                )
        # When one fails the others would wait for it in vain.
        while any(p.poll() is None for p in processes) and not any(p.returncode for p in processes):
            assert time.monotonic() < deadline, f"not done after {SECONDS} s"
            time.sleep(0.05)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    said = "".join(file.with_suffix(".log").read_text() for file in environments)
    assert not any(process.returncode for process in processes), said
    return [dict(np.load(file)) for file in environments]


def assert_same(there: dict[str, np.ndarray], here: dict[str, np.ndarray], tolerance: float):
    for name, value in here.items():
        error = np.max(np.abs(there[name] - value)) / np.max(np.abs(value))
        assert error <= tolerance, f"{name}: {error}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    ("engine", "runs"),
    [("native", tuple(RUNS)), ("jax", ("slisde_in_mirrored_pairs",))],
    ids=["native", "jax"],
)
def test_two_devices_give_the_weights_of_one(engine, runs, tmp_path, monkeypatch):
    if engine == "native" and not native.available():
        pytest.skip(native.reason())
    monkeypatch.setenv("SLISDE_ENGINE", engine)
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    with jax.enable_x64(True):
        here = {name: value for run in runs for name, value in train(run).items()}
        noise = {antithetic: np.asarray(draw(antithetic)) for antithetic in (False, True)}
    environment = {"XLA_FLAGS": flags, "JAX_ENABLE_X64": "1"}
    (there,) = run_elsewhere(runs, {tmp_path / "two.npz": environment})
    assert there["devices"] == 2
    # Sums over paths are taken in another order: 1e-16, and more where Adam divides by a small one.
    assert_same(there, here, tolerance=1e-11)
    for antithetic, value in noise.items():
        np.testing.assert_array_equal(there[f"noise/{antithetic}"], value)
        assert there[f"shares/{antithetic}"].tolist() == [[PATHS // 2, GRID.steps]] * 2


def test_two_processes_give_the_weights_of_one(tmp_path):
    shared = {"SLISDE_COORDINATOR": f"127.0.0.1:{free_port()}", "SLISDE_PROCESSES": "2"}
    here = train("slisde")
    zero, one = run_elsewhere(
        ("slisde",),
        {tmp_path / f"{index}.npz": {**shared, "SLISDE_PROCESS": index} for index in ("0", "1")},
    )
    assert zero["devices"] == 2
    for name, value in zero.items():
        np.testing.assert_array_equal(value, one[name], err_msg=name)
    # Float32 gradients differ by 1e-7 of the largest; Adam brings the small ones to its size.
    assert_same(zero, here, tolerance=1e-4)


def test_on_one_device_the_model_is_simply_called(key):
    model = slisde()
    one = jax.devices()[:1]
    paths = simulate(model, GRID, 4, antithetic=True, devices=one, key=key)
    np.testing.assert_array_equal(paths, model(GRID, 4, antithetic=True, key=key))
    assert replicate(model) is model or jax.device_count() > 1
    np.testing.assert_array_equal(local_copy(model).readout.kernel, model.readout.kernel)


def test_a_batch_that_does_not_divide_between_the_devices_is_refused():
    with pytest.raises(ArgumentError, match="`paths` must be a multiple of the 3 devices, got 16"):
        check_share(16, 3)
