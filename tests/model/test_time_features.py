"""Deterministic features of time (eq:time-features)."""

import numpy as np
import pytest

from slisde.flow.grid import TimeGrid
from slisde.model.time_features import decoder_features, gate_features
from tests.builders import relative_error

pytestmark = pytest.mark.usefixtures("exact")


def test_features_are_those_of_the_paper_at_the_left_end_of_every_step():
    grid = TimeGrid([0.0, 0.3, 0.5, 2.0])
    t = grid.times[:-1]
    angle = 2.0 * np.pi * t / 2.0
    expected = np.stack([np.ones_like(t), t, t**2, np.sin(angle), np.cos(angle)], axis=-1)
    assert relative_error(decoder_features(grid), expected) <= 1e-15
    assert relative_error(gate_features(grid), expected[:, 1:]) <= 1e-15
