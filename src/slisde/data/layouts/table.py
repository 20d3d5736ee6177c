"""A file as columns of text or of Parquet's types, and their values as numbers and dates."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polars as pl

from slisde.errors import ProblemError
from slisde.files import reading

DELIMITERS = (",", ";", "\t", "|")
YEARS = (1900, 2199)
PREAMBLE_LINES = 20
"""How far down the line with the columns may be."""

NUMBER = r"^[+-]?\d[\d.,]*$"
COMMA_DECIMAL = r"^[+-]?(\d+,(\d{1,2}|\d{4,})|\d{4,},\d+|0,\d+|\d{1,3}(\.\d{3})+,\d+)$"
POINT_DECIMAL = (
    r"^[+-]?(\d+\.(\d{1,2}|\d{4,})|\d{4,}\.\d+|0\.\d+|\d{1,3}(,\d{3})+\.\d+|\d{1,3}(,\d{3}){2,})$"
)


@dataclass(frozen=True)
class Table:
    """The columns of a file, named in lower case with underscores.

    Attributes:
        name: of the file.
        layout: which layout the columns are those of.
        frame: texts, or what Parquet holds.
        preamble: the lines above the columns.
        comma_decimal: numbers are written 1.234,5.
    """

    name: str
    layout: str
    frame: pl.DataFrame
    preamble: tuple[str, ...] = ()
    comma_decimal: bool = False

    def __contains__(self, column: str) -> bool:
        return column in self.frame.columns

    def __len__(self) -> int:
        return self.frame.height

    def text(self, column: str) -> pl.Series:
        """Return the column as text without blanks around it, null where nothing is left."""
        text = self.frame[column].cast(pl.String).str.strip_chars()
        return text.set(text == "", None)

    def number(self, column: str) -> pl.Series:
        """Return the column as numbers, null where it has none."""
        values = self.frame[column]
        if values.dtype == pl.String:
            values = self.text(column)
            thousands, point = (".", ",") if self.comma_decimal else (",", ".")
            values = values.str.replace_all(thousands, "", literal=True)
            values = values.str.replace(point, ".", literal=True)
        values = values.cast(pl.Float64, strict=False)
        return values.set(~values.is_finite(), None)

    def day(self, column: str) -> pl.Series:
        """Return the column as dates, null where there is none."""
        values = self.frame[column]
        if values.dtype in (pl.Date, pl.Datetime):
            return plausible(values.cast(pl.Date))
        text = self.text(column)
        days = as_days(text)
        if text.count() and not days.count():
            raise ProblemError(
                f"{self.name}: cannot read the dates of `{column}`, such as {text.drop_nulls()[0]!r}. "
                "Write them as YYYY-MM-DD."
            )
        return days

    def option_type(self, column: str) -> pl.Series:
        """Return call, put or null."""
        return as_option_types(self.text(column))


def as_option_types(text: pl.Series) -> pl.Series:
    """Return call or put for texts such as C, calls or Put, and null for others."""
    names = {"c": "call", "call": "call", "calls": "call", "p": "put", "put": "put", "puts": "put"}
    return text.str.to_lowercase().replace_strict(names, default=None, return_dtype=pl.String)


def as_days(text: pl.Series) -> pl.Series:
    """Return dates of texts such as 2026-03-20, 20260320, 20.03.2026, 20MAR26 or March 20, 2026."""
    column = pl.col("text")
    # Each pattern is checked first: the parser would read 03/20/26 and 20260320 in more than one way.
    patterns = {
        r"^(\d{4}-\d{2}-\d{2})([ T].*)?$": "%Y-%m-%d",
        r"^(\d{8})$": "%Y%m%d",
        r"^(\d{1,2}\.\d{1,2}\.\d{4})$": "%d.%m.%Y",
        r"^(\d{1,2}[A-Za-z]{3}\d{2})$": "%d%b%y",
        r"^[A-Za-z]{3} ([A-Za-z]{3} \d{1,2} \d{4})$": "%b %d %Y",
        r"^([A-Za-z]+ \d{1,2}, \d{4})$": "%B %d, %Y",
    }
    parsed = [
        column.str.extract(pattern).str.to_date(form, strict=False)
        for pattern, form in patterns.items()
    ]
    return plausible(text.rename("text").to_frame().select(pl.coalesce(parsed)).to_series())


def plausible(days: pl.Series) -> pl.Series:
    """Return the dates with null for those of other centuries, which are slips."""
    return days.set(~days.dt.year().is_between(*YEARS), None)


def read_table(path: Path, layout_of: Callable[[frozenset[str]], str | None]) -> Table:
    """Return the columns of a CSV or Parquet file, or say in one line why it has none.

    Args:
        path: the file.
        layout_of: the layout that has these columns, if any; the first line with one is the header.
    """
    with reading(path):
        data = path.read_bytes()
    if data[:4] == b"PAR1":
        return _parquet(path, data, layout_of)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", errors="replace").encode()
    if b"\0" in data[:65536]:
        raise ProblemError(f"{path} is binary, and neither CSV nor Parquet.")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise ProblemError(f"{path} is empty.")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    lines = data.split(b"\n", PREAMBLE_LINES)[:PREAMBLE_LINES]
    texts = [line.decode("utf-8", errors="replace").replace("\r", "") for line in lines]
    for index, text in enumerate(texts):
        for delimiter in DELIMITERS:
            columns = _distinct(next(csv.reader([text], delimiter=delimiter), []))
            layout = layout_of(frozenset(columns))
            if layout is not None:
                start = sum(len(line) + 1 for line in lines[: index + 1])
                frame = _csv(path, data[start:], columns, delimiter)
                commas = _comma_decimal(path, frame)
                return Table(path.name, layout, frame, tuple(texts[:index]), commas)
    raise _unknown(path, next((text for text in texts if text.strip()), ""))


def _parquet(path: Path, data: bytes, layout_of: Callable[[frozenset[str]], str | None]) -> Table:
    try:
        frame = pl.read_parquet(BytesIO(data))
    except (pl.exceptions.PolarsError, OSError):
        raise ProblemError(f"{path} is a damaged Parquet file.") from None
    frame.columns = _distinct(frame.columns)
    layout = layout_of(frozenset(frame.columns))
    if layout is None:
        raise _unknown(path, ", ".join(frame.columns))
    return Table(path.name, layout, frame)


def _csv(path: Path, rows: bytes, columns: list[str], delimiter: str) -> pl.DataFrame:
    if not rows.strip():
        raise ProblemError(f"{path} has columns and no rows.")
    try:
        return pl.read_csv(
            BytesIO(rows),
            has_header=False,
            separator=delimiter,
            schema=dict.fromkeys(columns, pl.String),
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError as error:
        reason = " ".join(str(error).split("\n", 1)[0].split())
        raise ProblemError(f"{path} does not have the same columns everywhere: {reason}.") from None


def _distinct(names: list[str]) -> list[str]:
    """Return the names in lower case with underscores, a repeated one with its number."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        plain = "_".join(name.strip().lower().split())
        seen[plain] = seen.get(plain, 0) + 1
        distinct.append(plain if seen[plain] == 1 else f"{plain}_{seen[plain]}")
    return distinct


def _comma_decimal(path: Path, frame: pl.DataFrame) -> bool:
    """Return whether numbers have decimal commas; refuse a file that can be read both ways."""
    texts = [column.drop_nulls().str.strip_chars() for column in frame]
    marked = [text.filter(text.str.contains(",", literal=True)) for text in texts]
    marked = [text.filter(text.str.contains(NUMBER)) for text in marked]
    if not any(text.len() for text in marked):
        return False
    comma = any(text.str.contains(COMMA_DECIMAL).any() for text in marked)
    point = any(text.str.contains(POINT_DECIMAL).any() for text in texts)
    if comma == point:
        example = next(column[0] for column in marked if column.len())
        why = (
            "some have decimal commas and some decimal points"
            if comma
            else "it can mean two things"
        )
        raise ProblemError(f"{path}: cannot read numbers such as {example}: {why}.")
    return comma


def _unknown(path: Path, found: str) -> ProblemError:
    shown = found if len(found) <= 120 else found[:117] + "..."
    return ProblemError(
        f"{path} is no option chain of a layout that is known; it starts with {shown!r}. "
        "The layouts are in docs/quotes.md; the plainest has the columns "
        "quote_date, expiry, option_type, strike, bid, ask."
    )
