"""Trees of arrays survive the disk; anything else is refused by name."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde import SLiSDE
from slisde.calibration.arrays import fill, read_stored, save_tree
from slisde.errors import StorageError


def tree(latent: int = 8):
    return SLiSDE(latent, 2, 2, block_size=4, key=jax.random.key(latent))


@pytest.fixture
def stem(tmp_path):
    stem = tmp_path / "model"
    save_tree(stem, tree(), kind="model", facts={"steps": 3})
    return stem


def test_arrays_come_back_to_the_bit(stem):
    template = eqx.filter_eval_shape(tree)
    stored = read_stored(stem, kind="model")
    back = fill(template, stored, stem)
    assert stored.facts == {"steps": 3}
    for mine, theirs in zip(jax.tree.leaves(back), jax.tree.leaves(tree()), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_a_transposed_array_comes_back_as_it_was(tmp_path):
    """safetensors writes memory as it lies, so a view in another order needs a copy first."""
    array = np.arange(6.0, dtype=np.float32).reshape(2, 3).T
    save_tree(tmp_path / "a", {"x": array}, kind="model", facts={})
    back = fill({"x": jnp.zeros((3, 2))}, read_stored(tmp_path / "a", kind="model"), tmp_path)
    np.testing.assert_array_equal(back["x"], array)


@pytest.mark.parametrize("position", [10, -1, 2000])
def test_a_flipped_byte_is_noticed(stem, position):
    file = stem.with_suffix(".safetensors")
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)
    with pytest.raises(StorageError, match="is damaged: its checksum"):
        read_stored(stem, kind="model")


@pytest.mark.parametrize("length", [0, 7, 500])
def test_a_truncated_file_is_noticed(stem, length):
    file = stem.with_suffix(".safetensors")
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(StorageError, match="is damaged"):
        read_stored(stem, kind="model")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '"text"', "{}", '{"format": "other model", "format_version": 1, "sha256": ""}'],
)
def test_a_description_that_is_not_ours_is_refused(stem, content):
    stem.with_suffix(".json").write_text(content)
    with pytest.raises(StorageError, match="does not describe a slisde model"):
        read_stored(stem, kind="model")


def test_a_checkpoint_is_not_a_model(stem):
    with pytest.raises(StorageError, match="does not describe a slisde checkpoint"):
        read_stored(stem, kind="checkpoint")


def test_a_later_format_is_refused(stem):
    file = stem.with_suffix(".json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "format_version": 99}))
    with pytest.raises(StorageError, match="has format 99; this version of slisde reads 1"):
        read_stored(stem, kind="model")


def test_a_file_that_is_no_safetensors_is_refused_even_with_its_checksum(stem):
    import hashlib

    content = b"\x80\x04\x95a pickle, for instance"
    stem.with_suffix(".safetensors").write_bytes(content)
    file = stem.with_suffix(".json")
    described = {**json.loads(file.read_text()), "sha256": hashlib.sha256(content).hexdigest()}
    file.write_text(json.dumps(described))
    with pytest.raises(StorageError, match="is not a safetensors file"):
        read_stored(stem, kind="model")


def test_another_models_arrays_are_refused_by_name(stem):
    stored = read_stored(stem, kind="model")
    with pytest.raises(StorageError, match=r"belongs to another model: `\.\S+` is float32"):
        fill(eqx.filter_eval_shape(tree, 16), stored, stem)
    with pytest.raises(StorageError, match=r"belongs to another model: it has the array"):
        fill({}, stored, stem)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"cannot read .*none\.json: No such file"):
        read_stored(tmp_path / "none", kind="model")
