"""The four real chains against an independent parity regression, and the vol table of 2002."""

from datetime import date, timedelta

import polars as pl
import pytest

from slisde.data.chain import QUOTE_SCHEMA, DateSource
from slisde.data.quotes import read_chain
from tests.data.quotes.chains import black, shared

FILES = {
    "dax_2026-02_lseg.csv": "dax_2026-02_slices.csv",
    "dax_2026-07-02_eurex.csv": "dax_2026-07-02_slices.csv",
    "spx_2023-09-14_cboe.csv": "spx_2023-09-14_slices.csv",
    "spx_2026-01-30_yahoo.csv": "spx_2026-01-30_slices.csv",
}
RATES_2002 = [0.0357, 0.0349, 0.0341, 0.0355, 0.0359, 0.0368, 0.0386, 0.0401]


@pytest.fixture(scope="module", params=FILES)
def file(request):
    return request.param


@pytest.fixture(scope="module")
def chain(file):
    return read_chain(shared(file))


def test_forwards_and_discounts_are_those_of_the_reference(file, chain):
    expected = pl.read_csv(shared("expected") / FILES[file], try_parse_dates=True)
    found = {(part.root, part.expiry): part for part in chain.slices}
    for row in expected.iter_rows(named=True):
        part = found[row["root"], row["expiry"]]
        assert part.forward == pytest.approx(row["forward"], rel=1e-4), row
        assert part.discount == pytest.approx(row["discount"], abs=5e-4), row


def test_every_row_is_used_or_dropped_with_a_reason(chain):
    assert chain.rows == chain.used + sum(chain.dropped.values())
    assert all(count > 0 for count in chain.dropped.values())


def test_quotes_are_complete_sorted_and_distinct(chain):
    quotes = chain.quotes
    assert list(quotes.schema.items()) == list(QUOTE_SCHEMA.items())
    assert quotes.equals(quotes.sort("root", "expiry", "strike", "option_type"))
    key = ["root", "expiry", "strike", "option_type"]
    assert not quotes.select(key).is_duplicated().any()
    assert (quotes["price"] > 0).all()
    sizes = {(part.root, part.expiry): part.quotes for part in chain.slices}
    counted = quotes.group_by("root", "expiry").len().rows()
    assert {(root, expiry): count for root, expiry, count in counted} == sizes


def test_maturities_count_from_the_quote_date(chain):
    for part in chain.slices:
        assert part.t_years == (part.expiry - chain.quote_date.day).days / 365.0
        assert part.t_years > 0.0


@pytest.mark.parametrize(
    ("name", "rows", "day", "source"),
    [
        ("dax_2026-07-02_eurex.csv", 4_748, date(2026, 7, 2), DateSource.FILE_NAME),
        ("spx_2023-09-14_cboe.csv", 19_920, date(2023, 9, 14), DateSource.FILE),
        ("spx_2026-01-30_yahoo.csv", 17_107, date(2026, 1, 30), DateSource.FILE),
    ],
)
def test_rows_and_the_quote_date_are_those_of_the_file(name, rows, day, source):
    chain = read_chain(shared(name))
    assert (chain.rows, chain.quote_date.day, chain.quote_date.source) == (rows, day, source)


def test_a_quote_date_that_nobody_says_is_inferred_with_a_warning_and_its_error():
    chain = read_chain(shared("dax_2026-02_lseg.csv"))
    inferred = chain.quote_date
    assert inferred.source is DateSource.INFERRED
    assert abs(inferred.day - date(2026, 2, 25)) <= timedelta(days=2)
    assert 1.0 <= inferred.uncertainty_days <= 3.0
    assert any(str(inferred.day) in warning and "±" in warning for warning in chain.warnings)


def test_a_quote_date_after_the_prices_is_doubted():
    # The date used with this file in published code; its options of 2026-03-20 have time value.
    chain = read_chain(shared("dax_2026-02_lseg.csv"), quote_date=date(2026, 3, 31))
    assert any("2026-03-31" in warning and "point to" in warning for warning in chain.warnings)
    assert chain.dropped == {"expired": 251}


def test_the_date_of_a_name_is_used_with_a_warning():
    chain = read_chain(shared("dax_2026-07-02_eurex.csv"))
    assert any("file's name" in warning for warning in chain.warnings)


def test_roots_on_one_date_are_kept_apart():
    chain = read_chain(shared("spx_2026-01-30_yahoo.csv"))
    on_one_date = [part for part in chain.slices if part.expiry == date(2026, 2, 20)]
    assert [part.root for part in on_one_date] == ["SPX", "SPXW"]
    assert on_one_date[0].forward != on_one_date[1].forward


def test_tails_that_the_vendor_cut_are_completed_by_parity():
    chain = read_chain(shared("dax_2026-02_lseg.csv"))
    made = chain.quotes.filter(pl.col("origin") == "parity")
    assert made.height > 300
    assert (made["price"] < 100.1).all()  # every quoted price is above that
    forwards = pl.DataFrame(
        [(part.expiry, part.forward) for part in chain.slices], ["expiry", "forward"], orient="row"
    )
    sides = made.join(forwards, on="expiry")
    calls = sides["option_type"] == "call"
    assert ((sides["strike"] > sides["forward"]) == calls).all()


def test_stale_quotes_are_in_the_money():
    chain = read_chain(shared("spx_2026-01-30_yahoo.csv"))
    counted = chain.dropped["stale"] / chain.rows * 2.0
    assert 0.05 < counted < 0.29


def test_the_vol_table_of_2002_becomes_prices_with_the_given_rates():
    chain = read_chain(
        shared("dax_2002-07-05_vols.csv"),
        quote_date=date(2002, 7, 5),
        spot=4468.17,
        rates=RATES_2002,
    )
    assert (chain.rows, chain.used, chain.spot) == (104, 104, 4468.17)
    assert [part.zero_rate for part in chain.slices] == pytest.approx(RATES_2002, rel=1e-12)
    assert [round(365 * part.t_years) for part in chain.slices] == [
        13,
        41,
        75,
        165,
        256,
        345,
        524,
        703,
    ]
    for part in chain.slices:
        assert part.forward * part.discount == pytest.approx(4468.17, rel=1e-14)
    part = chain.slices[0]
    call = black("call", part.forward, 4500.0, 0.355 * (13 / 365) ** 0.5)
    row = chain.quotes.row(by_predicate=_at(part.expiry, 4500.0), named=True)
    assert (row["option_type"], row["price"]) == ("call", pytest.approx(part.discount * call))
    put = black("put", part.forward, 3400.0, 0.6625 * (13 / 365) ** 0.5)
    row = chain.quotes.row(by_predicate=_at(part.expiry, 3400.0), named=True)
    assert (row["option_type"], row["price"]) == ("put", pytest.approx(part.discount * put))


def _at(expiry: date, strike: float) -> pl.Expr:
    return (pl.col("expiry") == expiry) & (pl.col("strike") == strike)
