import pytest

from slisde.experiments.config import parse
from slisde.experiments.cost import step_bytes, step_flops


def cost(**tables):
    return parse(tables)


def test_the_arithmetic_of_the_timed_cell_is_the_documented_one():
    # recurrences 2 x (5.4 + 10.7) GFLOP and gate 18 + 37 GFLOP, as published for this shape
    assert step_flops(cost()) / 1e9 == pytest.approx(2 * 16.3 + 54.8, rel=0.01)


@pytest.mark.parametrize("key", ["paths", "steps"])
def test_arithmetic_is_linear_in_paths_and_steps(key):
    table = {"paths": "train", "steps": "grid"}[key]
    small, large = (step_flops(cost(**{table: {key: size}})) for size in (128, 256))
    assert large == 2 * small


def test_memory_stops_growing_like_the_layer_paths_when_the_horizon_is_cut_into_segments():
    def gigabytes(steps):
        config = cost(train={"paths": 4096}, grid={"steps": steps})
        return step_bytes(config, native=True) / 1e9

    paths_of_8192_steps = 2 * 8193 * 64 * 4096 * 4 / 1e9
    assert gigabytes(8192) < 16 < paths_of_8192_steps + gigabytes(512)
    assert gigabytes(8192) > gigabytes(4096) > gigabytes(2048)
