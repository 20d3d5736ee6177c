import jax
import jax.numpy as jnp
import numpy as np

from slisde import TimeGrid
from slisde.data.toy import TrueSystem, statistics
from slisde.experiments.metrics import RECOVERY_PATHS, recovery

GRID = TimeGrid.uniform(1.0, 32)


class Moved(TrueSystem):
    """The true system, moved by a shift."""

    shift: float = 0.0

    def observe(self, grid, drivers):
        return super().observe(grid, drivers) + self.shift


def test_the_true_law_is_recovered_to_sampling_error_and_a_shift_is_seen():
    truth = statistics(paths=20_000, steps=32)
    same = recovery(Moved(), truth, GRID, key=jax.random.key(8))
    moved = recovery(Moved(0.1), truth, GRID, key=jax.random.key(8))
    # the two-sample KS statistic exceeds 1.63 √(2/n) once in a hundred
    assert max(same["ks_terminal"], same["ks_maximum"]) < 1.63 * (2 / RECOVERY_PATHS) ** 0.5
    spread = np.std(truth.values[:, -1])
    assert same["w1_terminal"] < 4 * spread / RECOVERY_PATHS**0.5
    for name in ("terminal", "maximum"):
        assert abs(moved[f"w1_{name}"] - 0.1) < 0.02
    assert jnp.isfinite(moved["ks_terminal"])
