"""Plain JAX twins of the kernels: a scan over steps, differentiated by JAX."""

import jax
import jax.numpy as jnp

from slisde.flow.native import Run


def _block_product(blocks, z):
    """[block, i, l, path] times [latent, path]."""
    n, side = blocks.shape[:2]
    paths = z.shape[-1]  # without matrix noise the blocks are the same on every path
    return jnp.einsum("nilb,nlb->nib", blocks, z.reshape(n, side, paths)).reshape(n * side, paths)


def recurrence(
    matrices, vectors, dt, noise, initial, scale=None, offset=None, readout=None, features=None
):
    steps = noise.shape[0]
    if features is not None:
        matrices = jnp.einsum("ke,e...->k...", features, matrices)
        vectors = jnp.einsum("ke,e...->k...", features, vectors)
    side = matrices.shape[-1]
    eye = jnp.eye(side, dtype=matrices.dtype)[:, :, None]

    def per_step(x):
        return jnp.broadcast_to(x, (steps, *x.shape[1:]))

    def step(z, inputs):
        matrix, vector, h, dw, s, o = inputs
        f = eye + matrix[0][..., None] * h
        if matrix.shape[0] > 1:
            f = f + jnp.einsum("jnil,jb->nilb", matrix[1:], dw)
        g = vector[0][:, None] * h
        if vector.shape[0] > 1:
            g = g + jnp.einsum("jd,jb->db", vector[1:], dw)
        if s is not None:
            blocks = matrix.shape[1]
            on_diagonal = s.reshape(blocks, side, 1, -1)
            f = jnp.where(eye > 0, f * on_diagonal, f)
        z = _block_product(f, z) + g
        if o is not None:
            z = z + o
        return z, z

    inputs = (per_step(matrices), per_step(vectors), dt, noise, scale, offset)
    _, path = jax.lax.scan(step, initial, inputs)
    path = jnp.concatenate([initial[None], path])
    observed = None if readout is None else jnp.einsum("pd,kdb->kpb", readout, path)
    return Run(path, path[-1], observed)


def gate(previous, gate_kernel, gate_bias, *, amplitude, norm, norm_epsilon):
    """Scale and offset of every step."""
    z = previous[:-1]
    if norm == "layer":
        z = z - jnp.mean(z, axis=1, keepdims=True)
    x = z / jnp.sqrt(norm_epsilon + jnp.mean(z * z, axis=1, keepdims=True))
    p = jnp.einsum("rid,kdb->krib", gate_kernel, x) + gate_bias[..., None]
    scale = 1.0 + amplitude * jax.nn.sigmoid(p[:, 0]) * jnp.tanh(p[:, 1])
    return scale, jax.nn.sigmoid(p[:, 2]) * p[:, 3]


def gated_recurrence(
    matrices,
    vectors,
    dt,
    noise,
    initial,
    previous,
    gate_kernel,
    gate_bias,
    *,
    readout=None,
    features=None,
    **options,
):
    scale, offset = gate(previous, gate_kernel, gate_bias, **options)
    return recurrence(matrices, vectors, dt, noise, initial, scale, offset, readout, features)
