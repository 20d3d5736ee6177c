"""Which engine evaluates the recurrences: fused native kernels or plain JAX."""

import os
from enum import StrEnum
from typing import NamedTuple

import jax

from slisde.errors import EngineError
from slisde.flow import native

VARIABLE = "SLISDE_ENGINE"


class Engine(StrEnum):
    """Who does the arithmetic."""

    NATIVE = "native"
    JAX = "jax"


class EngineChoice(NamedTuple):
    """An engine and, in plain words, why it is used."""

    engine: Engine
    reason: str


def choose_engine() -> EngineChoice:
    """Return the engine in use; `SLISDE_ENGINE=jax|native` forces one."""
    forced = os.environ.get(VARIABLE, "")
    if forced not in ("", *Engine):
        raise EngineError(f"{VARIABLE} must be `jax` or `native`, got {forced!r}.")
    if forced == Engine.JAX:
        return EngineChoice(Engine.JAX, f"{VARIABLE}=jax asks for it")
    platform = jax.default_backend()
    obstacle = (
        native.reason()
        if platform == "cpu"
        else f"the kernels are for CPUs and JAX runs on {platform}"
    )
    if obstacle and forced == Engine.NATIVE:
        raise EngineError(f"{VARIABLE}=native, but {obstacle}.")
    if obstacle:
        return EngineChoice(Engine.JAX, obstacle)
    return EngineChoice(
        Engine.NATIVE, f"compiled kernels are installed; they use {native.instruction_set()} here"
    )
