"""Tables of implied volatilities: a row per strike, a column per maturity (`13d` or a date).

Spot, zero rates and quote date are the caller's to say. The forward is S/D, without dividends, and
each volatility becomes the price of the option that is out of the money.
"""

import math
import re
from datetime import date, timedelta

import numpy as np
import polars as pl
from jaxtyping import Float

from slisde.data.chain import DAYS_PER_YEAR
from slisde.data.layouts.raw import GIVEN_SCHEMA, ONLY_ROOT, Given, RawQuotes, raw_frame
from slisde.data.layouts.table import Table
from slisde.errors import ProblemError

MATURITY = re.compile(r"\d{1,5}d|\d{4}-\d{2}-\d{2}")
LARGEST = 5.0
"""A volatility above 500 % is one in per cent."""


def matches(columns: frozenset[str]) -> bool:
    """Return whether a file with these columns has this layout."""
    rest = columns - {"strike"}
    return "strike" in columns and len(rest) > 0 and all(MATURITY.fullmatch(each) for each in rest)


def read(table: Table, given: Given) -> RawQuotes:
    """Return one quote per volatility."""
    if given.quote_date is None or given.spot is None or given.rates is None:
        raise ProblemError(
            f"{table.name} is a table of implied volatilities: give its quote date, the spot and "
            "the zero rates."
        )
    expiries = {
        column: _expiry(column, given.quote_date)
        for column in table.frame.columns
        if column != "strike"
    }
    rates = given.zero_rates(sorted(expiries.values()))
    strikes = table.number("strike")
    parts, slices = [], []
    for column, expiry in expiries.items():
        if expiry not in rates:
            raise ProblemError(f"{table.name}: no zero rate was given for {expiry}.")
        years = (expiry - given.quote_date).days / DAYS_PER_YEAR
        discount = math.exp(-rates[expiry] * years)
        forward = given.spot / discount
        prices = discount * _prices(forward, strikes, _volatilities(table, column), years)
        option_type = (strikes >= forward).cast(pl.String).replace({"true": "call", "false": "put"})
        parts.append(
            raw_frame(
                len(table),
                root=ONLY_ROOT,
                expiry=pl.lit(expiry),
                option_type=option_type,
                strike=strikes,
                price=pl.Series(prices).fill_nan(None),
            )
        )
        slices.append((ONLY_ROOT, expiry, forward, discount, None, None, 0))
    stated = pl.DataFrame(slices, schema=GIVEN_SCHEMA, orient="row")
    return RawQuotes(pl.concat(parts), given.quote_date, given.spot, stated)


def _volatilities(table: Table, column: str) -> pl.Series:
    values = table.number(column)
    percent = values.filter(values > LARGEST)
    if percent.len():
        raise ProblemError(f"{table.name}: volatilities such as {percent[0]} are in per cent.")
    return values.set(values <= 0.0, None)


def _prices(
    forward: float, strikes: pl.Series, volatilities: pl.Series, years: float
) -> Float[np.ndarray, " strike"]:
    """Return the undiscounted put below the forward and call above it."""
    import jax  # only this layout needs it, and it takes longer to load than a chain

    from slisde.functionals import black

    strike, volatility = (
        column.fill_null(math.nan).to_numpy() for column in (strikes, volatilities)
    )
    with jax.enable_x64(True):
        # A put is the call with forward and strike exchanged.
        lower, upper = np.minimum(strike, forward), np.maximum(strike, forward)
        return np.asarray(black.call(lower, upper, volatility**2 * years))


def _expiry(column: str, quote_date: date) -> date:
    try:
        if column.endswith("d"):
            return quote_date + timedelta(days=int(column[:-1]))
        return date.fromisoformat(column)
    except (ValueError, OverflowError):
        raise ProblemError(f"the maturity `{column}` is no date after {quote_date}.") from None
