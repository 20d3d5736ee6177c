"""What a cell is scored with."""

import pytest

from slisde.calibration.settings import TrainSettings
from slisde.experiments.sweep.fit import population_paths


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        (TrainSettings(steps=3, paths=32), 2**17),
        (TrainSettings(steps=400, paths=256), 2**17),
        (TrainSettings(steps=800, paths=512), 2**18),
        (TrainSettings(steps=1000, paths=1024), 2**19),
        (TrainSettings(steps=500, paths=512, late_factor=4), 2**18),
    ],
)
def test_a_population_has_about_as_many_paths_as_the_training_and_never_few(settings, paths):
    assert population_paths(settings) == paths
