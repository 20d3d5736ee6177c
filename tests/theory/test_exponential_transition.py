"""The exponential transition is the exact flow of commuting coefficients (eq:exponential-affine-flow)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from slisde.flow.evaluate import evaluate
from slisde.flow.grid import TimeGrid
from slisde.flow.linear import LinearFlow
from slisde.flow.transition import Euler, Exponential
from tests.builders import random_grid, random_increments, relative_error

TOLERANCE = 1e-12
PATHS = 3


def solution(matrices, grid, noise, initial, transition):
    """Return the path of a homogeneous layer without vectors, its matrices `[1 + m, block, row, col]`."""
    no_drift = jnp.zeros((1, 1, initial.shape[0]))
    flow = LinearFlow(jnp.asarray(matrices)[None], no_drift, grid.dt, noise, transition)
    return np.asarray(jax.jit(lambda: evaluate(flow, None, initial))())


def exact_solution(matrices, grid, noise, initial):
    """Return exp((A − ½ Σ C²) t + Σ C W_t) Z_0 at every node: the closed form, block by block."""
    drift, diffusion = matrices[0], matrices[1:]
    size = drift.shape[-1]
    driver = np.concatenate([np.zeros((1, *noise.shape[1:])), np.cumsum(noise, axis=0)])
    corrected = drift - 0.5 * np.sum(diffusion @ diffusion, axis=0)
    generator = np.einsum("nrc,k->knrc", corrected, grid.times)[..., None]
    generator = generator + np.einsum("jnrc,kjp->knrcp", diffusion, driver)
    flows = scipy.linalg.expm(np.moveaxis(generator, -1, 0))
    start = np.asarray(initial).reshape(len(drift), size, -1)
    states = np.einsum("pknrc,ncp->knrp", flows, start)
    return states.reshape(len(grid.times), -1, states.shape[-1])


def diagonal_coefficients(rng):
    """Return four uncoupled geometric Brownian motions with two drivers."""
    return 0.5 * rng.normal(size=(3, 4, 1, 1))


def commuting_blocks(rng):
    """Return blocks that are polynomials of one matrix each, hence commute without being diagonal."""
    generator = 0.6 * rng.normal(size=(2, 3, 3))
    powers = np.stack([np.broadcast_to(np.eye(3), (2, 3, 3)), generator, generator @ generator])
    return np.einsum("jq,qnrc->jnrc", 0.5 * rng.normal(size=(3, 3)), powers)


COEFFICIENTS = pytest.mark.parametrize("coefficients", [diagonal_coefficients, commuting_blocks])


def problem(coefficients, grid):
    """Return matrices, noise on the grid and initial states."""
    rng = np.random.default_rng(21)
    matrices = coefficients(rng)
    latent = matrices.shape[1] * matrices.shape[2]
    return (
        matrices,
        random_increments(rng, grid, 2, PATHS),
        jnp.asarray(rng.normal(size=(latent, PATHS))),
    )


@COEFFICIENTS
@pytest.mark.parametrize("steps", [1, 2, 13])
@pytest.mark.parametrize("uneven", [False, True])
def test_commuting_coefficients_give_the_closed_form_on_any_grid(coefficients, steps, uneven):
    grid = (
        random_grid(np.random.default_rng(steps), steps) if uneven else TimeGrid.uniform(1.0, steps)
    )
    matrices, noise, initial = problem(coefficients, grid)
    exact = exact_solution(matrices, grid, np.asarray(noise), initial)
    assert (
        relative_error(solution(matrices, grid, noise, initial, Exponential()), exact) <= TOLERANCE
    )


@COEFFICIENTS
def test_without_the_ito_correction_the_solution_would_be_wrong(coefficients):
    grid = TimeGrid.uniform(1.0, 13)
    matrices, noise, initial = problem(coefficients, grid)
    uncorrected = matrices.copy()
    uncorrected[0] += 0.5 * np.sum(matrices[1:] @ matrices[1:], axis=0)
    exact = exact_solution(matrices, grid, np.asarray(noise), initial)
    assert relative_error(solution(uncorrected, grid, noise, initial, Exponential()), exact) > 1e-2


@COEFFICIENTS
def test_the_euler_transition_is_not_exact(coefficients):
    grid = TimeGrid.uniform(1.0, 13)
    matrices, noise, initial = problem(coefficients, grid)
    exact = exact_solution(matrices, grid, np.asarray(noise), initial)
    assert relative_error(solution(matrices, grid, noise, initial, Euler()), exact) > 1e-3


def test_coefficients_that_do_not_commute_leave_an_error():
    grid = TimeGrid.uniform(1.0, 13)
    matrices, noise, initial = problem(lambda rng: 0.5 * rng.normal(size=(3, 2, 3, 3)), grid)
    exact = exact_solution(matrices, grid, np.asarray(noise), initial)
    assert relative_error(solution(matrices, grid, noise, initial, Exponential()), exact) > 1e-3
