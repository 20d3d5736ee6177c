"""Surfaces of the shared quote files."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from slisde.data.smile import score, smile_quotes
from slisde.data.surface.convention import Convention
from slisde.data.surface.market import market_problem
from slisde.data.surface.paper import paper_problem
from slisde.data.surface.problem import surface_problem
from slisde.data.surface.published import EXPIRIES as PUBLISHED
from slisde.data.surface.published import as_published_problem
from slisde.errors import ProblemError
from slisde.functionals.terminal import Call, DigitalBelow, Put
from tests.data.surface.chains import SHARED, SPOT, make_chain, shared_chain

SPX, SPX_SPOT = "spx_2026-01-30_yahoo.csv", 6_939.03
EXPIRIES = [
    date(2026, 4, 17),
    date(2026, 6, 18),
    date(2026, 9, 18),
    date(2026, 12, 18),
    date(2027, 1, 15),
]
LSEG, LSEG_SPOT = "dax_2026-02_lseg.csv", 25_280.0


@pytest.fixture(scope="module")
def spx():
    return shared_chain(SPX, spot=SPX_SPOT)


@pytest.fixture(scope="module")
def spx_market(spx):
    return market_problem(spx, root="SPX", expiries=EXPIRIES)


@pytest.fixture(scope="module")
def lseg():
    return shared_chain(LSEG)


def test_spx_targets_are_the_mids_of_the_file_over_forward_and_discount(spx_market):
    raw = pl.read_csv(SHARED / SPX).filter(pl.col("contractSymbol").str.contains(r"^SPX\d"))
    expected = pl.read_csv(SHARED / "expected" / "spx_2026-01-30_slices.csv").filter(root="SPX")
    options = [t for t in spx_market.targets if t.group != "forwards"]
    for expiry in EXPIRIES:
        level = expected.row(by_predicate=pl.col("expiry") == str(expiry), named=True)
        here = [t for t in options if abs(t.functional.maturity - level["t_years"]) < 1e-4]
        side = raw.filter(pl.col("expiration") == str(expiry), pl.col("bid") > 0.0)
        mids = {
            (row["option_type"], row["strike"]): 0.5 * (row["bid"] + row["ask"])
            for row in side.iter_rows(named=True)
        }
        for target in here:
            strike = target.functional.strike * level["forward"]
            assert 0.60 - 1e-4 <= strike / SPX_SPOT <= 1.35 + 1e-4
            kind = "call" if isinstance(target.functional, Call) else "put"
            nearest = round(strike / 5.0) * 5.0
            assert strike == pytest.approx(nearest, rel=1e-4)
            expected_value = mids[kind, nearest] / level["discount"] / level["forward"]
            assert target.value == pytest.approx(expected_value, rel=1e-3)
        assert len(here) > 90


def test_spx_smiles_are_plausible_and_every_fourth_strike_is_held_out(spx_market):
    quotes = smile_quotes(spx_market)
    assert np.unique(quotes.maturity).size == len(EXPIRIES)
    assert spx_market.horizon == 350 / 365
    assert np.all((quotes.volatility > 0.05) & (quotes.volatility < 0.6))
    assert np.all(quotes.bid_volatility <= quotes.volatility)
    assert np.all(quotes.volatility <= quotes.ask_volatility)
    for maturity in np.unique(quotes.maturity):
        here = quotes.maturity == maturity
        positions = np.flatnonzero(quotes.held_out[here])
        assert np.all(np.diff(positions) == 4)
        # Volatilities fall in the strike, from the far puts to the money.
        low = np.interp([-0.4, -0.2, 0.0], quotes.log_moneyness[here], quotes.volatility[here])
        assert low[0] > low[1] + 0.05 > low[2] + 0.10


def test_the_market_scores_itself_perfectly_and_prices_twice_as_high_badly(spx_market):
    quotes = smile_quotes(spx_market)
    perfect = score(quotes.price, quotes)
    assert max(s.rmse for s in perfect) < 1e-6
    assert min(s.inside for s in perfect if s.inside is not None) == 1.0
    doubled = score(2.0 * quotes.price, quotes)
    assert min(s.rmse for s in doubled) > 1.0
    assert max(s.inside for s in doubled if s.inside is not None) < 0.1


@pytest.mark.parametrize("file", [SPX, "spx_2023-09-14_cboe.csv", LSEG, "dax_2026-07-02_eurex.csv"])
def test_every_file_gives_a_market_problem_by_itself(file):
    problem = surface_problem(shared_chain(file))
    maturities = sorted({float(t.functional.maturity) for t in problem.targets})
    assert problem.name == f"{file.removesuffix('.csv')} market"
    assert 5 <= len(maturities) <= 6
    assert maturities[0] >= 25 / 365
    assert maturities[-1] == problem.horizon <= 390 / 365
    quotes = smile_quotes(problem)
    assert np.all(np.isfinite(quotes.volatility))
    assert np.mean(quotes.held_out) == pytest.approx(0.25, abs=0.01)


def test_the_papers_dax_surface_uses_quoted_strikes_only(lseg):
    problem = paper_problem(lseg, spot=LSEG_SPOT)
    assert problem.name == "dax_2026-02_lseg paper"
    strikes = set(lseg.quotes["strike"].to_list())
    for target in problem.targets:
        if isinstance(target.functional, Call | Put):
            assert round(target.functional.strike * LSEG_SPOT, 6) in strikes
        assert isinstance(target.functional, Call | Put | DigitalBelow)
        assert 0.0 < target.value < 1.0
    # Nothing is invented beyond the quotes, which end at prices of a hundred points: of 15 far calls
    # the shortest expiry has few.
    first = min(t.functional.maturity for t in problem.targets)
    far = [t for t in problem.targets if (t.group, t.functional.maturity) == ("far_calls", first)]
    assert len(far) < 5
    assert all(t.value > 1e-4 for t in far)


def test_digitals_rise_in_the_strike_on_settlement_prices(lseg):
    problem = paper_problem(lseg, spot=LSEG_SPOT)
    for maturity in {float(t.functional.maturity) for t in problem.targets}:
        points = [
            (float(t.functional.strike), t.value)
            for t in problem.targets
            if isinstance(t.functional, DigitalBelow) and t.functional.maturity == maturity
        ]
        assert len(points) >= 9
        assert np.all(np.diff(points, axis=0) > 0.0)


def test_conventions_are_chosen_by_name(lseg):
    paper = surface_problem(lseg, Convention.PAPER, spot=LSEG_SPOT)
    assert paper.name == "dax_2026-02_lseg paper"
    made = make_chain(expiries=PUBLISHED)
    assert surface_problem(made, Convention.AS_PUBLISHED, spot=SPOT).name == "made as-published"
    with pytest.raises(ProblemError, match="`as-published` has its own expiries"):
        surface_problem(lseg, Convention.AS_PUBLISHED, expiries=EXPIRIES)


def test_the_papers_dax_surface_has_the_expected_forwards_and_plausible_volatilities(lseg):
    expected = pl.read_csv(SHARED / "expected" / "dax_2026-02_slices.csv")
    problem = paper_problem(lseg, spot=LSEG_SPOT)
    known = dict(zip(expected["expiry"].to_list(), expected["forward"].to_list(), strict=True))
    levels = [known[str(expiry)] / LSEG_SPOT for expiry in PUBLISHED]
    np.testing.assert_allclose(sorted(problem.forwards.values()), sorted(levels), rtol=1e-4)
    quotes = smile_quotes(problem)
    assert quotes.left_out.size == 0
    assert np.all((quotes.volatility > 0.1) & (quotes.volatility < 0.5))
    # A price in the money is that of the other side by parity, so a strike has one volatility.
    for maturity in np.unique(quotes.maturity):
        here = quotes.maturity == maturity
        calls, puts = (
            dict(zip(quotes.log_moneyness[rows], quotes.volatility[rows], strict=True))
            for rows in (here & quotes.is_call, here & ~quotes.is_call)
        )
        both = sorted(set(calls) & set(puts))
        assert len(both) > 15
        np.testing.assert_allclose([calls[k] for k in both], [puts[k] for k in both], rtol=1e-6)


def test_what_was_published_without_quotes_is_left_out_of_the_volatilities(lseg):
    problem = as_published_problem(lseg)
    quotes = smile_quotes(problem)
    left_out = [problem.targets[i] for i in quotes.left_out]
    assert len(left_out) == 36
    assert sum(target.value == 0.0 for target in left_out) == 33
    assert {target.functional.maturity for target in left_out} == {17 / 365}
    assert np.all(np.isfinite(quotes.volatility))
