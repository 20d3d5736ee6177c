"""A calibration problem: functionals, prescribed values, weights and groups (paper: eq:calib-loss)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from slisde.errors import ProblemError
from slisde.flow.mixture import Sample
from slisde.functionals.base import AbstractFunctional, Smoothing
from slisde.functionals.check import check_problem
from slisde.functionals.hedge import VarianceCurve
from slisde.functionals.path import PathView
from slisde.functionals.terminal import AbstractTerminal


@dataclass(frozen=True)
class Target:
    """One prescribed expectation E[φ(Y)] = value.

    Args:
        functional: φ.
        value: the expectation to be matched.
        group: targets of a group are averaged, groups are weighted.
        weight: weight inside the group.
        held_out: scored but never fitted.
        standard_error: uncertainty of the value, where it is an estimate.
        bid: lowest acceptable value, where there is one.
        ask: highest acceptable value.
    """

    functional: AbstractFunctional
    value: float
    group: str = "all"
    weight: float = 1.0
    held_out: bool = False
    standard_error: float | None = None
    bid: float | None = None
    ask: float | None = None


@dataclass(frozen=True)
class Problem:
    """Targets on a horizon, and how their errors are weighted.

    The loss of eq:calib-loss is Σ_g W_g · mean_{φ ∈ g} w_φ (E[φ] − c_φ)², the group weights W_g
    normalised to one and the mean taken over the targets of the group that are fitted (or, for a
    held-out score, over those that are held out).

    Args:
        targets: what is matched.
        horizon: where the paths end.
        initial_value: where they start, or None.
        group_weights: W_g; one where absent.
        name: how the problem is called.
        forwards: the mean of Y_T at maturities T where the market knows it. Nothing is fitted to it:
            it is what volatilities are measured by.
        discounts: what the values of options of maturity T are still discounted by; one where absent.
    """

    targets: Sequence[Target]
    horizon: float
    initial_value: float | None = None
    group_weights: Mapping[str, float] = field(default_factory=dict)
    name: str = "problem"
    forwards: Mapping[float, float] = field(default_factory=dict)
    discounts: Mapping[float, float] = field(default_factory=dict)

    def __post_init__(self):
        check_problem(self)
        for word, numbers in (("forward", self.forwards), ("discount", self.discounts)):
            for maturity, number in numbers.items():
                if not (math.isfinite(number) and number > 0.0):
                    raise ProblemError(
                        f"the {word} of maturity {maturity:g} is {number}: it must be positive."
                    )

    @cached_property
    def values(self) -> Float[np.ndarray, " target"]:
        """The prescribed values c_φ."""
        return np.array([target.value for target in self.targets])

    @cached_property
    def groups(self) -> list[str]:
        """The groups, in order of appearance."""
        return list(dict.fromkeys(target.group for target in self.targets))

    @property
    def maturities(self) -> list[float]:
        """The different maturities of the targets, in order."""
        return sorted({float(target.functional.maturity) for target in self.targets})

    @property
    def has_held_out(self) -> bool:
        """Whether some targets are scored but not fitted."""
        return any(target.held_out for target in self.targets)

    def weights(self, *, held_out: bool = False) -> Float[np.ndarray, " target"]:
        """Return w_φ of eq:calib-loss for the fitted or for the held-out targets, zero elsewhere."""
        chosen = np.array([target.held_out == held_out for target in self.targets])
        names = np.array([target.group for target in self.targets])
        present = [group for group in self.groups if np.any(chosen & (names == group))]
        if not present:
            raise ProblemError(f"{self.name} has no {'held-out' if held_out else 'fitted'} target.")
        shares = np.array([self.group_weights.get(group, 1.0) for group in present])
        shares = shares / shares.sum()
        weights = np.zeros(len(self.targets))
        for group, share in zip(present, shares, strict=True):
            members = chosen & (names == group)
            own = np.array([target.weight for target in self.targets])[members]
            weights[members] = share * own / members.sum()
        return weights

    def evaluator(
        self, smoothing: Smoothing | None = None, only: Sequence[int] | None = None
    ) -> "Evaluator":
        """Return the function from paths to the functionals' values.

        Args:
            smoothing: what stands for indicators in training.
            only: positions of the targets that are wanted, all by default.
        """
        chosen = range(len(self.targets)) if only is None else only
        functionals = [self.targets[index].functional for index in chosen]
        if smoothing is not None:
            functionals = [functional.smooth(smoothing) for functional in functionals]
        return Evaluator(functionals)


class Alike(eqx.Module):
    """Functionals of one kind and maturity, evaluated as one.

    Numbers that all of them share stay single, so that a path is looked up once per maturity and not
    once per strike, and its gradient is added up there.
    """

    functional: AbstractFunctional
    axes: AbstractFunctional = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def __init__(self, functionals: Sequence[AbstractFunctional]):
        self.size = len(functionals)
        self.axes = jax.tree.map(lambda *leaves: None if _equal(leaves) else 0, *functionals)
        self.functional = jax.tree.map(
            lambda *leaves: jnp.asarray(leaves[0] if _equal(leaves) else leaves, dtype=float),
            *functionals,
        )

    def __call__(
        self, value: Callable[[AbstractFunctional], Float[Array, ""]]
    ) -> Float[Array, " functional"]:
        """Return a number for each of the functionals."""
        return jax.vmap(value, in_axes=(self.axes,), axis_size=self.size)(self.functional)


def _equal(leaves: Sequence[Any]) -> bool:
    return len({float(leaf) for leaf in leaves}) == 1


class Evaluator(eqx.Module):
    """Evaluates many functionals on many paths, those that are alike together."""

    groups: list[Alike]
    order: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, functionals: Sequence[AbstractFunctional]):
        members: dict[Any, list[int]] = {}
        for index, functional in enumerate(functionals):
            kind = (jax.tree.structure(functional), float(functional.maturity))
            members.setdefault(kind, []).append(index)
        self.groups = [Alike([functionals[i] for i in indices]) for indices in members.values()]
        self.order = tuple(np.argsort(np.concatenate(list(members.values()))).tolist())

    def __call__(
        self,
        paths: Sample,
        times: Float[Array, " node"],
        hedge: VarianceCurve | None = None,
    ) -> Float[Array, "path target"]:
        """Return φ of every path and target, targets in the order of the problem.

        Where the paths come with their law given the latent ones, a functional that can takes its
        expectation under it instead. With `hedge`, terminal payoffs of a martingale are hedged.
        """
        return jax.vmap(lambda path: self._on_path(path, times, hedge))(paths)

    def _on_path(self, path, times, hedge):
        view = PathView(path, times).share()

        def value(functional):
            if hedge is None or not isinstance(functional, AbstractTerminal):
                return functional.expected(view)
            return functional.expected(view) - hedge.hedge(functional, view)

        return jnp.concatenate([group(value) for group in self.groups])[np.array(self.order)]
