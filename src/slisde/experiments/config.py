"""Typed configuration: TOML tables and `--set table.key=value`.

Keys and types are checked here; whether a value makes sense is for the constructor that takes it
(see `build`), so that each rule has one home.
"""

import difflib
import tomllib
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from slisde.calibration.settings import TrainSettings
from slisde.calibration.tilt_settings import TiltTraining
from slisde.errors import ConfigError
from slisde.toml import write_keys


class Section(BaseModel):
    """One table; unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ModelConfig(Section):
    """`[model]`: the network. Defaults are the L = 2 cell of tab:toy3-vanilla."""

    family: Literal["slisde", "neural-sde", "slice"] = "slisde"
    layers: int = 2
    latent: int = 64
    noise: int = 8
    structure: Literal["diagonal", "block", "dense"] = "block"
    block_size: int = 8
    noise_type: Literal["general", "multiplicative", "additive"] = "general"
    low_rank: int = 0
    time_dependent: bool = True
    embedding: int = 8
    reversion: float = 0.0
    multiplicative_scale: float = 1.0
    time_features: bool = True
    norm: Literal["rms", "layer"] = "rms"
    norm_epsilon: float = 1e-6
    causal_conv: bool = False
    amplitude: float = 0.1
    offset_scale: float = 0.01
    offset_unit: Literal["step", "time"] = "step"
    stacking: Literal["gated", "residual"] = "gated"
    transition: Literal["euler", "exponential"] = "euler"
    prior: bool = False
    initial_scale: float = 1.0
    readout: Literal["linear", "normalised", "martingale", "mixing"] = "linear"
    growth: bool = False
    out: int = 1
    initial_value: float | None = None
    rho: float | None = None
    hidden: int = 128
    depth: int = 2
    activation: Literal["tanh", "gelu"] = "tanh"
    diffusion: Literal["full", "diagonal"] = "full"


class TrainConfig(Section):
    """`[train]`: the protocol; see `TrainSettings` for what the keys mean."""

    steps: int = TrainSettings.steps
    paths: int = TrainSettings.paths
    seed: int = 0
    learning_rate: float = TrainSettings.learning_rate
    warmup: int = TrainSettings.warmup
    weight_decay: float = TrainSettings.weight_decay
    clip: float = TrainSettings.clip
    beta2: float = TrainSettings.beta2
    ema: float | None = TrainSettings.ema
    antithetic: bool = TrainSettings.antithetic
    unbiased: bool = TrainSettings.unbiased
    memory: float | Literal["auto"] | None = TrainSettings.memory
    whitening: float | None = TrainSettings.whitening
    temperature: float = TrainSettings.temperature
    straight_through: bool = TrainSettings.straight_through
    conditional: bool = TrainSettings.conditional
    hedged: bool = TrainSettings.hedged
    late_factor: int = TrainSettings.late_factor
    validate_every: int = 50
    validation_paths: int = TrainSettings.validation_paths
    patience: int | None = TrainSettings.patience


class GridConfig(Section):
    """`[grid]`: the time grid up to the problem's horizon, uniform or with a node at every maturity."""

    steps: int = 512
    spacing: Literal["uniform", "maturities"] = "uniform"


class ProblemConfig(Section):
    """`[problem]`: demo, toy, or a file; the other keys say how a file of quotes is read.

    `monitoring` is TOY's: how many times maxima are observed, at all 2,048 steps of its simulation by default.
    """

    source: str = "demo"
    monitoring: int | None = None
    convention: Literal["market", "paper", "as-published"] = "market"
    quote_date: str | None = None
    spot: float | None = None
    rates: list[float] | None = None
    root: str | None = None
    expiries: list[str] | None = None
    hold_out: bool = True


class PenaltyConfig(Section):
    """`[penalty]`: relative entropy of the marginals to those of another run's model."""

    entropy: float = 0.0
    reference: str | None = None


class TiltConfig(Section):
    """`[tilt]`: far targets on tilted paths; see `TiltTraining` for what the keys mean."""

    enabled: bool = False
    groups: list[str] = list(TiltTraining.groups)
    begin: int = TiltTraining.begin
    paths: int = TiltTraining.paths
    far_tail: Literal["combined", "tilted"] = "combined"
    aim: Literal["cross-entropy", "snis-variance"] = "cross-entropy"
    kl_weight: float = TiltTraining.kl_weight
    wall: float = TiltTraining.wall
    log_clip: float = TiltTraining.log_clip
    learning_rate: float = TiltTraining.learning_rate
    clip: float = TiltTraining.clip


class Config(Section):
    """All tables."""

    problem: ProblemConfig = ProblemConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    grid: GridConfig = GridConfig()
    penalty: PenaltyConfig = PenaltyConfig()
    tilt: TiltConfig = TiltConfig()


Tables = dict[str, dict[str, Any]]

_TABLES: dict[str, type[Section]] = {
    name: type(field.default) for name, field in Config.model_fields.items()
}


def load(
    path: Path | None = None, settings: Iterable[str] = (), preset: Tables | None = None
) -> Config:
    """Return a preset with a TOML file laid over it, and `table.key=value` settings over both."""
    return parse(_layers(path, settings, preset))


def check_same(
    config: Config, path: Path | None, settings: Iterable[str], preset: Tables | None
) -> None:
    """Raise unless everything that was asked for, and nothing else is looked at, is in `config`."""
    tables = _layers(path, settings, preset)
    asked = parse({name: dict(table) for name, table in tables.items()}).model_dump()
    for name, table in tables.items():
        for key in table:
            kept = config.model_dump()[name][key]
            if asked[name][key] != kept:
                raise ConfigError(
                    f"the run has [{name}] `{key}` = {kept!r}, not {asked[name][key]!r}: a resumed "
                    "run keeps its configuration. Leave the option out, or fit in another directory."
                )


def _layers(path: Path | None, settings: Iterable[str], preset: Tables | None) -> dict[str, Any]:
    tables: dict[str, Any] = {name: dict(table) for name, table in (preset or {}).items()}
    for name, table in ({} if path is None else read_tables(path)).items():
        if isinstance(table, dict):
            tables.setdefault(name, {}).update(table)
        else:
            tables[name] = table
    for setting in settings:
        _lay_over(tables, setting)
    return tables


def dump(config: Config) -> str:
    """Return the configuration as TOML that `load` reads back, every key written out."""
    tables = config.model_dump().items()
    return "\n".join(f"[{name}]\n{write_keys(table)}" for name, table in tables)


def parse(tables: dict[str, Any]) -> Config:
    """Return the configuration, or say which key is wrong, what it holds and why."""
    try:
        return Config.model_validate(_as_declared(tables))
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None


def read_tables(path: Path) -> dict[str, Any]:
    """Return what is in a TOML file, or say why it cannot be read."""
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
    if value == "none":
        value = None  # which TOML has no word for, as in train.ema=none
    section = tables.setdefault(table, {})
    if not isinstance(section, dict):
        raise ConfigError(
            f"`{table}` is a value in the file, not a table: `--set {setting}` has no place."
        )
    section[key] = value


def _as_declared(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the tables with `1` read as `1.0` where a number may have decimals, and days as text."""
    for name, section in tables.items():
        if name not in _TABLES or not isinstance(section, dict):
            continue
        for key, value in section.items():
            target = _TABLES[name].model_fields.get(key)
            kinds = () if target is None else (target.annotation, *get_args(target.annotation))
            wants_float = float in kinds
            if wants_float and isinstance(value, int) and not isinstance(value, bool):
                section[key] = float(value)
            elif isinstance(value, list):
                section[key] = [_day_as_text(each) for each in value]
            else:
                section[key] = _day_as_text(value)
    return tables


def _day_as_text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _explain(error: ValidationError) -> str:
    first, *others = error.errors(include_url=False)
    table, *rest = (str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return _unknown(table, rest)
    if not rest:
        return f"`{table}` must be a table, as in `[{table}]`."
    # A key of several kinds has an error for each of them.
    same = [first, *(other for other in others if other["loc"][:2] == first["loc"][:2])]
    kinds = dict.fromkeys(each["msg"].removeprefix("Input should be ") for each in same)
    requirement = " or ".join(kinds)
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
