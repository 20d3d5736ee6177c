import jax
import jax.numpy as jnp
import numpy as np
import pytest

from slisde.errors import ProblemError
from slisde.functionals.barrier import CrossesAbove
from slisde.functionals.base import Custom
from slisde.functionals.path import PathView
from slisde.functionals.problem import Problem, Target
from slisde.functionals.running import RunningMaximum
from slisde.functionals.terminal import Call, Put

TARGETS = [
    Target(Call(0.5, 1.0), 0.2, "calls"),
    Target(RunningMaximum(1.0), 1.3, "path"),
    Target(Call(0.5, 1.1), 0.1, "calls", weight=2.0),
    Target(CrossesAbove(1.0, 1.2), 0.4, "path", held_out=True),
    Target(Custom(1.0, lambda y, _: jnp.var(y)), 0.1, "path"),
]


def test_all_functionals_together_equal_each_alone_in_the_order_of_the_problem(key):
    problem = Problem(TARGETS, 1.0)
    times = jnp.linspace(0.0, 1.0, 9)
    paths = 1.0 + 0.2 * jax.random.normal(key, (7, 9))
    together = problem.evaluator()(paths, times)
    for index, target in enumerate(TARGETS):
        alone = [target.functional(PathView(y, times)) for y in paths]
        np.testing.assert_allclose(together[:, index], jnp.stack(alone), rtol=1e-6)


def test_weights_are_group_shares_times_target_weights_over_the_chosen_targets():
    problem = Problem(TARGETS, 1.0, group_weights={"calls": 3.0, "path": 1.0})
    np.testing.assert_allclose(problem.weights(), [0.375, 0.125, 0.75, 0.0, 0.125])
    np.testing.assert_allclose(problem.weights(held_out=True), [0, 0, 0, 1.0, 0])


def test_many_functionals_of_one_kind_are_evaluated_as_one():
    strikes = np.linspace(0.5, 1.5, 200)
    targets = [Target(Call(1.0, float(k)), 2.0 - float(k)) for k in strikes]
    assert len(Problem(targets, 1.0).evaluator().groups) == 1


@pytest.mark.parametrize(
    ("targets", "options", "message"),
    [
        ([], {}, "has no functionals"),
        ([Target(Call(2.0, 1.0), 0.1)], {}, "matures outside the grid, which runs from 0 to 1"),
        ([Target(Call(0.0, 1.0), 0.1)], {}, "matures outside the grid"),
        ([Target(Call(1.0, 1.0), float("nan"))], {}, "has the value nan"),
        ([Target(Call(1.0, 1.0), 0.1, weight=0.0)], {}, "has the weight 0.0"),
        ([Target(Call(1.0, 1.0), 0.1, bid=0.2, ask=0.1)], {}, "has bid 0.2 above ask 0.1"),
        (
            [Target(Call(1.0, 1.0), 0.1), Target(Call(1.0, 1.0), 0.1)],
            {},
            r"targets 1 and 2 are both call\(strike=1, maturity=1\)",
        ),
        (
            [Target(Call(1.0, 1.0), 0.1), Target(Call(1.0, 1.1), 0.2)],
            {},
            "the call of maturity 1 rises from 0.1 at strike 1 to 0.2 at 1.1",
        ),
        (
            [Target(Put(1.0, 1.0), 0.2), Target(Put(1.0, 1.1), 0.1)],
            {},
            "the put of maturity 1 falls from 0.2 at strike 1 to 0.1 at 1.1",
        ),
        (
            [Target(Call(1.0, 1.0), 0.1)],
            {"group_weights": {"puts": 1.0}},
            "weights the group `puts`, which has no target",
        ),
        (
            [Target(Call(1.0, 1.0), 0.1)],
            {"group_weights": {"all": -1.0}},
            "the group `all` has the weight -1.0: it must be positive",
        ),
        (
            [Target(Call(1.0, 1.0), 0.1, standard_error=-1.0)],
            {},
            "has the standard error -1.0: it must not be negative",
        ),
        (
            [Target(Call(1.0, 1.0), 0.1, ask=float("inf"))],
            {},
            "has the ask inf: it must be a finite number",
        ),
    ],
)
def test_an_impossible_problem_is_refused_in_one_line(targets, options, message):
    with pytest.raises(ProblemError, match=message):
        Problem(targets, 1.0, **options)


@pytest.mark.parametrize("horizon", [0.0, -1.0, float("inf"), float("nan")])
def test_a_horizon_has_to_be_finite_and_positive(horizon):
    with pytest.raises(ProblemError, match=r"the horizon .* must be finite and positive"):
        Problem([Target(Call(1.0, 1.0), 0.1)], horizon)


def test_a_score_without_targets_is_refused():
    with pytest.raises(ProblemError, match="has no held-out target"):
        Problem(TARGETS[:2], 1.0).weights(held_out=True)
