"""Run the command line in this process and read what it printed."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from slisde.cli.main import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


@pytest.fixture
def slisde(monkeypatch, capsys) -> Callable[..., Outcome]:
    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr("sys.argv", ["slisde", *arguments])
        monkeypatch.setattr("slisde.cli.main.keep_compiled_programs", lambda: None)
        with pytest.raises(SystemExit) as stop:
            main()
        code = stop.value.code
        return Outcome(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run
