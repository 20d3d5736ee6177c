"""A run that is killed at random instants ends with the same bits as one that was left alone."""

import os
import random
import signal
import subprocess
import sys
import time

from tests.cli import small_run

MORE = ["--set", "train.steps=400", "--set", "train.validate_every=0"]


def command(arguments, root):
    line = "from slisde.cli.main import main; main()"
    return [sys.executable, "-c", line, *arguments, "--out", str(root), "--resume"]


def test_kill_and_resume_gives_the_same_weights(tmp_path):
    arguments = [*small_run.write(tmp_path), *MORE]
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    environment["SLISDE_CHECKPOINT_SECONDS"] = "0.02"
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(command(arguments, whole), env=environment, check=True, capture_output=True)

    instants = random.Random(7)  # noqa: S311 - nothing secret
    codes = []
    for number in range(4):
        process = subprocess.Popen(
            command(arguments, killed),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Starting takes seconds in which nothing happens: wait for the first sign of training.
        deadline = time.monotonic() + 120
        before = _size(killed)
        while process.poll() is None and _size(killed) == before and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(instants.uniform(0.0, 0.4))
        process.send_signal(signal.SIGINT if number == 1 else signal.SIGKILL)
        _, said = process.communicate()
        codes.append(process.returncode)
        if process.returncode == 130:  # Ctrl-C is answered
            assert f"slisde calibrate --out {killed} --resume` goes on" in said
    assert -signal.SIGKILL in codes
    subprocess.run(command(arguments, killed), env=environment, check=True, capture_output=True)
    for name in ("model.safetensors", "problem.toml", "config.toml"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    losses = [line.split(b'"gradient')[0] for line in (killed / "history.jsonl").open("rb")]
    assert losses == [line.split(b'"gradient')[0] for line in (whole / "history.jsonl").open("rb")]


def _size(root) -> int:
    history = root / "history.jsonl"
    return history.stat().st_size if history.exists() else -1
