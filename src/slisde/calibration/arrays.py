"""Trees of arrays on disk: safetensors, and a JSON beside it that says what they are.

The JSON holds a checksum of the arrays and is written last, so it is what makes the pair complete:
arrays without it were being written when something ended, and are ignored. Arrays are matched by
name, shape and type with a tree the program has built itself; nothing in the files is executed.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from slisde.errors import StorageError
from slisde.files import reading, write_whole

Tree = TypeVar("Tree")

FORMAT = 1


class Stored(NamedTuple):
    """A complete pair of files, checked."""

    kind: str
    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


def save_tree(stem: Path, tree: Any, *, kind: str, facts: dict[str, Any]) -> None:
    """Write `stem.safetensors` and then `stem.json`, each in one instant."""
    # safetensors writes the memory of an array as it lies, so its order has to be C.
    arrays = {name: np.asarray(leaf, order="C") for name, leaf in _named(tree).items()}
    content = save(arrays)
    description = {
        "format": f"slisde {kind}",
        "format_version": FORMAT,
        "sha256": hashlib.sha256(content).hexdigest(),
        **facts,
    }
    write_whole(stem.with_suffix(".safetensors"), content)
    text = json.dumps(description, indent=2, sort_keys=True) + "\n"
    write_whole(stem.with_suffix(".json"), text.encode())


def read_stored(stem: Path, *, kind: str) -> Stored:
    """Return what a pair of files holds, or say which of them cannot be trusted and why."""
    description_file, arrays_file = stem.with_suffix(".json"), stem.with_suffix(".safetensors")
    with reading(description_file):
        text = description_file.read_bytes()
    try:
        description = json.loads(text)
        version, digest = description.pop("format_version"), description.pop("sha256")
        if description.pop("format") != f"slisde {kind}":
            raise ValueError
    except (ValueError, KeyError, AttributeError, TypeError):
        raise StorageError(f"{description_file} does not describe a slisde {kind}.") from None
    if version != FORMAT:
        raise StorageError(
            f"{description_file} has format {version}; this version of slisde reads {FORMAT}."
        )
    with reading(arrays_file):
        content = arrays_file.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise StorageError(
            f"{arrays_file} is damaged: its checksum is not the one in {description_file.name}."
        )
    try:
        return Stored(kind, description, load(content))
    except SafetensorError as error:
        raise StorageError(f"{arrays_file} is not a safetensors file: {error}.") from None


def fill(template: Tree, stored: Stored, source: Path) -> Tree:
    """Return the template with the stored arrays, which must be exactly its own."""
    wanted = _named(template)
    for name in sorted(wanted.keys() ^ stored.arrays.keys()):
        where = "lacks" if name in wanted else "has"
        raise StorageError(
            f"{source} belongs to another {stored.kind}: it {where} the array `{name}`."
        )
    for name, leaf in wanted.items():
        found = stored.arrays[name]
        if (found.shape, found.dtype) != (leaf.shape, leaf.dtype):
            raise StorageError(
                f"{source} belongs to another {stored.kind}: `{name}` is {found.dtype}{found.shape} "
                f"there and {leaf.dtype}{leaf.shape} here."
            )
    return jax.tree_util.tree_map_with_path(
        lambda path, _: jnp.asarray(stored.arrays[jax.tree_util.keystr(path)]), template
    )


def arrays_of(tree: Any) -> list[tuple[str, tuple[int, ...], str]]:
    """Return name, shape and type of every array, which is what `fill` asks for."""
    return [(name, leaf.shape, str(leaf.dtype)) for name, leaf in sorted(_named(tree).items())]


def _named(tree: Any) -> dict[str, Any]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}
