"""Each layout from a few lines of text, and numbers and dates as people write them."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.data.layouts.raw import RAW_SCHEMA, Given
from slisde.data.layouts.recognise import read_raw
from slisde.errors import ArgumentError, ProblemError, SlisdeError, StorageError

CANONICAL = (
    "quote_date,expiry,option_type,strike,bid,ask\n2026-01-30,2026-03-20,call,5000,100.5,101.5\n"
)
CBOE = """
Standard & Poors 500 Index,Last: 4505.1001,Change:  37.6601
"Date: September 14, 2023 at 4:31 PM EDT",Bid: 4483.25,Ask: 4526.27,Size: 1*1,Volume: 0
Expiration Date,Calls,Last Sale,Net,Bid,Ask,Strike,Puts,Last Sale,Net,Bid,Ask
Fri Sep 15 2023,SPXW230915C04500000,0,0,12.5,13,4500.00,SPXW230915P04500000,0,0,2,2.5
"""
EUREX = """Product,Contract,PreviousDaySettlementPrice
ODAX,ODAX SI 20261218 CS EU C 23500 0,2800.7
ODAX,ODAX SI 20261218 PS AM P 23500 0,1800.7
ODAX,a future,
"""
DERIBIT = """instrument_name,bid_price,ask_price,mark_price,underlying_price,creation_timestamp
BTC-27JUN25-100000-C,0.05,0.055,0.0525,105000,1748000000000
BTC-27JUN25-100000-P,,0.02,0.018,105000,1748000000000
XRP_USDC-27JUN25-0d625-C,0.1,0.2,0.15,0.7,1748000000000
"""
LSEG = """Instrument,PUTCALLIND,EXPIR_DATE,STRIKE_PRC,CF_CLOSE,IMP_VOLT
/GDAX110000C6.EX,CALL,2026-03-20,11000,14194.5,119.4669
/GDAX110000O6.EX,PUT ,2026-03-20,11000,0.1,119.4669
"""
YAHOO = """contractSymbol,lastTradeDate,strike,lastPrice,bid,ask,option_type,expiration
SPXW260202C02800000,2026-01-30 16:45:44+00:00,2800.0,4139.54,4122.2,4148.5,call,2026-02-02
SPX260220P02800000,2026-01-31 02:15:00+00:00,2800.0,1,0.5,0.6,put,2026-02-20
"""


def read(folder: Path, text: str | bytes, name: str = "chain.csv", known: Given | None = None):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_raw(path, known or Given())


def rows(raw) -> list[tuple]:
    return raw.quotes.select(
        "root", "expiry", "option_type", "strike", "bid", "ask", "price"
    ).rows()


def test_the_canonical_layout(tmp_path):
    layout, raw = read(tmp_path, CANONICAL)
    assert layout == "canonical"
    assert raw.quote_date == date(2026, 1, 30)
    assert rows(raw) == [("all", date(2026, 3, 20), "call", 5000.0, 100.5, 101.5, None)]
    assert list(raw.quotes.schema.items()) == list(RAW_SCHEMA.items())


def test_the_canonical_layout_has_other_names_too(tmp_path):
    text = "Date,Underlying,Expiration,Type,Strike,Mid,Spot\n2026-01-30,SPX,20260320,P,5000,99.5,5010\n"
    layout, raw = read(tmp_path, text)
    assert (layout, raw.spot) == ("canonical", 5010.0)
    assert rows(raw) == [("SPX", date(2026, 3, 20), "put", 5000.0, None, None, 99.5)]


def test_yfinance(tmp_path):
    layout, raw = read(tmp_path, YAHOO)
    assert layout == "yfinance"
    assert rows(raw) == [
        ("SPXW", date(2026, 2, 2), "call", 2800.0, 4122.2, 4148.5, None),
        ("SPX", date(2026, 2, 20), "put", 2800.0, 0.5, 0.6, None),
    ]
    assert raw.quote_date == date(2026, 1, 30)  # 02:15 in London is the evening before in New York
    assert "last trade" in raw.warnings[0]


def test_cboe(tmp_path):
    layout, raw = read(tmp_path, CBOE)
    assert (layout, raw.quote_date, raw.spot) == ("cboe", date(2023, 9, 14), 4505.1001)
    assert rows(raw) == [
        ("SPXW", date(2023, 9, 15), "call", 4500.0, 12.5, 13.0, None),
        ("SPXW", date(2023, 9, 15), "put", 4500.0, 2.0, 2.5, None),
    ]


def test_lseg(tmp_path):
    layout, raw = read(tmp_path, LSEG)
    assert (layout, raw.quote_date) == ("lseg", None)
    assert rows(raw) == [
        ("ODAX", date(2026, 3, 20), "call", 11000.0, None, None, 14194.5),
        ("ODAX", date(2026, 3, 20), "put", 11000.0, None, None, 0.1),
    ]


def test_eurex(tmp_path):
    layout, raw = read(tmp_path, EUREX)
    assert (layout, raw.quote_date) == ("eurex", None)
    assert rows(raw)[0] == ("ODAX", date(2026, 12, 18), "call", 23500.0, None, None, 2800.7)
    assert raw.quotes["defect"].to_list() == [None, "american exercise", None]
    assert rows(raw)[2] == (None,) * 7


def test_deribit_prices_in_coin_become_prices_in_currency(tmp_path):
    layout, raw = read(tmp_path, DERIBIT)
    assert (layout, raw.quote_date) == ("deribit", date(2025, 5, 23))
    call, put, linear = rows(raw)
    assert call == ("BTC", date(2025, 6, 27), "call", 100_000.0, 5250.0, 5775.0, None)
    assert put[4:] == (None, 2100.0, None)
    assert linear == ("XRP_USDC", date(2025, 6, 27), "call", 0.625, 0.1, 0.2, None)


def test_a_table_of_volatilities_needs_date_spot_and_rates(tmp_path):
    text = "strike,30d,2026-06-19\n90,0.3,0.28\n100,0.25,\n"
    with pytest.raises(ProblemError, match="give its quote date, the spot and the zero rates"):
        read(tmp_path, text)
    layout, raw = read(tmp_path, text, known=Given(date(2026, 1, 30), 100.0, 0.02))
    assert layout == "vols"
    assert raw.quotes["expiry"].unique().to_list() == [date(2026, 3, 1), date(2026, 6, 19)]
    assert raw.quotes["price"].null_count() == 1
    with pytest.raises(ArgumentError, match="one per expiry"):
        read(tmp_path, text, known=Given(date(2026, 1, 30), 100.0, [0.02]))
    with pytest.raises(ProblemError, match="in per cent"):
        read(tmp_path, text.replace("0.25", "25"), known=Given(date(2026, 1, 30), 100.0, 0.02))


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_are_understood(tmp_path, delimiter):
    expected = rows(read(tmp_path, CANONICAL)[1])
    assert rows(read(tmp_path, CANONICAL.replace(",", delimiter))[1]) == expected


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path):
    expected = rows(read(tmp_path, CANONICAL)[1])
    assert rows(read(tmp_path, b"\xef\xbb\xbf" + CANONICAL.encode())[1]) == expected
    assert rows(read(tmp_path, CANONICAL.replace("\n", "\r\n"))[1]) == expected
    assert rows(read(tmp_path, CANONICAL.encode("utf-16"))[1]) == expected


def test_parquet_is_the_same_as_csv(tmp_path):
    expected = rows(read(tmp_path, YAHOO)[1])
    path = tmp_path / "chain.parquet"
    pl.read_csv(tmp_path / "chain.csv", try_parse_dates=True).write_parquet(path)
    layout, raw = read_raw(path, Given())
    assert (layout, rows(raw), raw.quote_date) == ("yfinance", expected, date(2026, 1, 30))


GERMAN = """quote_date;expiry;option_type;strike;bid;ask
30.01.2026;20.03.2026;call;25.000;1.100,5;1.101,5
30.01.2026;20.03.2026;put;25.000;99,5;101
"""


def test_decimal_commas_are_understood(tmp_path):
    _, raw = read(tmp_path, GERMAN)
    assert rows(raw) == [
        ("all", date(2026, 3, 20), "call", 25_000.0, 1100.5, 1101.5, None),
        ("all", date(2026, 3, 20), "put", 25_000.0, 99.5, 101.0, None),
    ]
    assert raw.quote_date == date(2026, 1, 30)
    assert raw.warnings == ("the numbers were read with decimal commas.",)


def test_thousands_in_quotes_are_understood(tmp_path):
    _, raw = read(tmp_path, CANONICAL.replace("5000", '"25,000.0"'))
    assert raw.quotes["strike"].to_list() == [25_000.0]


@pytest.mark.parametrize("strike", ['"25,000"', '"25,5"'])
def test_numbers_with_two_readings_are_refused(tmp_path, strike):
    text = CANONICAL.replace("5000", strike)
    text = text.replace("100.5", "100").replace("101.5", "101") if strike == '"25,000"' else text
    with pytest.raises(ProblemError, match="cannot read numbers such as 25,"):
        read(tmp_path, text)


def test_dates_with_two_readings_are_refused(tmp_path):
    with pytest.raises(
        ProblemError, match=r"`expiry`, such as '03/04/2026'\. Write them as YYYY-MM-DD"
    ):
        read(tmp_path, CANONICAL.replace("2026-03-20", "03/04/2026"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (CANONICAL.split("\n", maxsplit=1)[0].encode() + b"\n", "has columns and no rows"),
        (b"a,b,c\n1,2,3\n", "is no option chain of a layout that is known; it starts with 'a,b,c'"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "is binary"),
        (b"PAR1 but not really", "is a damaged Parquet file"),
        (CANONICAL.encode() + b"2026-01-30,2026-03-20,put,5000,1,2,3,4\n", "same columns"),
    ],
)
def test_what_is_no_chain_is_said_in_one_line(tmp_path, content, message):
    with pytest.raises(ProblemError) as raised:
        read(tmp_path, content)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "chain.csv" in str(raised.value)


def test_a_missing_file_and_a_folder_are_said_in_one_line(tmp_path):
    with pytest.raises(StorageError, match="No such file"):
        read_raw(tmp_path / "none.csv", Given())
    with pytest.raises(StorageError, match="Is a directory"):
        read_raw(tmp_path, Given())


def test_of_several_quote_dates_one_has_to_be_chosen(tmp_path):
    text = CANONICAL + "2026-02-02,2026-03-20,call,5000,100.5,101.5\n"
    with pytest.raises(ProblemError, match="quotes of 2026-01-30, 2026-02-02: choose one day"):
        read(tmp_path, text)
    _, raw = read(tmp_path, text, known=Given(date(2026, 2, 2)))
    assert raw.quote_date == date(2026, 2, 2)
    assert raw.quotes["defect"].to_list() == ["other quote date", None]
    with pytest.raises(ProblemError, match="no quotes of 2026-02-03"):
        read(tmp_path, text, known=Given(date(2026, 2, 3)))


def test_a_parquet_column_that_holds_no_numbers_is_said_in_one_line(tmp_path):
    path = tmp_path / "chain.parquet"
    quotes = {"expiry": [date(2026, 3, 20)], "type": ["call"], "strike": [[1.0]], "price": [1.0]}
    pl.DataFrame(quotes).write_parquet(path)
    with pytest.raises(ProblemError, match="a column has no such values"):
        read_raw(path, Given())


TEXTS = (CANONICAL, CBOE, EUREX, DERIBIT, LSEG, YAHOO, GERMAN)


@given(data=st.data(), text=st.sampled_from(TEXTS))
@settings(max_examples=100, deadline=None)
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path_factory, data, text):
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.sampled_from([0, 1, 1, 8]))
        new = data.draw(st.text(alphabet='0123456789.,;-"\n\t /eNaC', max_size=4))
        text = text[:place] + new + text[place + cut :]
    message, schema = "", RAW_SCHEMA
    try:
        schema = read(tmp_path_factory.mktemp("damaged"), text)[1].quotes.schema
    except SlisdeError as error:
        message = str(error)
    assert "\n" not in message
    assert list(schema.items()) == list(RAW_SCHEMA.items())
