import json
from datetime import date

import polars as pl
import pytest

from slisde.data.quotes import read_chain
from tests.data.quotes.chains import (
    DAY,
    DAYS,
    black_chain,
    discount_of,
    forward_of,
    shared,
    with_spread,
    write,
)


@pytest.fixture
def file(tmp_path):
    quotes = with_spread(black_chain()).with_row_index()
    crossed = quotes.with_columns(bid=pl.when(pl.col("index") == 3).then(9_000.0).otherwise("bid"))
    return str(write(tmp_path, crossed.drop("index")))


def test_the_object_has_what_scripts_read(slisde, file):
    outcome = slisde("quotes", file, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    values = outcome.json()
    assert values["quote_date"] == str(DAY)
    assert values["rows"] == values["used"] + sum(values["dropped"].values())
    assert values["dropped"]["crossed"] == 1
    assert len(values["slices"]) == len(DAYS)
    for part, days in zip(values["slices"], DAYS, strict=True):
        assert part["root"] == "SPX"
        assert date.fromisoformat(part["expiry"]) > DAY
        assert part["t_years"] == days / 365
        assert part["forward"] == pytest.approx(forward_of(days), rel=1e-4)
        assert part["discount"] == pytest.approx(discount_of(days), abs=1e-3)
        assert part["quotes"] > 0


def test_the_table_has_slices_drops_arbitrage_and_warnings(slisde, file):
    out = slisde("quotes", file, "--spot", "5000").out
    assert f"quote date      {DAY} (file)" in out
    assert "  crossed       1" in out
    assert out.count("SPX ") >= len(DAYS)
    assert "arbitrage beyond the half-spreads: " in out
    assert "spot            5,000.00" in out


@pytest.mark.parametrize("name", ["clean.csv", "clean.parquet"])
def test_clean_quotes_are_written_and_read_back(slisde, file, tmp_path, name):
    target = tmp_path / name
    values = slisde("quotes", file, "--to", str(target), "--json").json()
    again = read_chain(target)
    assert values["to"] == str(target)
    assert again.quotes.equals(read_chain(file).quotes)


def test_a_quote_date_can_be_given(slisde):
    path = str(shared("dax_2026-02_lseg.csv"))
    inferred = slisde("quotes", path, "--json").json()
    given = slisde("quotes", path, "--json", "--quote-date", "2026-02-25").json()
    assert (inferred["quote_date_source"], given["quote_date_source"]) == ("inferred", "argument")
    assert inferred["quote_date_uncertainty_days"] > 0
    assert any("give the quote date" in warning for warning in inferred["warnings"])
    assert given["warnings"] == []
    assert "(inferred, ± " in slisde("quotes", path).out


def test_a_vol_table_is_read_with_spot_and_rates(slisde):
    path = str(shared("dax_2002-07-05_vols.csv"))
    rates = "0.0357,0.0349,0.0341,0.0355,0.0359,0.0368,0.0386,0.0401"
    arguments = ("--quote-date", "2002-07-05", "--spot", "4468.17", "--rates", rates)
    values = slisde("quotes", path, *arguments, "--json").json()
    assert (values["used"], len(values["slices"])) == (104, 8)
    assert values["slices"][0]["forward_se"] is None  # given, not estimated
    assert "given" in slisde("quotes", path, *arguments).out


def test_numbers_that_are_not_there_are_null_in_json(slisde, file):
    text = slisde("quotes", file, "--json").out
    assert "NaN" not in text
    assert json.loads(text)["spot"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--quote-date", "yesterday"), "`quote-date` must look like 2026-01-30, got 'yesterday'"),
        (("--rates", "two"), "`rates` must look like 0.02 or 0.02,0.021, got 'two'"),
        (("--to", "clean.xlsx"), "`to` must end in .csv or .parquet, got 'clean.xlsx'"),
        (("--to", "nowhere/clean.csv"), "must lie in an existing folder"),
        (("--spot", "-1"), "`spot` must be positive"),
    ],
)
def test_a_slip_in_an_option_is_one_line(slisde, file, arguments, message):
    outcome = slisde("quotes", file, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b"\x00\x01\x02", "is binary"),
        (b"name,age\nAda,36\n", "is no option chain"),
        (b"expiry,option_type,strike,price\n2026-03-20,call,100,5\n", "give the quote date"),
        (
            b"quote_date,expiry,option_type,strike,bid,ask\n2026-01-30,2026-03-20,call,100,5,4\n",
            "no quote can be used (crossed: 1)",
        ),
        (
            b"quote_date,expiry,option_type,strike,bid,ask\n2026-01-30,2025-03-20,call,100,4,5\n",
            "no quote can be used (expired: 1)",
        ),
        (
            b"quote_date,expiry,option_type,strike,bid,ask\n2026-01-30,2026-03-20,call,0,4,5\n",
            "no quote can be used (strike not positive: 1)",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line(slisde, tmp_path, content, message):
    path = tmp_path / "chain.csv"
    if content is not None:
        path.write_bytes(content)
    outcome = slisde("quotes", str(path))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("slisde: error: ")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_the_help_has_an_example(slisde):
    assert "Example: slisde quotes" in slisde("quotes", "--help").out
