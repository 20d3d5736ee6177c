"""Whole chains: what is recovered, dropped, made and reported."""

from datetime import timedelta

import numpy as np
import polars as pl
import pytest

from slisde.data.chain import DateSource, Violation
from slisde.data.quotes import read_chain
from slisde.data.quotes_file import write_quotes
from slisde.errors import ArgumentError, ProblemError
from tests.data.quotes.chains import (
    DAY,
    DAYS,
    SPOT,
    black,
    black_chain,
    black_slice,
    discount_of,
    forward_of,
    shared,
    with_spread,
    write,
)

EXPIRY = DAY + timedelta(days=DAYS[1])
KEY = ["root", "expiry", "option_type", "strike"]


def add_up(chain) -> bool:
    return chain.rows == chain.used + sum(chain.dropped.values())


@pytest.mark.parametrize("name", ["chain.csv", "chain.parquet"])
def test_exact_prices_give_exact_forwards_and_discounts(tmp_path, name):
    chain = read_chain(write(tmp_path, black_chain(), name))
    assert (chain.layout, chain.quote_date.source) == ("canonical", DateSource.FILE)
    for part, days in zip(chain.slices, DAYS, strict=True):
        assert part.forward == pytest.approx(forward_of(days), rel=1e-9)
        assert part.discount == pytest.approx(discount_of(days), rel=1e-9)
        assert part.t_years == days / 365
    assert add_up(chain)
    assert chain.arbitrage == []
    assert chain.warnings == []


@pytest.mark.parametrize("seed", range(5))
def test_forwards_survive_stale_quotes_which_are_dropped(tmp_path, seed):
    generator = np.random.default_rng(seed)
    quotes = with_spread(black_chain(), seed).with_row_index()
    call = pl.col("option_type") == "call"
    forward = pl.col("expiry").replace_strict(
        {DAY + timedelta(days=days): forward_of(days) for days in DAYS}
    )
    inside = quotes.filter((pl.col("strike") < forward) == call)
    stale = inside.sample(fraction=0.2, seed=seed)["index"]
    hit = pl.col("index").is_in(stale.implode())
    quotes = quotes.with_columns(
        pl.col("bid", "ask") + pl.when(hit).then(float(generator.uniform(30, 90))).otherwise(0.0)
    )
    chain = read_chain(write(tmp_path, quotes.drop("index")))
    for part, days in zip(chain.slices, DAYS, strict=True):
        assert abs(part.forward - forward_of(days)) < 6.0 * part.forward_se + 1e-9
        assert abs(part.discount - discount_of(days)) < 6.0 * part.discount_se + 1e-9
    assert add_up(chain)
    assert chain.dropped["stale"] >= 0.95 * stale.len()
    kept = chain.quotes.filter(pl.col("origin") == "quoted").join(
        quotes.filter(hit).cast({"option_type": pl.Enum(["call", "put"])}), on=KEY, how="semi"
    )
    assert kept.height <= 0.05 * stale.len()


def test_mids_without_spreads_are_judged_by_their_scatter(tmp_path):
    mids = with_spread(black_chain()).select(
        *KEY, "quote_date", price=(pl.col("bid") + pl.col("ask")) / 2
    )
    hit = pl.int_range(pl.len()) == 5
    quotes = mids.with_columns(price=pl.col("price") + pl.when(hit).then(40.0).otherwise(0.0))
    chain = read_chain(write(tmp_path, quotes))
    assert 1 <= chain.dropped["stale"] <= 0.05 * chain.rows  # their noise is not all alike
    write_quotes(tmp_path / "clean.csv", chain)
    assert read_chain(tmp_path / "clean.csv").quotes.equals(chain.quotes)


def test_two_roots_with_the_same_expiry_have_their_own_forwards(tmp_path):
    other = black_chain(root="SPXW").with_columns(
        pl.col("price") + pl.when(pl.col("option_type") == "call").then(5.0).otherwise(0.0)
    )
    chain = read_chain(write(tmp_path, pl.concat([black_chain(), other])))
    assert [part.root for part in chain.slices] == ["SPX"] * len(DAYS) + ["SPXW"] * len(DAYS)
    for part, days in zip(chain.slices[len(DAYS) :], DAYS, strict=True):
        assert part.forward == pytest.approx(forward_of(days) + 5.0 / discount_of(days), rel=1e-9)


BAD = {
    "no strike": {"strike": None},
    "strike not positive": {"strike": 0.0},
    "no price": {"bid": 0.0, "ask": 0.0},
    "no bid": {"bid": 0.0},
    "no ask": {"ask": None},
    "crossed": {"bid": 60.0, "ask": 50.0},
    "negative price": {"bid": -1.0},
    "expired": {"expiry": DAY - timedelta(days=1)},
    "unreadable contract": {"option_type": "future"},
    "above its bound": {"bid": 9_000.0, "ask": 9_001.0},
    "no forward": {"expiry": DAY + timedelta(days=1000)},
}


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_row_is_dropped_for_its_reason(tmp_path, reason):
    good = with_spread(black_chain())
    row = {
        "quote_date": DAY,
        "root": "SPX",
        "expiry": EXPIRY,
        "option_type": "call",
        "strike": 5025.0,
        "bid": 120.0,
        "ask": 121.0,
    }
    bad = pl.DataFrame([row | BAD[reason]], schema=good.schema)
    before = read_chain(write(tmp_path, good))
    after = read_chain(write(tmp_path, pl.concat([good, bad])))
    assert before.dropped.get(reason, 0) + 1 == after.dropped[reason]
    assert add_up(after)
    assert after.quotes.equals(before.quotes)


def test_every_bad_row_together_still_adds_up(tmp_path):
    good = with_spread(black_chain())
    rows = [
        {
            "quote_date": DAY,
            "root": "SPX",
            "expiry": EXPIRY,
            "option_type": "put",
            "strike": 4975.0,
            "bid": 90.0,
            "ask": 91.0,
        }
        | bad
        for bad in BAD.values()
    ]
    chain = read_chain(write(tmp_path, pl.concat([good, pl.DataFrame(rows, schema=good.schema)])))
    assert set(chain.dropped) >= set(BAD)
    assert add_up(chain)


def test_duplicates_are_dropped_and_those_with_another_price_are_told(tmp_path):
    good = black_chain()
    same, other = good[:3], good[3:5].with_columns(pl.col("price") + 1.0)
    chain = read_chain(write(tmp_path, pl.concat([good, same, other])))
    assert chain.dropped == {"duplicate": 5}
    assert any(warning.startswith("2 duplicates have another price") for warning in chain.warnings)
    assert chain.quotes.equals(read_chain(write(tmp_path, good)).quotes)


def test_expiries_on_or_before_the_quote_date_are_dropped(tmp_path):
    old = black_slice(1).with_columns(expiry=pl.lit(DAY))
    chain = read_chain(write(tmp_path, pl.concat([old, black_chain()])))
    assert chain.dropped == {"expired": old.height}
    assert min(part.expiry for part in chain.slices) > DAY


def test_missing_options_out_of_the_money_are_made_by_parity(tmp_path):
    whole = black_chain()
    far = pl.col("price") < 20.0
    chain = read_chain(write(tmp_path, whole.filter(~far)))
    made = chain.quotes.filter(pl.col("origin") == "parity").cast({"option_type": pl.String})
    assert made.height > 100
    compared = made.join(whole, on=KEY, suffix="_true")
    assert compared.height == made.height
    np.testing.assert_allclose(compared["price"], compared["price_true"], rtol=0, atol=2e-6)
    assert made["bid"].null_count() == made.height
    assert chain.used == chain.rows


def test_a_made_quote_has_the_spread_of_the_one_it_is_made_from(tmp_path):
    quotes = with_spread(black_chain())
    calls = quotes.filter((pl.col("option_type") == "call") | (pl.col("strike") > 4500.0))
    chain = read_chain(write(tmp_path, calls))
    made = chain.quotes.filter(pl.col("origin") == "parity")
    both = made.join(
        chain.quotes.filter(pl.col("option_type") == "call"), on=["root", "expiry", "strike"]
    )
    assert both.height > 20
    np.testing.assert_allclose(
        both["ask"] - both["bid"], both["ask_right"] - both["bid_right"], atol=1e-9
    )
    assert (made["bid"] > 0).all()


def test_nothing_is_made_where_the_file_says_that_nobody_bids(tmp_path):
    quotes = with_spread(black_chain())
    worthless = (pl.col("option_type") == "put") & (pl.col("strike") < 4500.0)
    quotes = quotes.with_columns(bid=pl.when(worthless).then(0.0).otherwise("bid"))
    chain = read_chain(write(tmp_path, quotes))
    assert chain.dropped["no bid"] > 0
    assert (chain.quotes["origin"] == "quoted").all()


def moved(quotes: pl.DataFrame, days: int, strike: float, by: float) -> pl.DataFrame:
    here = (pl.col("expiry") == DAY + timedelta(days=days)) & (pl.col("strike") == strike)
    return quotes.with_columns(pl.col("price") + pl.when(here).then(by).otherwise(0.0))


def test_a_price_above_its_chord_is_reported_with_its_excess(tmp_path):
    chain = read_chain(write(tmp_path, moved(black_chain(), 105, 4500.0, 9.0)))
    convex = [each for each in chain.arbitrage if each.kind is Violation.CONVEX]
    (worst,) = [each for each in convex if each.strike == 4500.0]
    near = black_slice(105).filter(
        (pl.col("option_type") == "put") & pl.col("strike").is_in([4450.0, 4500.0, 4550.0])
    )
    low, middle, high = near["price"]
    unit = discount_of(105) * forward_of(105)
    assert worst.expiry == DAY + timedelta(days=105)
    assert worst.excess == pytest.approx((middle + 9.0 - 0.5 * (low + high)) / unit, rel=1e-3)
    assert chain.arbitrage[0] == max(chain.arbitrage, key=lambda each: each.excess)


def test_a_put_that_falls_with_the_strike_is_reported(tmp_path):
    chain = read_chain(write(tmp_path, moved(black_chain(), 105, 4500.0, -25.0)))
    monotone = {each.strike for each in chain.arbitrage if each.kind is Violation.MONOTONE}
    assert monotone == {4500.0}


def test_a_short_option_dearer_than_a_long_one_is_reported(tmp_path):
    early = black_slice(105, volatility=0.4)
    quotes = pl.concat([black_slice(14), early, black_slice(182)])
    chain = read_chain(write(tmp_path, quotes))
    calendar = [each for each in chain.arbitrage if each.kind is Violation.CALENDAR]
    assert len(calendar) == len(chain.arbitrage) > 40
    assert {each.expiry for each in calendar} == {DAY + timedelta(days=105)}


def test_what_the_spread_explains_is_no_arbitrage(tmp_path):
    quotes = moved(black_chain(), 105, 4500.0, 9.0).with_columns(
        bid=pl.col("price") - 8.0, ask=pl.col("price") + 8.0
    )
    chain = read_chain(write(tmp_path, quotes.drop("price").filter(pl.col("bid") > 0)))
    assert chain.arbitrage == []


def test_a_chain_of_calls_needs_spot_and_rates(tmp_path):
    path = write(tmp_path, black_chain().filter(pl.col("option_type") == "call"))
    with pytest.raises(ProblemError, match=r"no quote can be used \(no forward: "):
        read_chain(path)
    chain = read_chain(path, spot=SPOT, rates=0.04)
    assert chain.spot == SPOT
    assert all(part.forward == pytest.approx(SPOT / part.discount) for part in chain.slices)
    assert any("without dividends" in warning for warning in chain.warnings)
    assert add_up(chain)


def test_given_rates_replace_the_discounts_and_leave_the_forwards_to_parity(tmp_path):
    path = write(tmp_path, black_chain())
    rates = {DAY + timedelta(days=days): 0.04 for days in DAYS}
    for given in (0.04, [0.04] * len(DAYS), rates):
        chain = read_chain(path, rates=given)
        for part, days in zip(chain.slices, DAYS, strict=True):
            assert part.zero_rate == pytest.approx(0.04, rel=1e-12)
            assert part.forward == pytest.approx(forward_of(days), rel=1e-9)
    with pytest.raises(ArgumentError, match="one per expiry"):
        read_chain(path, rates=[0.04])


def test_a_single_strike_borrows_the_discount_of_other_expiries(tmp_path):
    lone = black_slice(250, strikes=[5000.0])
    chain = read_chain(write(tmp_path, pl.concat([black_chain(), lone])))
    part = next(each for each in chain.slices if each.t_years == 250 / 365)
    assert part.discount == pytest.approx(discount_of(250), rel=1e-9)
    assert part.forward == pytest.approx(forward_of(250), rel=1e-9)
    assert any("other expiries" in warning for warning in chain.warnings)
    with pytest.raises(ProblemError, match="no forward: 2"):
        read_chain(write(tmp_path, lone))


def test_a_spot_that_is_no_level_and_rates_in_per_cent_are_refused(tmp_path):
    path = write(tmp_path, black_chain())
    with pytest.raises(ArgumentError, match="`spot` must be positive"):
        read_chain(path, spot=-1.0)
    with pytest.raises(ArgumentError, match="`rates` must be in"):
        read_chain(path, rates=[0.02, 3.5, 0.02, 0.02, 0.02])


@pytest.mark.parametrize("name", ["clean.csv", "clean.parquet"])
@pytest.mark.parametrize(
    "source", ["exact", "noisy", "tails", "spx_2026-01-30_yahoo.csv", "dax_2026-02_lseg.csv"]
)
def test_clean_quotes_read_back_are_the_same_chain(tmp_path, source, name):
    made = {
        "exact": black_chain,
        "noisy": lambda: with_spread(black_chain()),
        "tails": lambda: black_chain().filter(pl.col("price") > 20.0),
    }
    path = write(tmp_path, made[source]()) if source in made else shared(source)
    chain = read_chain(path)
    write_quotes(tmp_path / name, chain)
    again = read_chain(tmp_path / name)
    assert again.quotes.equals(chain.quotes)
    assert again.quote_date.day == chain.quote_date.day
    assert again.spot == chain.spot
    np.testing.assert_equal(
        [vars(part) for part in again.slices], [vars(part) for part in chain.slices]
    )
    assert again.arbitrage == chain.arbitrage
    assert again.rows == chain.quotes.height
    assert set(again.dropped) <= {"made by parity"}


def test_forwards_of_the_file_are_taken_as_they_are(tmp_path):
    calls = black_chain((49,)).filter(pl.col("option_type") == "call")
    chain = read_chain(write(tmp_path, calls.with_columns(forward=5010.0, discount=0.99)))
    (part,) = chain.slices
    assert (part.forward, part.discount, part.pairs) == (5010.0, 0.99, 0)
    assert np.isnan(part.forward_se)


def test_a_large_chain_is_read_like_a_small_one(tmp_path):
    strikes = np.arange(2500.0, 7500.0, 2.0)
    days = range(7, 7 + 20 * 7, 7)
    quotes = with_spread(black_chain(days, strikes=strikes))
    chain = read_chain(write(tmp_path, quotes, "large.parquet"))
    assert chain.rows == quotes.height > 70_000
    assert add_up(chain)
    for part in chain.slices:
        assert part.forward == pytest.approx(forward_of(round(365 * part.t_years)), rel=1e-4)


def test_coin_prices_of_deribit_give_its_forward_and_a_discount_of_one(tmp_path):
    forward, strikes = 105_000.0, np.arange(60_000.0, 160_001.0, 5_000.0)
    lines = ["instrument_name,bid_price,ask_price,underlying_price,creation_timestamp"]
    for side in ("call", "put"):
        prices = black(side, forward, strikes, 0.2) / forward
        lines += [
            f"BTC-27JUN25-{strike:.0f}-{side[0].upper()},{price - 5e-4},{price + 5e-4},{forward},1748000000000"
            for strike, price in zip(strikes, prices, strict=True)
        ]
    path = tmp_path / "btc.csv"
    path.write_text("\n".join(lines))
    (part,) = read_chain(path).slices
    assert (part.root, part.t_years) == ("BTC", 35 / 365)
    assert part.forward == pytest.approx(forward, rel=1e-9)
    assert part.discount == pytest.approx(1.0, rel=1e-9)
