import pytest

from slisde.experiments.config import parse
from slisde.experiments.cost import step_flops


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
