import jax
import pytest

from slisde import SLiSDE, TimeGrid
from slisde.calibration.fit import calibrate
from slisde.calibration.settings import TrainSettings
from slisde.errors import MemoryShortageError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Forward
from slisde.model import memory
from slisde.model.memory import check_memory, training_bytes

MODEL = SLiSDE(64, 8, 2, key=jax.random.key(0))


def test_memory_of_a_long_horizon_is_that_of_its_segments():
    layer_paths = 2 * 8193 * 64 * 4096 * 4
    assert layer_paths > 16e9 > training_bytes(MODEL, 8192, 4096)


def test_memory_grows_with_every_argument():
    base = training_bytes(MODEL, 512, 1024)
    assert training_bytes(MODEL, 1024, 1024) > base
    assert training_bytes(MODEL, 512, 2048) > base
    assert training_bytes(SLiSDE(64, 8, 3, key=jax.random.key(0)), 512, 1024) > base


def test_a_model_that_cannot_be_cut_needs_its_whole_horizon():
    convolved = SLiSDE(64, 8, 2, causal_conv=True, key=jax.random.key(0))
    assert training_bytes(convolved, 8192, 4096) > 2 * 8193 * 64 * 4096 * 4


def test_what_cannot_fit_is_refused_with_a_size_that_would(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: int(1e9))
    with pytest.raises(MemoryShortageError, match="2,048 paths and 512 steps") as refusal:
        check_memory(MODEL, 512, 2048)
    fitting = int(str(refusal.value).split(": ")[1].split()[0].replace(",", ""))
    check_memory(MODEL, 512, fitting)
    with pytest.raises(MemoryShortageError):
        check_memory(MODEL, 512, 2 * fitting)


def test_calibration_asks_before_it_starts(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: int(1e8))
    problem = Problem([Target(Forward(1.0), 1.0)], 1.0)
    grid = TimeGrid.uniform(1.0, 8)
    with pytest.raises(MemoryShortageError):
        calibrate(MODEL, problem, grid, TrainSettings(steps=1, paths=4), key=jax.random.key(0))
