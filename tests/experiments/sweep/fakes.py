"""Workers that train nothing: what they do is said by files in a folder, `FAKE_SWEEP`.

Run as a module it is the child of a local sweep; `task` is its twin for Dask. A worker notes each
attempt at a cell, and kills itself at the first one where the file `deadly-SEED` is there.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = "FAKE_SWEEP"


def work(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a cell, or die."""
    folder = Path(os.environ[FOLDER])
    train, latent = payload["config"]["train"], payload["config"]["model"]["latent"]
    seed = train["seed"]
    attempts = folder / f"attempts-{latent}-{seed}"
    with attempts.open("a") as file:
        file.write(f"{os.getpid()}\n")
    count = len(attempts.read_text().splitlines())
    if (folder / f"deadly-{seed}").exists() and count == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if (folder / f"broken-{seed}").exists():
        raise RuntimeError("this cell never works")
    if (folder / "slow").exists():
        time.sleep(0.2)
    population = {"debiased_loss": float(latent + seed)}
    return {"seconds_per_step": 0.1, "metrics": {"population": population}}


def task(digest: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Do the same in a worker of a cluster."""
    del digest
    return work(payload)


if __name__ == "__main__":
    result = work(json.loads(sys.stdin.readline()))
    sys.stdout.write(json.dumps({"step": 1, "loss": 0.5}) + "\n")
    sys.stdout.write(json.dumps({"result": result}) + "\n")
