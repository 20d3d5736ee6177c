"""Every test of a theorem is in float64 and with strict ranks."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _exact_mathematics(exact):
    pass
