"""Run directories: begun once, locked, and bit-identical wherever they were stopped."""

import errno
import os

import equinox as eqx
import jax
import numpy as np
import pytest

from slisde import SLiSDE, TimeGrid, TrainSettings
from slisde.calibration.run import RunDirectory
from slisde.calibration.step import start
from slisde.calibration.train_run import train_run
from slisde.errors import DivergenceError, StorageError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward

GRID = TimeGrid.uniform(1.0, 8)
KEY = jax.random.key(2)
SETTINGS = TrainSettings(
    steps=12, paths=32, ema=0.9, validate_every=4, validation_paths=64, patience=9
)


def problem():
    return Problem([Target(Forward(1.0), 1.0), Target(Call(1.0, 1.0), 0.08)], 1.0, 1.0)


def model():
    return SLiSDE(8, 2, 2, block_size=4, initial_value=1.0, key=KEY)


def begun(path) -> RunDirectory:
    run = RunDirectory(path)
    run.begin("[train]\n", problem())
    return run


def trained(run, report=None, checkpoint_seconds=0.0, settings=SETTINGS):
    return train_run(
        run,
        model(),
        problem(),
        GRID,
        settings,
        checkpoint_seconds=checkpoint_seconds,
        report=report,
        key=KEY,
    )


def assert_same_bits(first, second):
    for mine, theirs in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(mine, theirs)


class PowerCutError(Exception):
    """Nothing is saved on its way out."""


@pytest.mark.parametrize("stops", [[1], [5], [4, 6, 9], [11]])
@pytest.mark.parametrize("checkpoint_seconds", [0.0, 1e9], ids=["every step", "never"])
def test_a_run_that_was_stopped_ends_with_the_same_bits(tmp_path, stops, checkpoint_seconds):
    whole = trained(begun(tmp_path / "whole"))
    run = begun(tmp_path / "stopped")

    for stop in stops:

        def cut(progress, stop=stop):
            if progress.step == stop:
                raise PowerCutError

        with pytest.raises(PowerCutError):
            trained(run, cut, checkpoint_seconds)
    assert_same_bits(trained(run, None, checkpoint_seconds), whole)
    steps = [record["step"] for record in run.read_history()]
    assert steps == list(range(1, 13))
    expected = [record["loss"] for record in RunDirectory(tmp_path / "whole").read_history()]
    assert [record["loss"] for record in run.read_history()] == expected


def test_a_keyboard_interrupt_saves_before_it_goes_on(tmp_path):
    run = begun(tmp_path)

    def interrupt(progress):
        if progress.step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(run, interrupt, 1e9)
    state = run.latest_state(eqx.filter_eval_shape(start, model(), problem(), SETTINGS))
    assert state is not None
    assert int(state.step) == 7


def test_two_checkpoints_are_kept(tmp_path):
    run = begun(tmp_path)
    trained(run)
    names = sorted(file.name for file in run.checkpoints.iterdir())
    assert names == [
        f"step-{step:08d}.{kind}" for step in (11, 12) for kind in ("json", "safetensors")
    ]


def test_a_damaged_checkpoint_is_refused_with_the_way_out(tmp_path):
    run = begun(tmp_path)
    whole = trained(run)
    file = run.checkpoints / "step-00000012.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(
        StorageError, match=r"is damaged.*Remove step-00000012\.json to go on from step 11"
    ):
        trained(run)
    (run.checkpoints / "step-00000012.json").unlink()
    assert_same_bits(trained(run), whole)


def test_arrays_without_their_description_are_ignored(tmp_path):
    run = begun(tmp_path)
    whole = trained(run)
    (run.checkpoints / "step-00000012.json").unlink()
    assert_same_bits(trained(run), whole)


def test_another_models_checkpoint_is_refused(tmp_path):
    run = begun(tmp_path)
    trained(run)
    with pytest.raises(StorageError, match="belongs to another checkpoint"):
        run.latest_state(
            eqx.filter_eval_shape(
                start, SLiSDE(16, 2, 2, block_size=4, key=KEY), problem(), SETTINGS
            )
        )


def test_a_full_disk_is_said_and_the_earlier_checkpoint_stays(tmp_path, monkeypatch):
    run = begun(tmp_path)
    trained(run, settings=SETTINGS)
    before = sorted((file.name, file.read_bytes()) for file in run.checkpoints.iterdir())

    def no_space(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(StorageError, match=r"cannot write .*: No space left on device"):
        run.save_state(start(model(), problem(), SETTINGS))
    assert sorted((file.name, file.read_bytes()) for file in run.checkpoints.iterdir()) == before


def test_divergence_keeps_the_last_good_weights(tmp_path):
    run = begun(tmp_path)
    # steps of size 1e30 overflow at once; the weights before the first bad step have to survive
    wild = TrainSettings(steps=60, paths=32, learning_rate=1e30, warmup=2, clip=1e30)
    with pytest.raises(DivergenceError, match=r"diverged.*last good weights are kept in"):
        trained(run, settings=wild)
    state = run.latest_state(eqx.filter_eval_shape(start, model(), problem(), wild))
    assert state is not None
    assert all(bool(np.all(np.isfinite(leaf))) for leaf in jax.tree.leaves(state.weights))


def test_a_directory_with_a_run_or_with_anything_else_is_left_alone(tmp_path):
    begun(tmp_path / "run")
    with pytest.raises(StorageError, match="holds a run: go on with it by --resume"):
        begun(tmp_path / "run")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    with pytest.raises(StorageError, match="photos is not empty"):
        begun(tmp_path / "photos")
    (tmp_path / "file").write_text("text")
    with pytest.raises(StorageError, match=r"is not empty|not a writable directory"):
        begun(tmp_path / "file")
    with pytest.raises(StorageError, match="file is not a writable directory"):
        begun(tmp_path / "file" / "below")
    assert [entry.name for entry in (tmp_path / "photos").iterdir()] == ["cat.png"]


def test_what_an_interrupted_beginning_leaves_can_be_begun_again(tmp_path):
    run = begun(tmp_path)
    run.config_file.unlink()
    assert not run.exists
    begun(tmp_path)


def test_two_processes_cannot_train_in_one_directory(tmp_path):
    run = begun(tmp_path)
    with (
        run.locked(),
        pytest.raises(StorageError, match="another process is training in"),
        RunDirectory(tmp_path).locked(),
    ):
        pass
    with run.locked():
        pass


def test_a_history_that_was_cut_in_a_line_loses_that_line_only(tmp_path):
    run = begun(tmp_path)
    trained(run)
    content = run.history_file.read_bytes()
    run.history_file.write_bytes(content[:-10])
    assert len(run.read_history()) == 11
    run.history_file.write_bytes(b"{not json}\n" + content)
    with pytest.raises(StorageError, match=r"history\.jsonl, line 1, is not JSON"):
        run.read_history()


def test_a_model_that_is_not_there_yet_says_how_to_get_it(tmp_path):
    run = begun(tmp_path)
    with pytest.raises(StorageError, match=r"no fitted model yet: finish it with .*--resume"):
        run.read_model(eqx.filter_eval_shape(model))
    with pytest.raises(StorageError, match=r"is not a run: it has no config\.toml"):
        RunDirectory(tmp_path / "elsewhere").check_begun()
