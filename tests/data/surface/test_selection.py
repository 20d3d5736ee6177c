"""Which part of a chain becomes a surface."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

from slisde.data.chain import QUOTE_SCHEMA
from slisde.data.surface.selection import choose_root, choose_slices, out_of_the_money
from slisde.errors import ProblemError
from tests.data.surface.chains import DAY, DAYS, SPOT, black_price, make_chain, smile


@pytest.fixture(scope="module")
def chain():
    return make_chain()


def test_the_root_with_the_shortest_name_is_chosen(chain):
    assert choose_root(chain, None) == "IDX"
    assert choose_root(chain, "IDXW") == "IDXW"
    with pytest.raises(ProblemError, match=r"made.csv has no root `SPX`. It has IDX, IDXW."):
        choose_root(chain, "SPX")


def test_expiries_between_a_month_and_a_year_are_chosen_evenly_in_the_root_of_time(chain):
    chosen = choose_slices(chain, "IDX", None, most=4)
    assert [round(part.t_years * 365) for part in chosen] == [35, 120, 180, 365]
    assert {part.root for part in chosen} == {"IDX"}
    everything = choose_slices(chain, "IDX", None, most=100)
    assert [round(part.t_years * 365) for part in everything] == [d for d in DAYS if 25 < d < 390]


def test_expiries_can_be_named_in_any_order(chain):
    wanted = [DAY + timedelta(days=days) for days in (700, 10, 700)]
    assert [part.expiry for part in choose_slices(chain, "IDX", wanted)] == sorted(set(wanted))
    with pytest.raises(
        ProblemError, match=r"made.csv has no expiry 2026-01-31. It has 2026-02-09, "
    ):
        choose_slices(chain, "IDX", [DAY + timedelta(days=1)])
    with pytest.raises(ProblemError, match="name one at least"):
        choose_slices(chain, "IDX", [])


def test_quotes_out_of_the_money_are_undiscounted_and_one_per_strike(chain):
    part = choose_slices(chain, "IDX", [DAY + timedelta(days=180)])[0]
    quotes = out_of_the_money(chain, part)
    assert np.all(np.diff(quotes.strike) > 0.0)
    assert np.array_equal(quotes.is_call, quotes.strike >= part.forward)
    deviation = smile(np.log(quotes.strike / part.forward)) * np.sqrt(part.t_years)
    sign = np.where(quotes.is_call, 1.0, -1.0)
    expected = black_price(quotes.strike, part.forward, deviation, sign)
    np.testing.assert_allclose(quotes.price, expected, rtol=1e-12)
    assert np.all((quotes.bid < quotes.price) & (quotes.price < quotes.ask))
    calls, puts = quotes.price + quotes.call_shift, quotes.price + quotes.put_shift
    np.testing.assert_allclose(calls - puts, part.forward - quotes.strike, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("two_sided", [True, False])
def test_prices_made_by_parity_count_only_where_there_is_one_price_per_option(two_sided):
    chain = make_chain(two_sided=two_sided)
    made = (
        pl.when(pl.col("strike") % 100.0 == 0.0).then(pl.lit("parity")).otherwise(pl.lit("quoted"))
    )
    chain = replace(chain, quotes=chain.quotes.with_columns(origin=made).cast(QUOTE_SCHEMA))
    part = choose_slices(chain, "IDX", [DAY + timedelta(days=180)])[0]
    assert np.any(out_of_the_money(chain, part).strike % 100.0 == 0.0) == (not two_sided)


def test_a_range_of_strikes_in_another_unit(chain):
    part = choose_slices(chain, "IDX", [DAY + timedelta(days=180)])[0]
    quotes = out_of_the_money(chain, part)
    chosen = quotes.between(0.9 * SPOT, 1.1 * SPOT).in_units_of(SPOT)
    assert (chosen.strike[0], chosen.strike[-1]) == (0.9, 1.1)
    assert chosen.forward == part.forward / SPOT
    first = np.searchsorted(quotes.strike, 0.9 * SPOT)
    expected = quotes.price[first : first + chosen.strike.size] / SPOT
    np.testing.assert_array_equal(chosen.price, expected)


def test_a_chain_without_a_suitable_expiry_says_so(chain):
    short = replace(chain, slices=[part for part in chain.slices if part.t_years < 0.05])
    with pytest.raises(ProblemError, match="no expiry of IDX with 20 quotes between 25 and 390"):
        choose_slices(short, "IDX", None)
    with pytest.raises(ProblemError, match="no expiry with a forward"):
        choose_root(replace(chain, slices=[]), None)
