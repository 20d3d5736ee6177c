import jax
import numpy as np
import pytest

from slisde import TimeGrid
from slisde.data.toy import (
    GROUP_WEIGHTS,
    INITIAL_VALUE,
    TIMES,
    TrueSystem,
    statistics,
    toy_problem,
)
from slisde.errors import ArgumentError


@pytest.fixture(scope="module")
def truth():
    return statistics(paths=4000, steps=128)


def test_the_problem_has_the_papers_four_groups(truth):
    problem = toy_problem(truth)
    sizes = {group: sum(t.group == group for t in problem.targets) for group in problem.groups}
    assert sizes == {"payoff": 35, "running_maximum": 5, "squared_average": 5, "barrier": 15}
    barriers = [t.value for t in problem.targets if t.group == "barrier"][-3:]
    np.testing.assert_allclose(barriers, [0.2, 0.1, 0.05], atol=1e-3)
    assert set(GROUP_WEIGHTS) == set(problem.groups)


def test_half_of_the_loss_belongs_to_the_barriers(truth):
    problem = toy_problem(truth)
    weights = problem.weights()
    barrier = [t.group == "barrier" for t in problem.targets]
    assert weights[barrier].sum() == pytest.approx(0.5)
    assert weights.sum() == pytest.approx(1.0)


def test_the_noise_floor_of_a_perfect_model_is_the_documented_one(truth):
    problem = toy_problem(truth)
    errors = np.array([t.standard_error for t in problem.targets], dtype=float)
    variance = errors**2 * len(truth.values)
    floor = float(problem.weights() @ variance) / 2048
    # 4.15e-5 for the full simulation; the tolerance covers 4,000 paths on a coarser grid
    assert floor == pytest.approx(4.15e-5, rel=0.1)


def test_statistics_are_those_of_the_simulated_paths():
    truth = statistics(paths=10, steps=20, seed=3)
    grid = TimeGrid.uniform(1.0, 20)
    paths = TrueSystem()(grid, 10, key=jax.random.fold_in(jax.random.key(3), 0))
    nodes = [round(20 * time) for time in TIMES]
    np.testing.assert_allclose(truth.values, paths[:, nodes], rtol=1e-5)
    expected = np.maximum.accumulate(np.asarray(paths), axis=1)[:, nodes]
    np.testing.assert_allclose(truth.maxima, expected, rtol=1e-5)
    np.testing.assert_allclose(paths[:, 0], INITIAL_VALUE, rtol=1e-6)


def test_maxima_are_observed_as_often_as_asked():
    truth = statistics(paths=10, steps=40, seed=3, monitoring=20)
    grid = TimeGrid.uniform(1.0, 40)
    paths = TrueSystem()(grid, 10, key=jax.random.fold_in(jax.random.key(3), 0))
    nodes = [round(20 * time) for time in TIMES]
    expected = np.maximum.accumulate(np.asarray(paths)[:, ::2], axis=1)[:, nodes]
    np.testing.assert_allclose(truth.maxima, expected, rtol=1e-5)
    finer = statistics(paths=10, steps=40, seed=3)
    np.testing.assert_array_equal(truth.values, finer.values)
    assert (finer.maxima >= truth.maxima).all()
    assert (finer.maxima > truth.maxima).any()


@pytest.mark.parametrize("monitoring", [0, 3, 80])
def test_maxima_can_only_be_observed_at_time_steps(monitoring):
    with pytest.raises(ArgumentError, match="must divide 40"):
        statistics(paths=10, steps=40, monitoring=monitoring)


def test_simulations_with_other_observations_are_kept_apart(tmp_path):
    whole = statistics(paths=50, steps=8, cache=tmp_path)
    coarse = statistics(paths=50, steps=8, monitoring=2, cache=tmp_path)
    again = statistics(paths=50, steps=8, monitoring=2, cache=tmp_path)
    assert (whole.maxima != coarse.maxima).any()
    np.testing.assert_array_equal(again.maxima, coarse.maxima)


def test_a_kept_simulation_is_read_back_and_a_damaged_one_is_made_anew(tmp_path):
    first = statistics(paths=50, steps=8, cache=tmp_path)
    (file,) = tmp_path.glob("*.npz")
    calls = []
    again = statistics(paths=50, steps=8, cache=tmp_path, report=lambda *x: calls.append(x))
    assert calls == []
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    anew = statistics(paths=50, steps=8, cache=tmp_path, report=lambda *x: calls.append(x))
    assert calls == [(50, 50)]
    for kept in (again, anew):
        for mine, theirs in zip(kept, first, strict=True):
            np.testing.assert_array_equal(mine, theirs)
