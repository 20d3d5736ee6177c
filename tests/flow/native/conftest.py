from pathlib import Path

import jax
import pytest

from slisde.flow import native

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    if native.available():
        return
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.skip(reason=f"native engine: {native.reason()}"))


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    """The element type, with 64-bit types switched on for the test only."""
    with jax.enable_x64(request.param == "float64"):
        yield request.param
