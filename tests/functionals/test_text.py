import re
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.errors import ProblemError
from slisde.functionals.barrier import BarrierOption, CrossesAbove, Effect, Right, Side
from slisde.functionals.base import AbstractFunctional, Custom, Number, Smoothing
from slisde.functionals.running import AsianCall, RealisedVariance
from slisde.functionals.terminal import Call, DigitalBelow, Forward
from slisde.functionals.text import KINDS, read_functional, write_functional

DOCS = Path(__file__).parents[2] / "docs" / "problems.md"
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def functionals(draw):
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    return kind.build(**{argument: draw(finite) for argument in kind.arguments})


@given(functionals())
@settings(deadline=None)
def test_what_is_written_is_read_back_to_the_last_bit(functional):
    again = read_functional(write_functional(functional))
    assert type(again) is type(functional)
    assert repr(vars(again)) == repr(vars(functional))


@given(st.text() | st.from_regex(r"[a-z_]{3,8}\([a-z0-9=., -]*\)", fullmatch=True))
@settings(deadline=None)
def test_any_other_text_is_refused_in_one_line(text):
    with pytest.raises(ProblemError) as caught:
        read_functional(text)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("asian_call(strike=1.0, maturity=0.5)", AsianCall(0.5, 1.0)),
        ("  call ( maturity = 5e-1 ,strike=-1, ) ", Call(0.5, -1.0)),
        ("forward(maturity=1)", Forward(1.0)),
        ("digital_below(strike=+.9, maturity=1.)", DigitalBelow(1.0, 0.9)),
        ("realized_variance(maturity=1)", RealisedVariance(1.0)),
        (
            "down_and_in_put(strike=1, barrier=0.8, maturity=0.25)",
            BarrierOption(0.25, 1.0, 0.8, Right.PUT, Side.DOWN, Effect.IN),
        ),
    ],
)
def test_a_text_is_read_as_the_functional_it_names(text, expected):
    assert eqx.tree_equal(read_functional(text), expected)


def test_strikes_come_first_and_maturities_last():
    option = BarrierOption(0.25, 1.0, 1.2, Right.CALL, Side.UP, Effect.OUT)
    assert write_functional(option) == "up_and_out_call(strike=1.0, barrier=1.2, maturity=0.25)"


def test_an_array_of_one_number_is_written_as_that_number():
    assert write_functional(Forward(jnp.asarray(0.5))) == "forward(maturity=0.5)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "asian_cal(strike=1, maturity=1)",
            "no functional `asian_cal`. Did you mean `asian_call`?",
        ),
        ("AsianCall(strike=1, maturity=1)", "Did you mean `asian_call`?"),
        ("zzz(maturity=1)", "there is no functional `zzz`. Known: forward, call,"),
        ("call(strike=1)", "`call` needs `maturity`: write `call(strike=…, maturity=…)`."),
        ("forward()", "`forward` needs `maturity`"),
        ("call(strik=1, maturity=1)", "no argument `strik`. Did you mean `strike`?"),
        ("call(barrier=1, maturity=1)", "no argument `barrier`. Known: strike, maturity."),
        ("call(strike=1, strike=1, maturity=1)", "`call` has `strike` twice"),
        ("call(strike=one, maturity=1)", "`strike` of `call` must be a number, got `one`."),
        ("call(strike=True, maturity=1)", "must be a number, got `True`."),
        ("call(strike=1j, maturity=1)", "must be a number, got `1j`."),
        ("call(strike=nan, maturity=1)", "`strike` of `call` must be finite, got `nan`."),
        ("call(strike=1, maturity=-1e999)", "`maturity` of `call` must be finite, got `-1e999`."),
        (
            "call(1.0, 0.5)",
            "has the argument `1.0`: name each, as in `call(strike=…, maturity=…)`.",
        ),
        ("call(strike=, maturity=1)", "has the argument `strike=`: name each"),
        ("call(strike=1,, maturity=1)", "name each"),
        ("call", "cannot read `call`: write one functional as `call(strike=1.0, maturity=0.5)`."),
        ("call(strike=1, maturity=1", "cannot read"),
        ("call(strike=1, maturity=1) + 1", "cannot read"),
        ("call(strike=len('a'), maturity=1)", "cannot read"),
        ("a\nb" * 100, "cannot read `a ba ba b"),
    ],
)
def test_a_slip_is_answered_with_what_to_do(text, message):
    with pytest.raises(ProblemError, match=re.escape(message)) as caught:
        read_functional(text)
    assert "\n" not in str(caught.value)


class Own(AbstractFunctional):
    maturity: Number

    def __call__(self, path):
        return path.at(self.maturity)


@pytest.mark.parametrize(
    ("functional", "message"),
    [
        (Custom(1.0, lambda y, _: y[0]), "a `Custom` functional is a Python function"),
        (Own(1.0), "`Own` has no text"),
        (CrossesAbove(1.0, 1.2).smooth(Smoothing()), "a smooth `crosses_above` has no text"),
        (Forward(jnp.asarray([0.5, 1.0])), "`maturity` of `forward` holds 2 numbers"),
        (Call(1.0, float("nan")), "`strike` of `call` must be finite"),
    ],
)
def test_a_functional_without_a_text_is_refused(functional, message):
    with pytest.raises(ProblemError, match=message):
        write_functional(functional)


def test_the_documented_table_has_every_name_with_its_arguments():
    documented = {}
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5 and cells[1].startswith("`") and "maturity" in cells[2]:
            for name in re.findall(r"`(\w+)`", cells[1]):
                documented[name] = tuple(cells[2].split(", "))
    assert documented == {name: kind.arguments for name, kind in KINDS.items()}
