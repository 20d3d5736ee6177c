"""One fact, one home: what is written in several files has to agree."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_lock_names_no_package_index_and_hashes_everything():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index|--find-links", lock)
    pinned = re.findall(r"^[a-z0-9][^\s=]*==", lock, flags=re.MULTILINE)
    assert len(pinned) > 30
    assert len(re.findall(r"^[a-z0-9][^\n]*\\\n +--hash=sha256:", lock, re.MULTILINE)) == len(
        pinned
    )


@pytest.mark.parametrize("file", ["README.md", "Makefile"])
def test_the_python_minimum_is_the_same_everywhere(file):
    minimum = PROJECT["requires-python"].removeprefix(">=")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert f"Python {minimum}" in text


def test_every_public_name_loads():
    import slisde

    for name in slisde.__all__:
        assert getattr(slisde, name) is not None
