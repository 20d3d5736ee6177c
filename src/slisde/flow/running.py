"""The running maximum of a path, with its adjoint written by hand.

`jax.lax.cummax` is a tree of shifted maxima whose derivative is another one; for a batch of paths that
costs as much as some layers' recurrences. Step after step it is one pass over the nodes, for all paths
of a batch together, and so is the way back: a cotangent belongs to the last node that set a record.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

UNROLL = 8
"""Nodes per turn of the loop: their arithmetic is less than the turn itself."""

Values = Float[Array, " node"]


@jax.custom_vjp
def running_maximum(values: Values) -> Values:
    """Return the highest value so far, at every node.

    Example:
        >>> running_maximum(jnp.array([1.0, 3.0, 2.0, 4.0])).tolist()
        [1.0, 3.0, 3.0, 4.0]
    """

    def step(highest, value):
        highest = jnp.maximum(highest, value)
        return highest, highest

    return jax.lax.scan(step, values[0], values, unroll=UNROLL)[1]


def _forward(values):
    highest = running_maximum(values)
    return highest, (values, highest)


def _backward(residuals, cotangent):
    values, highest = residuals
    record = jnp.concatenate([jnp.ones_like(values[:1], bool), values[1:] > highest[:-1]])

    def step(waiting, inputs):
        bar, is_record = inputs
        waiting = waiting + bar
        return jnp.where(is_record, 0.0, waiting), jnp.where(is_record, waiting, 0.0)

    inputs = (cotangent, record)
    start = jnp.zeros_like(cotangent[0])
    return (jax.lax.scan(step, start, inputs, reverse=True, unroll=UNROLL)[1],)


running_maximum.defvjp(_forward, _backward)
