"""The released preprocessing, on a chain made by hand and on the file it was made for."""

import numpy as np
import pytest

from slisde.data.surface.groups import GROUPS
from slisde.data.surface.published import (
    EXPIRIES,
    SPREAD,
    as_published_problem,
    as_published_targets,
)
from slisde.errors import ProblemError
from tests.data.surface.chains import SPOT, make_chain, shared_chain


@pytest.fixture(scope="module")
def problem():
    return as_published_problem(make_chain(expiries=EXPIRIES, low=0.7, high=1.2), spot=SPOT)


def surface(targets, group):
    """Return levels and values of a group at the first expiry."""
    first = min(target.functional.maturity for target in targets)
    chosen = [t for t in targets if (t.group, t.functional.maturity) == (group, first)]
    return np.array([t.functional.strike for t in chosen]), np.array([t.value for t in chosen])


def test_it_is_labelled_and_has_the_published_counts_but_for_shared_levels(problem):
    assert problem.name == "made as-published"
    assert problem.horizon == problem.initial_value == 1.0
    sizes = {name: sum(t.group == name for t in problem.targets) / 5 for name in GROUPS}
    assert sizes == {"calls": 25, "puts": 25, "far_puts": 19, "far_calls": 14, "digitals": 12}
    maturities = sorted({t.functional.maturity for t in problem.targets})
    assert [round(365 * maturity) for maturity in maturities] == [17, 80, 171, 262, 353]


def test_prices_stay_discounted_and_are_interpolated(problem):
    quotes = make_chain(expiries=EXPIRIES, low=0.7, high=1.2).quotes.filter(
        root="IDX", expiry=EXPIRIES[0], option_type="call"
    )
    levels, values = (part[1:-1] for part in surface(problem.targets, "calls"))
    expected = np.interp(levels * SPOT, quotes["strike"], quotes["price"]) / SPOT
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_levels_outside_the_quotes_are_filled_flat_and_digitals_with_zero(problem):
    levels, values = surface(problem.targets, "far_puts")
    assert np.ptp(values[levels < 0.7]) == 0.0
    assert 0.0 < values[0] < values[levels > 0.7][0]
    levels, values = surface(problem.targets, "far_calls")
    assert np.ptp(values[levels > 1.2]) == 0.0
    levels, values = surface(problem.targets, "digitals")
    assert np.all(values[levels < 0.7 + SPREAD] == 0.0)
    assert np.all(values[levels > 0.75] > 0.0)


def test_a_group_without_quotes_is_zero():
    narrow = make_chain(expiries=EXPIRIES, low=0.9, high=1.05)
    targets = as_published_targets(narrow, spot=SPOT)
    assert np.all(surface(targets, "far_puts")[1] == 0.0)
    assert np.all(surface(targets, "far_calls")[1] == 0.0)


def test_the_same_levels_are_held_out_at_every_expiry(problem):
    held = {
        name: {
            round(t.functional.strike, 6) for t in problem.targets if t.group == name and t.held_out
        }
        for name in GROUPS
    }
    for target in problem.targets:
        assert target.held_out == (round(target.functional.strike, 6) in held[target.group])
    # Six of 25 levels of calls and of puts, drawn apart: parity gives some away.
    assert (len(held["calls"]), len(held["puts"]), len(held["digitals"])) == (6, 6, 3)
    assert held["calls"] != held["puts"]


def test_a_chain_without_the_papers_expiries_is_refused():
    with pytest.raises(ProblemError, match=r"made.csv has no expiry 2026-04-17"):
        as_published_problem(make_chain())


def test_the_file_of_the_paper_has_its_targets():
    targets = as_published_targets(shared_chain("dax_2026-02_lseg.csv"))
    assert len(targets) == 5 * 95
    # The quotes of April end at 1.048: no far call, and the calls beyond are all the last price.
    assert np.all(surface(targets, "far_calls")[1] == 0.0)
    levels, values = surface(targets, "calls")
    np.testing.assert_allclose(values[levels > 1.049], 101.1 / 25_280.0)


def test_the_file_of_the_paper_gives_a_problem():
    assert len(as_published_problem(shared_chain("dax_2026-02_lseg.csv")).targets) == 475
