"""Every example runs, with a few steps where it trains."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example):
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    arguments = [] if example.stem == "simulate_untrained" else ["3"]
    done = subprocess.run(
        [sys.executable, str(example), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "±" in done.stdout
    assert "nan" not in done.stdout.replace("maturity", "")


def test_examples_are_short():
    for example in EXAMPLES:
        assert len(example.read_text(encoding="utf-8").splitlines()) <= 80, example.name
