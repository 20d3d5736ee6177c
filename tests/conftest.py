"""What every test shares: executed annotations, quick compilation, a key and exact arithmetic."""

import os
from importlib.metadata import version

import pytest
from jaxtyping import install_import_hook

# XLA spends 5 to 20 s optimising a program that then runs for 10 ms; without optimisation it is
# seven times faster. An unknown flag ends the process, so only the release it was tried on gets it.
if version("jaxlib").startswith("0.10."):
    QUICK_COMPILATION = (
        "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
        "--xla_cpu_parallel_codegen_split_count=1"
    )
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {QUICK_COMPILATION}".strip()

# Before the first import of the package: from here on every annotation is checked at every call.
install_import_hook("slisde", "beartype.beartype")

import jax  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs between runs, beside pytest's own cache."""
    if hasattr(config, "cache"):
        jax.config.update("jax_compilation_cache_dir", str(config.cache.mkdir("jax")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


@pytest.fixture(scope="session")
def key() -> jax.Array:
    """One fixed key; a test that needs several folds names into it."""
    return jax.random.key(20260731)


@pytest.fixture(scope="module")
def exact():
    """Float64 and no implicit broadcasting between ranks, for tests of exact mathematics."""
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield
