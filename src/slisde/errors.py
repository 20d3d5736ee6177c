"""The errors a user can meet, all below `SlisdeError`."""

from typing import Any


class SlisdeError(Exception):
    """Something the user can mend; the message is one line that says how."""


class ArgumentError(SlisdeError, ValueError):
    """An argument outside its domain, found before anything is traced.

    Args:
        name: the argument, as the caller spells it.
        value: what was given.
        domain: what is allowed, as in "must be in [0, 1)".
        reason: why, in a few words.
    """

    def __init__(self, name: str, value: Any, domain: str, reason: str):
        super().__init__(f"`{name}` {domain}, got {value!r}: {reason}.")
        self.name = name


class ConfigError(SlisdeError):
    """A configuration file, `--set` option or environment variable that cannot be used."""


class ProblemError(SlisdeError, ValueError):
    """A calibration problem that no model could be fitted to."""


class DivergenceError(SlisdeError):
    """Training that does not come back from non-finite losses."""


class MemoryShortageError(SlisdeError):
    """A computation that would not fit into the machine, found before it starts."""


class EngineError(SlisdeError):
    """A forced engine or evaluation that this machine or model does not have."""


class StorageError(SlisdeError):
    """A file of a run that is damaged, incomplete or not ours."""
