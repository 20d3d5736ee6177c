"""What a cell is scored with."""

import pytest

from slisde.calibration.settings import TrainSettings
from slisde.experiments.sweep.fit import population_paths


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        (TrainSettings(steps=3, paths=32), 2**17),
        (TrainSettings(steps=400, paths=256), 2**19),
        (TrainSettings(steps=200, paths=256, late_factor=4), 2**19),
        (TrainSettings(steps=500, paths=512), 2**20),
        (TrainSettings(steps=1000, paths=1024), 2**20),
    ],
)
def test_a_population_has_several_times_the_paths_of_the_training_within_bounds(settings, paths):
    assert population_paths(settings) == paths
