"""Initial weights of several arrays from one draw."""

from math import prod

import jax
from jaxtyping import Array, Float, PRNGKeyArray


def normals(key: PRNGKeyArray, *shapes: tuple[int, ...]) -> list[Float[Array, "..."]]:
    """Return arrays of standard normals, cut from one vector.

    A program with one large draw is traced and loaded in a fraction of the time of one with many,
    which a user waits for at every start.
    """
    sizes = [prod(shape) for shape in shapes]
    ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    vector = jax.random.normal(key, (ends[-1],))
    return [
        vector[end - size : end].reshape(shape)
        for size, end, shape in zip(sizes, ends, shapes, strict=True)
    ]
