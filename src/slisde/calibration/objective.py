"""The loss of a training step on fresh paths (paper: eq:calib-loss, sec:objective)."""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from slisde.calibration.answers import Answers
from slisde.calibration.filtered import Filtered
from slisde.calibration.hedge_book import hedge_book
from slisde.calibration.loss import (
    plain_loss,
    remembered_loss,
    remembered_share,
    unbiased_loss,
    with_slope_of,
)
from slisde.calibration.optimiser import rate_left
from slisde.calibration.penalty import Penalty
from slisde.calibration.settings import AUTO, TrainSettings
from slisde.calibration.simulate import simulate
from slisde.calibration.tilted import Seen, TiltedTargets
from slisde.errors import ProblemError
from slisde.flow.grid import TimeGrid
from slisde.flow.mixture import Sample, drawn
from slisde.functionals.base import Smoothing
from slisde.functionals.problem import Evaluator, Problem
from slisde.functionals.terminal import Forward
from slisde.girsanov.tilt import Tilt
from slisde.model.interface import AbstractPathModel


class Memory(eqx.Module):
    """What is kept of the steps before.

    Attributes:
        errors: averaged over them.
        weights: that the last of them were seen with.
        answers: how the targets answered to the weights, where errors are whitened.
        filtered: the averages behind the errors, where their noise says how fast they forget.
    """

    errors: Float[Array, " target"]
    weights: PyTree
    answers: Answers | None
    filtered: Filtered | None = None


class Averaged(NamedTuple):
    """Errors averaged over steps, and what is behind them where their noise is followed."""

    errors: Float[Array, " target"]
    filtered: Filtered | None


class Aside(eqx.Module):
    """What a step learned beside its loss.

    Attributes:
        averaged: averaged errors, where there is a memory.
        seen: what each tilt saw, where tilts take part.
    """

    averaged: Averaged | None
    seen: list[Seen]


class Objective:
    """The loss of a model's weights on the fitted targets of a problem.

    Args:
        model: all of the model but its weights.
        problem: what is to be met.
        grid: the time grid.
        settings: which loss, and how paths are drawn for it.
        penalties: added to it.
    """

    def __init__(
        self,
        model: AbstractPathModel,
        problem: Problem,
        grid: TimeGrid,
        settings: TrainSettings,
        penalties: Sequence[Penalty] = (),
    ):
        every = training_weights(model, problem)
        fitted = np.flatnonzero(every)
        smoothing = Smoothing(settings.temperature, settings.straight_through)
        self.static = eqx.filter(model, eqx.is_inexact_array, inverse=True)
        self.grid, self.settings, self.penalties = grid, settings, penalties
        self.times = jnp.asarray(grid.times)
        self.evaluator = self.follower = problem.evaluator(smoothing, fitted.tolist())
        if settings.straight_through:
            # A hard indicator that flips moves a mean by 1/paths at once: following it would add more
            # noise to averaged errors than the average takes from them.
            self.follower = problem.evaluator(Smoothing(settings.temperature), fitted.tolist())
        self.values = jnp.asarray(problem.values[fitted], self.times.dtype)
        self.target_weights = jnp.asarray(every[fitted], self.times.dtype)
        self.book = None
        if settings.hedged and settings.tilt is None and model.is_martingale:
            self.book = hedge_book(problem, fitted.tolist(), grid)
        self.tilted = None
        if settings.tilt is not None:
            self.tilted = TiltedTargets(
                model,
                problem,
                grid,
                settings.tilt,
                fitted=fitted.tolist(),
                smoothing=smoothing,
                conditional=settings.conditional,
            )

    def __call__(
        self,
        weights: PyTree,
        memory: Memory | None,
        tilts: tuple[Tilt, ...] | None,
        step: Int[Array, ""],
        paths: int,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], "Aside"]:
        """Return the loss, and what else the step learned.

        Args:
            weights: the model's.
            memory: errors of the steps before, where they are averaged.
            tilts: one a far group; None where they do not take part.
            step: the step's number from 0.
            paths: fresh paths.
            key: random key of the step.
        """
        batch = self._draw(weights, paths, key)
        samples, seen = self._samples(self.evaluator, batch, weights, tilts, key)
        loss = unbiased_loss if self.settings.unbiased else plain_loss
        data, averaged = loss(samples, self.values, self.target_weights), None
        if memory is not None:
            now = samples
            if self.follower is not self.evaluator:
                now, _ = self._samples(self.follower, batch, weights, tilts, key)
            # What the same paths say about the weights before tells how the errors have moved.
            earlier = self._draw(memory.weights, paths, key)
            before, _ = self._samples(self.follower, earlier, memory.weights, tilts, key)
            if memory.filtered is None:
                averaged = self._average(memory, samples, now, before, step, paths)
            else:
                averaged = self._filter(memory.filtered, samples, now, before)
            averaged = jax.lax.stop_gradient(averaged)
            pull = self._pull(averaged.errors, memory.answers)
            data = with_slope_of(data, remembered_loss(samples, pull, self.target_weights))
        model = eqx.combine(weights, self.static)
        extra = sum(penalty(model, drawn(batch)) for penalty in self.penalties)
        return data + extra, Aside(averaged, seen)

    def _average(
        self,
        memory: Memory,
        samples: Float[Array, "row target"],
        now: Float[Array, "row target"],
        before: Float[Array, "row target"],
        step: Int[Array, ""],
        paths: int,
    ) -> Averaged:
        """Return averaged errors that forget as fast as the weights move, more paths counting for more."""
        settings = self.settings
        own = jnp.mean(samples, axis=0) - self.values
        kept = memory.errors + jnp.mean(now, axis=0) - jnp.mean(before, axis=0)
        decay = 0.0 if settings.memory in (None, AUTO) else settings.memory
        pace = rate_left(settings.steps, settings.warmup, step) * (paths / settings.paths)
        share = remembered_share((1.0 - float(decay)) * pace, step)
        return Averaged((1.0 - share) * own + share * kept, None)

    def _filter(
        self,
        filtered: Filtered,
        samples: Float[Array, "path target"],
        now: Float[Array, "path target"],
        before: Float[Array, "path target"],
    ) -> Averaged:
        """Return averaged errors that forget by the noise of what is known and of what is new."""
        if self.settings.antithetic:
            samples, now, before = map(_pair_means, (samples, now, before))
        filtered = filtered.taking_in(samples, now, before, self.values, self.target_weights)
        return Averaged(filtered.errors, filtered)

    def answers(self, weights: PyTree, key: PRNGKeyArray) -> Answers:
        """Return how the targets, each in units of its weight, answer to the model's weights."""
        paths_key, directions_key = jax.random.split(key)

        def targets(weights: PyTree) -> Float[Array, " target"]:
            batch = self._draw(weights, self.settings.paths, paths_key)
            means = jnp.mean(self.evaluator(batch, self.times), axis=0)
            return jnp.sqrt(self.target_weights) * means

        return Answers.sketch(targets, weights, key=directions_key)

    def _pull(
        self, errors: Float[Array, " target"], answers: Answers | None
    ) -> Float[Array, " target"]:
        """Return the errors that stand in the gradient."""
        if answers is None or self.settings.whitening is None:
            return errors
        unit = jnp.sqrt(self.target_weights)
        return answers.whiten(unit * errors, self.settings.whitening) / unit

    def _samples(
        self,
        evaluator: Evaluator,
        batch: Sample,
        weights: PyTree,
        tilts: tuple[Tilt, ...] | None,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, "row target"], list[Seen]]:
        """Return the functionals of a batch; with tilts, one row of estimates instead."""
        samples = evaluator(batch, self.times)
        if self.book is not None:
            samples = samples - jax.lax.stop_gradient(self.book(batch))
        if tilts is None or self.tilted is None:
            return samples, []
        model = eqx.combine(weights, self.static)
        means, seen = self.tilted.estimate(model, tilts, samples, key)
        return means[None], seen

    def _draw(self, weights: PyTree, paths: int, key: PRNGKeyArray) -> Sample:
        model = eqx.combine(weights, self.static)
        batch = simulate(model, self.grid, paths, antithetic=self.settings.antithetic, key=key)
        return batch if self.settings.conditional else drawn(batch)


def _pair_means(rows: Float[Array, "path target"]) -> Float[Array, "pair target"]:
    """Return the means of antithetic pairs, which are half a batch apart and independent of each other."""
    return jnp.mean(rows.reshape(2, -1, rows.shape[1]), axis=0)


def training_weights(model: AbstractPathModel, problem: Problem) -> Float[np.ndarray, " target"]:
    """Return the problem's weights, without the forwards that a martingale meets by construction.

    Their sampled errors would be noise and nothing else.
    """
    weights = problem.weights()
    if model.is_martingale:
        known = [
            isinstance(target.functional, Forward) and target.value == problem.initial_value
            for target in problem.targets
        ]
        weights = np.where(known, 0.0, weights)
    if not weights.any():
        raise ProblemError(
            f"{problem.name} has only forwards, which a martingale meets without training."
        )
    return weights
