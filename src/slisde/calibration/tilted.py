"""Far-tail targets estimated on tilted paths while a model is trained (paper: app:kl-regulariser).

Each group of far targets has a tilt of its own. The model sees weighted averages over its paths and
no gradient through their weights; the tilt is moved towards the paths that matter for the group.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from slisde.calibration.tilt_settings import Aim, FarTail, TiltTraining
from slisde.errors import ProblemError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import drawn
from slisde.functionals.base import Smoothing
from slisde.functionals.problem import Problem
from slisde.girsanov.law import TiltedBatch
from slisde.girsanov.noise import draw_noise
from slisde.girsanov.objective import (
    Wall,
    cross_entropy,
    penalty,
    snis_variance,
    target_weights,
)
from slisde.girsanov.tilt import Tilt, check_tiltable, make_tilt
from slisde.girsanov.weights import effective_size
from slisde.model.interface import AbstractPathModel
from slisde.model.stack import SLiSDE

STREAM = 1_000
"""Folded into a step's key, with the number of the tilt, for its noise; far from `Stream`."""


class TiltState(eqx.Module):
    """The tilts and the state of their optimisers."""

    tilts: tuple[Tilt, ...]
    optimisers: tuple[PyTree, ...]


class Seen(eqx.Module):
    """What one tilt saw in a step.

    Attributes:
        batch: its paths.
        mean_value: the mean over the group's functionals of every path.
        effective: effective share of the paths.
    """

    batch: TiltedBatch
    mean_value: Float[Array, " path"]
    effective: Float[Array, ""]


class TiltedTargets:
    """The tilted part of an objective.

    Args:
        model: the model, whose weights change.
        problem: the problem.
        grid: the time grid.
        settings: how far targets are tilted.
        fitted: positions of the targets that are fitted.
        smoothing: what stands for indicators.
        conditional: whether the law given the latent paths is used where it is known.
    """

    def __init__(
        self,
        model: AbstractPathModel,
        problem: Problem,
        grid: TimeGrid,
        settings: TiltTraining,
        *,
        fitted: Sequence[int],
        smoothing: Smoothing,
        conditional: bool,
    ):
        check_tiltable(model)
        self.grid, self.settings, self.conditional = grid, settings, conditional
        self.members = [_members(problem, group, fitted) for group in settings.groups]
        self.evaluators = [
            problem.evaluator(smoothing, [fitted[index] for index in members])
            for members in self.members
        ]

    def estimate(
        self,
        model: AbstractPathModel,
        tilts: tuple[Tilt, ...],
        reference: Float[Array, "path target"],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " target"], list[Seen]]:
        """Return estimates of all expectations, those of the tilted groups by weighted paths.

        Args:
            model: the model with its weights of now.
            tilts: one a group.
            reference: the functionals of the reference batch.
            key: random key of the step.
        """
        model = check_tiltable(model)
        means, seen = jnp.mean(reference, axis=0), []
        groups = zip(tilts, self.members, self.evaluators, strict=True)
        for number, (tilt, members, evaluator) in enumerate(groups):
            noise_key = jax.random.fold_in(key, STREAM + number)
            noise = draw_noise(model, self.grid, self.settings.paths, key=noise_key)
            batch = jax.lax.stop_gradient(tilt).draw(model, self.grid, noise)
            sample = batch.sample if self.conditional else drawn(batch.sample)
            values = evaluator(sample, jnp.asarray(self.grid.times))
            log_weights = jax.lax.stop_gradient(-batch.log_ratio)
            estimate = jax.nn.softmax(log_weights) @ values
            size = effective_size(log_weights)
            if self.settings.far_tail is FarTail.COMBINED:
                plain = reference.shape[0]
                share = plain / (plain + size)
                estimate = share * means[members] + (1.0 - share) * estimate
            means = means.at[members].set(estimate)
            seen.append(
                Seen(
                    jax.lax.stop_gradient(batch),
                    jax.lax.stop_gradient(jnp.mean(values, axis=1)),
                    size / self.settings.paths,
                )
            )
        return means, seen

    def improve(self, state: TiltState, seen: Sequence[Seen]) -> TiltState:
        """Return the tilts after a step towards the paths that matter."""
        optimiser, tilts, optimisers = _optimiser(self.settings), [], []
        for tilt, before, each in zip(state.tilts, state.optimisers, seen, strict=True):
            gradient = jax.grad(self._loss)(tilt, each)
            updates, after = optimiser.update(gradient, before)
            tilts.append(eqx.apply_updates(tilt, updates))
            optimisers.append(after)
        return TiltState(tuple(tilts), tuple(optimisers))

    def _loss(self, tilt: Tilt, seen: Seen) -> Float[Array, ""]:
        pace, batch, settings = tilt.pace(self.grid), seen.batch, self.settings
        barrier, _ = penalty(tilt, pace, batch.noise, Wall(settings.kl_weight, settings.wall))
        if settings.aim is Aim.SNIS_VARIANCE:
            values = seen.mean_value
            return snis_variance(tilt, pace, batch.path, values, batch.log_ratio) + barrier
        target = target_weights(jnp.abs(seen.mean_value), batch.log_ratio, clip=settings.log_clip)
        return cross_entropy(tilt, pace, batch.path, target) + barrier


def untrained_tilts(model: AbstractPathModel, settings: TiltTraining) -> TiltState:
    """Return tilts of the last layer that change nothing yet."""
    tilted: SLiSDE = check_tiltable(model)
    tilts = tuple(
        make_tilt(tilted, key=jax.random.key(number)) for number in range(len(settings.groups))
    )
    optimiser = _optimiser(settings)
    return TiltState(tilts, tuple(optimiser.init(eqx.filter(tilt, eqx.is_array)) for tilt in tilts))


def _optimiser(settings: TiltTraining) -> optax.GradientTransformation:
    return optax.chain(optax.clip_by_global_norm(settings.clip), optax.adam(settings.learning_rate))


def _members(problem: Problem, group: str, fitted: Sequence[int]) -> np.ndarray:
    """Return where the targets of a group stand among the fitted ones."""
    members = [place for place, index in enumerate(fitted) if problem.targets[index].group == group]
    if not members:
        raise ProblemError(
            f"{problem.name} has no fitted target in the group `{group}`: name some of "
            f"{', '.join(problem.groups)} in [tilt] `groups`."
        )
    return np.array(members)
