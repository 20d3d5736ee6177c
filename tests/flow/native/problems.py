"""Random problems for the kernels, and the comparison of two results."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from slisde.flow import native
from tests.flow.native import reference

BASE = ("matrices", "vectors", "dt", "noise", "initial")
EXTRA = {
    "plain": (),
    "scaled": ("scale", "offset"),
    "gated": ("previous", "gate_kernel", "gate_bias"),
}


class Case(NamedTuple):
    """Sizes of a problem, and which operands it has."""

    kind: str = "gated"
    steps: int = 3
    paths: int = 37
    blocks: int = 2
    side: int = 4
    noise: int = 3
    matrix_noise: bool = True
    vector_noise: bool = True
    coefficients_vary: bool = True
    bias_varies: bool = True
    outputs: int = 0
    basis: int = 0
    norm: str = "rms"
    seed: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        optional = {"readout": self.outputs, "features": self.basis}
        return BASE + EXTRA[self.kind] + tuple(name for name, size in optional.items() if size)

    @property
    def options(self) -> dict[str, Any]:
        if self.kind != "gated":
            return {}
        return {"amplitude": 0.7, "norm": self.norm, "norm_epsilon": 1e-3}

    def arrays(self, dtype: str) -> dict[str, jax.Array]:
        rng = np.random.default_rng(self.seed)
        latent = self.blocks * self.side
        sets = self.basis or (self.steps if self.coefficients_vary else 1)
        biases = self.steps if self.bias_varies else 1
        matrix_channels = 1 + self.noise * self.matrix_noise
        vector_channels = 1 + self.noise * self.vector_noise
        # Increments shrink with the number of steps, so that long paths stay of order one.
        dt = 1.0 / self.steps
        shapes = {
            "matrices": (0.5, (sets, matrix_channels, self.blocks, self.side, self.side)),
            "vectors": (1.0, (sets, vector_channels, latent)),
            "noise": (dt**0.5, (self.steps, self.noise, self.paths)),
            "initial": (1.0, (latent, self.paths)),
            "scale": (dt, (self.steps, latent, self.paths)),
            "offset": (dt, (self.steps, latent, self.paths)),
            "previous": (1.0, (self.steps + 1, latent, self.paths)),
            "gate_kernel": (latent**-0.5, (4, latent, latent)),
            "gate_bias": (1.0, (biases, 4, latent)),
            "readout": (1.0, (self.outputs, latent)),
            "features": (max(self.basis, 1) ** -0.5, (self.steps, self.basis)),
        }
        out = {name: size * rng.standard_normal(shape) for name, (size, shape) in shapes.items()}
        out["scale"] += 1.0
        out["dt"] = dt * rng.uniform(0.5, 1.5, self.steps)
        return {name: jnp.asarray(out[name], dtype) for name in self.names}

    def native(self, arrays: dict[str, jax.Array]) -> Any:
        run: Any = native.gated_recurrence if self.kind == "gated" else native.recurrence
        return run(**arrays, **self.options)

    def reference(self, arrays: dict[str, jax.Array]) -> Any:
        run: Any = reference.gated_recurrence if self.kind == "gated" else reference.recurrence
        return run(**arrays, **self.options)


def cases() -> st.SearchStrategy[Case]:
    """Every family, with sizes around the edges of vectors, panels and groups."""
    return st.builds(
        Case,
        kind=st.sampled_from(tuple(EXTRA)),
        steps=st.sampled_from((1, 2, 5, 13)),
        paths=st.sampled_from((1, 7, 8, 24, 31, 64, 97, 150)),
        blocks=st.integers(1, 3),
        side=st.sampled_from((1, 2, 3, 4, 5, 8, 16, 17)),
        noise=st.sampled_from((1, 2, 3, 4, 7, 8)),
        matrix_noise=st.booleans(),
        vector_noise=st.booleans(),
        coefficients_vary=st.booleans(),
        bias_varies=st.booleans(),
        outputs=st.sampled_from((0, 1, 3)),
        basis=st.sampled_from((0, 1, 4, 6, 9)),
        norm=st.sampled_from(("rms", "layer")),
        seed=st.integers(0, 2**16),
    )


def with_gradients(run: Any, arrays: dict[str, jax.Array], seed: int = 0) -> dict[str, jax.Array]:
    """Values and gradients of `run`, against fixed random cotangents, in one flat dictionary."""

    def call(arrays: dict[str, jax.Array]) -> Any:
        out, pull = jax.vjp(run, arrays)
        rng = np.random.default_rng(seed)
        bars = jax.tree.map(lambda x: jnp.asarray(rng.standard_normal(x.shape), x.dtype), out)
        return out, pull(bars)[0]

    out, gradients = jax.jit(call)(arrays)
    values = {f"value {i}": x for i, x in enumerate(jax.tree.leaves(out))}
    return values | {f"gradient of {n}": x for n, x in gradients.items() if n != "dt"}


def assert_close(
    got: dict[str, Any], want: dict[str, Any], *, value: float, gradient: float
) -> None:
    """Largest difference of each array, relative to the largest element of the wanted one."""
    assert got.keys() == want.keys()
    for name, right in want.items():
        error = float(jnp.max(jnp.abs(got[name] - right)) / (jnp.max(jnp.abs(right)) + 1e-30))
        bound = value if name.startswith("value") else gradient
        assert error <= bound, f"{name}: relative difference {error:.2e} > {bound:.0e}"
