"""Typed configuration: TOML tables and `--set table.key=value`.

Keys and types are checked here; whether a value makes sense is for the constructor that takes it
(see `build`), so that each rule has one home.
"""

import difflib
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from slisde.errors import ConfigError


class Section(BaseModel):
    """One table; unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ModelConfig(Section):
    """`[model]`: the network. Defaults are the L = 2 cell of tab:toy3-vanilla."""

    family: Literal["slisde"] = "slisde"
    layers: int = 2
    latent: int = 64
    noise: int = 8
    structure: Literal["diagonal", "block", "dense"] = "block"
    block_size: int = 8
    noise_type: Literal["general", "multiplicative", "additive"] = "general"
    low_rank: int = 0
    time_dependent: bool = True
    embedding: int = 8
    time_features: bool = True
    norm: Literal["rms", "layer"] = "rms"
    causal_conv: bool = False
    amplitude: float = 0.1
    stacking: Literal["gated", "residual"] = "gated"
    transition: Literal["euler", "exponential"] = "euler"
    prior: bool = False
    readout: Literal["linear"] = "linear"
    out: int = 1
    initial_value: float | None = None
    rho: float | None = None


class TrainConfig(Section):
    """`[train]`: what one training step simulates."""

    paths: int = 1024


class GridConfig(Section):
    """`[grid]`: the uniform time grid."""

    steps: int = 512
    horizon: float = 1.0


class Config(Section):
    """All tables."""

    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    grid: GridConfig = GridConfig()


_TABLES: dict[str, type[Section]] = {
    "model": ModelConfig,
    "train": TrainConfig,
    "grid": GridConfig,
}


def load(path: Path | None = None, settings: Iterable[str] = ()) -> Config:
    """Return the configuration of a TOML file with `table.key=value` settings laid over it."""
    tables = {} if path is None else _read(path)
    for setting in settings:
        _lay_over(tables, setting)
    return parse(tables)


def parse(tables: dict[str, Any]) -> Config:
    """Return the configuration, or say which key is wrong, what it holds and why."""
    try:
        return Config.model_validate(_floats_from_integers(tables))
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}.") from None


def _lay_over(tables: dict[str, Any], setting: str) -> None:
    name, equals, text = setting.partition("=")
    table, dot, key = name.strip().partition(".")
    if not equals or not dot or not key:
        raise ConfigError(f"`--set {setting}` must look like `--set model.layers=3`.")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # a bare word, as in model.norm=layer
    section = tables.setdefault(table, {})
    if not isinstance(section, dict):
        raise ConfigError(
            f"`{table}` is a value in the file, not a table: `--set {setting}` has no place."
        )
    section[key] = value


def _floats_from_integers(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the tables with `1` read as `1.0` where a number may have decimals."""
    for name, section in tables.items():
        if name not in _TABLES or not isinstance(section, dict):
            continue
        for key, value in section.items():
            target = _TABLES[name].model_fields.get(key)
            wants_float = target is not None and target.annotation in (float, float | None)
            if wants_float and isinstance(value, int) and not isinstance(value, bool):
                section[key] = float(value)
    return tables


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    table, *rest = (str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return _unknown(table, rest)
    if not rest:
        return f"`{table}` must be a table, as in `[{table}]`."
    requirement = first["msg"].removeprefix("Input should be ")
    return f"[{table}] `{rest[0]}` must be {requirement}, got {first['input']!r}."


def _unknown(table: str, rest: list[str]) -> str:
    known = list(_TABLES[table].model_fields if rest else _TABLES)
    wrong = rest[0] if rest else table
    close = difflib.get_close_matches(wrong, known, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else f"Known: {', '.join(known)}."
    return (
        f"[{table}] has no key `{wrong}`. {hint}"
        if rest
        else f"There is no table `[{wrong}]`. {hint}"
    )
