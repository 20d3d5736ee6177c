"""The two derivatives of the log-ratio (paper: app:kl-regulariser), against step-by-step densities."""

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.girsanov.log_ratio import log_ratio_reparameterised, log_ratio_score
from slisde.girsanov.pace import Pace, Trace, trace
from tests.builders import perturbed, relative_error
from tests.girsanov.tilts import (
    LATENT,
    VARIANTS,
    random_noise,
    random_tilt,
    small_grid,
    small_model,
)

PATHS, STEP = 3, 1e-5
GRID = small_grid()


@pytest.fixture(scope="module", params=VARIANTS)
def case(request, _exact_mathematics):
    """A tilt, its control steps and noise with features, all random."""
    model = small_model()
    tilt = random_tilt(model, **VARIANTS[request.param])
    pace = tilt.pace(GRID)
    rng = np.random.default_rng(9)
    features = jnp.asarray(rng.normal(size=(pace.dt.shape[0], LATENT, PATHS)))
    noise = random_noise(model, GRID, PATHS)
    return tilt, pace, trace(pace, noise, features)


def controls(controller, pace: Pace, noise, initial, features: Any, *, given: str):
    """Return u and Δε^P by the definition of the controller, one control step after another."""
    level, dt = controller.level, pace.dt
    hats = np.stack([np.interp(pace.since, controller.knots, hat) for hat in np.eye(len(level))], 1)
    hats = hats / np.sqrt(np.where((hats**2).T @ dt > 0.0, (hats**2).T @ dt, 1.0))
    controls, path = [], []
    heard = start_of(controller.prefix, initial)
    state = start_of(controller.history, initial)
    for k in range(len(dt)):
        now = jnp.tensordot(hats[k], level, 1)
        u = jnp.repeat(now[:, None], initial.shape[1], axis=1)
        if controller.prefix is not None:
            branch = controller.prefix
            u = u + branch.mixing @ heard
            heard = forgotten(branch, dt, k)[:, None] * heard + branch.kernel @ features[k] * dt[k]
        if controller.history is not None:
            branch = controller.history
            u = u + branch.mixing @ state
            drawn = noise[k] if given == "drawn" else noise[k] - u * dt[k]
            state = forgotten(branch, dt, k)[:, None] * state + branch.kernel @ drawn
        controls.append(u)
        path.append(noise[k] + u * dt[k] if given == "drawn" else noise[k])
    return jnp.stack(controls), jnp.stack(path)


def start_of(branch, initial):
    return jnp.zeros((0 if branch is None else len(branch.decay), initial.shape[1]))


def forgotten(branch, dt, k):
    return jax.nn.sigmoid(branch.decay) ** (512 * dt[k] / dt.sum())


def normal_log_density(x, mean, variance):
    return -0.5 * jnp.sum((x - mean) ** 2, axis=0) / variance - 0.5 * len(x) * jnp.log(variance)


def log_density_ratio(tilt, pace, path: Trace):
    """Return log q(path) − log p(path), densities multiplied up step by step."""
    z, initial = path.initial, tilt.initial
    scale = jnp.ones(LATENT) if initial.log_scale is None else jnp.exp(initial.log_scale)
    normals = (z - initial.shift[:, None]) / scale[:, None]
    total = normal_log_density(normals, 0.0 * z, 1.0) - jnp.sum(jnp.log(scale))
    total = total - normal_log_density(z, 0.0 * z, 1.0)
    for controller, noise, features in parts(tilt, path):
        u, _ = controls(controller, pace, noise, z, features, given="path")
        for k, dt in enumerate(pace.dt):
            total = total + normal_log_density(noise[k], u[k] * dt, dt)
            total = total - normal_log_density(noise[k], 0.0 * u[k], dt)
    return total


def parts(tilt, seen) -> Iterator[tuple[Any, Any, Any]]:
    if tilt.prefix is not None:
        yield tilt.prefix, seen.prefix, None
    yield tilt.own, seen.own, seen.features


def made(tilt, pace, noise: Trace) -> Trace:
    """Return the path that drawn noise makes."""
    initial = tilt.initial.push(noise.initial)
    paths = [
        controls(controller, pace, drawn, initial, features, given="drawn")[1]
        for controller, drawn, features in parts(tilt, noise)
    ]
    prefix = paths[0] if tilt.prefix is not None else noise.prefix
    return Trace(initial, prefix, paths[-1], noise.features)


def slopes(function, tilt):
    """Return derivatives in random directions, one for each weight, by central differences."""
    direction = perturbed(np.random.default_rng(12), jax.tree.map(jnp.zeros_like, tilt), 1.0)
    found = []
    for index, leaf in enumerate(jax.tree.leaves(tilt)):
        moved = [
            function(at(tilt, index, leaf + sign * STEP * jax.tree.leaves(direction)[index]))
            for sign in (1.0, -1.0)
        ]
        found.append((moved[0] - moved[1]) / (2.0 * STEP))
    return np.array(found), direction


def at(tilt, index, leaf):
    return eqx.tree_at(lambda tree: jax.tree.leaves(tree)[index], tilt, leaf)


def derivatives(function, tilt, direction):
    gradient = jax.grad(function)(tilt)
    pairs = zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True)
    return np.array([jnp.sum(g * d) for g, d in pairs])


def test_the_log_ratio_is_that_of_the_step_by_step_densities(case):
    tilt, pace, path = case
    expected = log_density_ratio(tilt, pace, path)
    assert relative_error(log_ratio_score(tilt, pace, path), expected) <= 1e-12


def test_both_forms_have_one_value(case):
    tilt, pace, noise = case
    path = made(tilt, pace, noise)
    score = log_ratio_score(tilt, pace, path)
    assert relative_error(log_ratio_reparameterised(tilt, pace, noise), score) <= 1e-11


def test_the_score_form_has_the_derivative_of_the_log_density_at_a_fixed_path(case):
    tilt, pace, path = case
    expected, direction = slopes(lambda t: jnp.sum(log_density_ratio(t, pace, path)), tilt)
    found = derivatives(lambda t: jnp.sum(log_ratio_score(t, pace, path)), tilt, direction)
    assert relative_error(found, expected) <= 1e-7


def test_the_reparameterised_form_has_the_total_derivative_at_fixed_noise(case):
    tilt, pace, noise = case

    def total(t):
        return jnp.sum(log_density_ratio(t, pace, made(t, pace, noise)))

    expected, direction = slopes(total, tilt)
    found = derivatives(
        lambda t: jnp.sum(log_ratio_reparameterised(t, pace, noise)), tilt, direction
    )
    assert relative_error(found, expected) <= 1e-7


def test_the_two_derivatives_differ(case):
    tilt, pace, noise = case
    path = made(tilt, pace, noise)
    score = jax.grad(lambda t: jnp.sum(log_ratio_score(t, pace, path)))(tilt)
    total = jax.grad(lambda t: jnp.sum(log_ratio_reparameterised(t, pace, noise)))(tilt)
    assert relative_error(score.initial.shift, total.initial.shift) > 0.1
