import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.errors import ProblemError, StorageError
from slisde.functionals.base import Custom
from slisde.functionals.problem import Problem, Target
from slisde.functionals.problem_file import TARGET_KEYS, read_problem, write_problem
from slisde.functionals.terminal import Call
from slisde.functionals.text import KINDS, write_functional

DOCS = Path(__file__).parents[2] / "docs" / "problems.md"
GOOD = """
name = "good"
horizon = 1
[[target]]
functional = "call(strike=1.0, maturity=0.5)"
value = 0.08
"""
finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(codec="utf-8"), max_size=8)


@st.composite
def targets(draw, horizon):
    name = draw(st.sampled_from(sorted(KINDS)))
    kind = KINDS[name]
    numbers = {argument: draw(finite) for argument in kind.arguments}
    numbers["maturity"] = horizon * draw(st.floats(0.01, 1.0))
    # Quotes with a bid are not asked to be monotone in the strike.
    bid, ask = sorted((draw(finite), draw(finite)))
    return Target(
        kind.build(**numbers),
        draw(finite),
        draw(names),
        draw(st.floats(1e-300, 1e300)),
        draw(st.booleans()),
        draw(st.none() | st.floats(0.0, 1e300)),
        bid,
        ask,
    )


@st.composite
def arguments(draw):
    """What a problem is made of; made in the test, whose type checks draw random numbers."""
    horizon = draw(st.floats(1e-3, 1e3))
    chosen = draw(
        st.lists(
            targets(horizon),
            min_size=1,
            max_size=4,
            # Minus zero is zero to a problem, which wants every functional once.
            unique_by=lambda t: write_functional(t.functional).replace("-0.0", "0.0"),
        )
    )
    groups = draw(st.lists(st.sampled_from([t.group for t in chosen]), unique=True))
    weights = {group: draw(st.floats(1e-300, 1e300)) for group in groups}
    known = st.dictionaries(st.floats(1e-3, 1e3), st.floats(1e-300, 1e300), max_size=3)
    return (
        chosen,
        horizon,
        draw(st.none() | finite),
        weights,
        draw(names),
        draw(known),
        draw(known),
    )


def fingerprint(problem):
    """Everything in a problem, every float to its last bit."""
    rows = [{**vars(t), "functional": write_functional(t.functional)} for t in problem.targets]
    head = (
        problem.name,
        problem.horizon,
        problem.initial_value,
        list(problem.group_weights.items()),
        list(problem.forwards.items()),
        list(problem.discounts.items()),
    )
    return repr((head, rows))


@given(arguments=arguments())
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_back_to_the_last_bit(arguments, tmp_path_factory):
    problem = Problem(*arguments)
    path = tmp_path_factory.getbasetemp() / "problem.toml"
    write_problem(path, problem)
    assert fingerprint(read_problem(path)) == fingerprint(problem)


def test_the_documented_example_is_a_problem(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "problem.toml"
    path.write_text(example, encoding="utf-8")
    problem = read_problem(path)
    assert problem.name == "my problem"
    assert problem.groups == ["calls", "path"]
    np.testing.assert_allclose(problem.weights(), [1 / 3, 1 / 3, 0.0, 1 / 3])


def test_every_field_of_a_target_has_a_key():
    assert list(TARGET_KEYS) == list(Target.__dataclass_fields__)


def test_numbers_may_be_integers_and_numpy_scalars_are_written_plainly(tmp_path):
    path = tmp_path / "problem.toml"
    problem = Problem([Target(Call(1.0, 1.0), np.float64(0.1))], np.float64(2.0))
    write_problem(path, problem)
    assert "np.float64" not in path.read_text(encoding="utf-8")
    path.write_text(GOOD.replace("0.08", "1"), encoding="utf-8")
    problem = read_problem(path)
    assert (problem.horizon, problem.targets[0].value) == (1.0, 1.0)
    assert isinstance(problem.targets[0].value, float)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 1", "horizn = 1", ": there is no key `horizn`. Did you mean `horizon`?"),
        ("horizon = 1", "", ": `horizon` is missing: it must be a number."),
        ("horizon = 1", "horizon = true", ": `horizon` must be a number, got True."),
        ("horizon = 1", "horizon = inf", ": `horizon` must be finite, got inf."),
        ("horizon = 1", f"horizon = 1{'0' * 400}", ": `horizon` must be finite"),
        ("horizon = 1", "horizon = 0.25", ": target 1, call(strike=1, maturity=0.5) matures"),
        ("horizon = 1", "horizon = 2026-07-31", ": `horizon` must be a number, got datetime.date"),
        ('name = "good"', "name = 3", ": `name` must be a text in quotes, got 3."),
        ("[[target]]", "[target]", "must be a list of tables, each opened by `[[target]]`, got {"),
        ("[[target]]", "[[targets]]", ": there is no key `targets`. Did you mean `target`?"),
        (
            "value = 0.08",
            "vlaue = 0.08",
            ": target 1: there is no key `vlaue`. Did you mean `value`",
        ),
        ("value = 0.08", "", ": target 1: `value` is missing: it must be a number."),
        ("value = 0.08", 'value = "x"', ": target 1: `value` must be a number, got 'x'."),
        ("value = 0.08", "value = nan", ": target 1: `value` must be finite, got nan."),
        ("value = 0.08", "value = 1\nheld_out = 1", "`held_out` must be true or false, got 1."),
        ("value = 0.08", "value = 1\nweight = -1", ": target 1, call(strike=1, maturity=0.5), has"),
        ("value = 0.08", 'value = 1\n"a\\nb" = 1', ": target 1: there is no key `a b`. Known:"),
        ('"call(', '"cal(', ": target 1: `functional`: there is no functional `cal`. Did you"),
        (
            "[[target]]",
            "[group_weights]\ncalls = 1\n[[target]]",
            "weights the group `calls`, which",
        ),
        ("[[target]]", "[group_weights]\nall = true\n[[target]]", "[group_weights] `all` must be"),
        (
            "[[target]]",
            "[forwards]\nsoon = 1\n[[target]]",
            '`soon` must be a maturity, as in `"0.5"`',
        ),
        ("[[target]]", '[forwards]\n"0.5" = "x"\n[[target]]', "[forwards] `0.5` must be a number"),
        ("[[target]]", '[forwards]\n"0.5" = 0\n[[target]]', "the forward of maturity 0.5 is 0.0"),
        ("[[target]]", '[discounts]\n"0.5" = -1\n[[target]]', "the discount of maturity 0.5 is -1"),
        ("name =", "name", ": is not TOML: "),
    ],
)
def test_a_slip_is_answered_in_one_line_with_its_place(tmp_path, old, new, message):
    path = tmp_path / "problem.toml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(ProblemError, match=re.escape(message)) as caught:
        read_problem(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff\xfe\x00", "is not TOML"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"", "`name` is missing"),
        (b'name = "x"\nhorizon = 1\ntarget = [1]', "target 1: open it by `[[target]]`, got 1."),
        (b'name = "x"\nhorizon = 1\ntarget = []', "x has no functionals"),
    ],
)
def test_a_file_that_is_no_problem_is_refused(tmp_path, content, message):
    path = tmp_path / "problem.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ProblemError, match=re.escape(message)):
        read_problem(path)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Problem([Target(Custom(1.0, lambda y, _: jnp.max(y)), 1.0)], 1.0), "target 1: a `Custom`"),
        (Problem([Target(Call(1.0, 1.0), 0.1)], 1.0, name="\ud800"), "not valid Unicode"),
    ],
)
def test_a_problem_that_has_no_file_leaves_the_old_one(tmp_path, problem, message):
    path = tmp_path / "problem.toml"
    path.write_text(GOOD, encoding="utf-8")
    with pytest.raises(ProblemError, match=message):
        write_problem(path, problem)
    assert path.read_text(encoding="utf-8") == GOOD
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_and_no_part_of_the_new(tmp_path, monkeypatch):
    path = tmp_path / "problem.toml"
    path.write_text(GOOD, encoding="utf-8")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=r"cannot write .*: No space left on device\."):
        write_problem(path, Problem([Target(Call(1.0, 1.0), 0.1)], 1.0))
    assert path.read_text(encoding="utf-8") == GOOD
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "missing" / "problem.toml"
    with pytest.raises(StorageError, match=r"cannot write .*missing.*: No such file"):
        write_problem(path, Problem([Target(Call(1.0, 1.0), 0.1)], 1.0))
