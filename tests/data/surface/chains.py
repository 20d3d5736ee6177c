"""Chains made by hand, with known smiles, and the shared ones where they are present."""

import math
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from slisde.data.chain import QUOTE_SCHEMA, Chain, DateSource, QuoteDate, Slice

DAY = date(2026, 1, 30)
SPOT = 4_000.0
DAYS = (10, 35, 63, 91, 120, 180, 270, 365, 700)
SHARED = Path(__file__).parents[4] / "shared" / "data"


def forward(maturity):
    return SPOT * math.exp(0.015 * maturity)


def discount(maturity):
    return math.exp(-0.04 * maturity)


def smile(log_moneyness):
    """Return the volatility at every expiry."""
    return 0.2 - 0.12 * log_moneyness + 0.1 * log_moneyness**2


def black_price(strike, level, deviation, sign):
    d = np.log(level / strike) / deviation + 0.5 * deviation
    return sign * (level * norm.cdf(sign * d) - strike * norm.cdf(sign * (d - deviation)))


def make_chain(
    *,
    two_sided=True,
    spot: float | None = SPOT,
    step=25.0,
    low=0.5,
    high=1.5,
    expiries=tuple(DAY + timedelta(days=days) for days in DAYS),
) -> Chain:
    """Return two roots; prices out of the money are right, those in the money off by a tenth."""
    slices, frames = [], []
    strike = np.arange(low * SPOT, high * SPOT + 1.0, step)
    for root in ("IDX", "IDXW"):
        for expiry in expiries:
            maturity = (expiry - DAY).days / 365.0
            level, factor = forward(maturity), discount(maturity)
            deviation = smile(np.log(strike / level)) * math.sqrt(maturity)
            for kind, sign in (("call", 1.0), ("put", -1.0)):
                price = factor * black_price(strike, level, deviation, sign)
                price *= np.where(sign * (level - strike) > 0.0, 1.1, 1.0)
                half = 0.02 * price + 0.05 if two_sided else np.full_like(price, np.nan)
                frames.append(
                    pl.DataFrame(
                        {
                            "root": root,
                            "expiry": expiry,
                            "option_type": kind,
                            "strike": strike,
                            "price": price,
                            "bid": np.maximum(price - half, 0.0),
                            "ask": price + half,
                            "origin": "quoted",
                        }
                    ).with_columns(pl.col("bid", "ask").fill_nan(None))
                )
            slices.append(
                Slice(root, expiry, maturity, level, factor, 0.0, 0.0, strike.size, 2 * strike.size)
            )
    quotes = pl.concat(frames).cast(QUOTE_SCHEMA).sort("root", "expiry", "strike", "option_type")
    when = QuoteDate(DAY, DateSource.FILE)
    return Chain("made.csv", "made", when, spot, slices, quotes, quotes.height, {}, (), ())


def shared_chain(file: str, **arguments) -> Chain:
    """Return a chain of the shared folder, or skip the test."""
    path = SHARED / file
    if not path.exists():
        pytest.skip(f"the shared quotes {file} are not on this machine")
    from slisde.data.quotes import read_chain

    return read_chain(path, **arguments)
