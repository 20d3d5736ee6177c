"""Bad sizes and options are refused by name, value and reason, before any array is made."""

import jax
import pytest

from slisde.errors import ArgumentError
from slisde.flow.grid import TimeGrid
from slisde.model.stack import SLiSDE, Stacking

SIZES = {"latent": 8, "noise": 2, "layers": 2}
BAD = [
    ("latent", 0, {}, "must be an integer ≥ 1"),
    ("noise", 0, {}, "must be an integer ≥ 1"),
    ("layers", -1, {}, "must be an integer ≥ 1"),
    ("embedding", 0, {}, "must be an integer ≥ 1"),
    ("out", 0, {}, "must be at least 1"),
    ("block_size", 3, {}, "must divide `latent` = 8"),
    ("block_size", 0, {}, "must divide `latent` = 8"),
    ("block_size", 16, {}, "must divide `latent` = 8"),
    ("low_rank", -1, {}, "must be between 0 and `latent` = 8"),
    ("low_rank", 9, {}, "must be between 0 and `latent` = 8"),
    ("reversion", -1.0, {}, "must not be negative"),
    ("reversion", float("nan"), {}, "must not be negative"),
    ("multiplicative_scale", -0.1, {}, "must not be negative"),
    ("multiplicative_scale", float("inf"), {}, "must not be negative"),
    ("norm_epsilon", 0.0, {}, "must be positive"),
    ("norm_epsilon", float("nan"), {"layers": 1}, "must be positive"),
    ("amplitude", 0.0, {}, "must be in (0, 1)"),
    ("amplitude", 1.0, {}, "must be in (0, 1)"),
    ("amplitude", float("nan"), {}, "must be in (0, 1)"),
    ("amplitude", 2.0, {"layers": 1}, "must be in (0, 1)"),
    ("initial_scale", 0.0, {}, "must be positive"),
    ("initial_scale", float("nan"), {"prior": True}, "must be positive"),
    ("offset_scale", -0.1, {}, "must not be negative"),
    ("offset_scale", float("nan"), {}, "must not be negative"),
    ("rho", 1.0, {}, "must be in [0, 1)"),
    ("rho", -0.5, {}, "must be in [0, 1)"),
    ("rho", float("nan"), {}, "must be in [0, 1)"),
    ("rho", 0.5, {"stacking": Stacking.RESIDUAL}, "must be None with residual stacking"),
    ("initial_value", (1.0, 2.0), {}, "must have `out` = 1 entries"),
]


@pytest.mark.parametrize(("name", "value", "others", "domain"), BAD)
def test_a_bad_argument_of_the_model_is_named(name, value, others, domain, key, monkeypatch):
    def unexpected(*_, **__):
        pytest.fail("weights were drawn before the arguments were checked")

    monkeypatch.setattr(jax.random, "normal", unexpected)
    with pytest.raises(ArgumentError) as caught:
        SLiSDE(**SIZES | {name: value} | others, key=key)
    assert str(caught.value).startswith(f"`{name}` {domain}, got {value!r}: ")
    assert len(str(caught.value)) > len(f"`{name}` {domain}, got {value!r}: .")
    assert caught.value.name == name


@pytest.mark.parametrize(("paths", "antithetic"), [(0, False), (-4, False), (0, True), (5, True)])
def test_a_batch_has_paths_and_antithetic_ones_come_in_pairs(paths, antithetic, key):
    model = SLiSDE(4, 2, 1, block_size=2, key=key)
    with pytest.raises(ArgumentError, match=f"`paths` must be .*, got {paths}: "):
        model(TimeGrid.uniform(1.0, 3), paths, antithetic=antithetic, key=key)
