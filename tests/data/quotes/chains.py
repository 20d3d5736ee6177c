"""Chains whose forwards and discounts are known, in the canonical layout, and where real ones are."""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

SHARED = Path(__file__).parents[4] / "shared" / "data"
DAY = date(2026, 1, 30)
SPOT = 5000.0
RATE, DIVIDENDS = 0.04, 0.015
DAYS = (14, 49, 105, 182, 364)


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"../shared/data/{name} is not there")
    return path


def forward_of(days: int) -> float:
    return SPOT * np.exp((RATE - DIVIDENDS) * days / 365)


def discount_of(days: int) -> float:
    return float(np.exp(-RATE * days / 365))


def black(side: str, forward, strikes, deviation):
    """Return undiscounted prices; the two sides are computed apart, so that none is below zero."""
    sign = 1.0 if side == "call" else -1.0
    d2 = np.log(forward / strikes) / deviation - 0.5 * deviation
    return sign * (forward * norm.cdf(sign * (d2 + deviation)) - strikes * norm.cdf(sign * d2))


def black_slice(days: int, *, root: str = "SPX", strikes=None, volatility: float = 0.2):
    """Return exact prices of calls and puts, without spread."""
    strikes = np.arange(3500.0, 6501.0, 50.0) if strikes is None else np.asarray(strikes, float)
    forward, discount = forward_of(days), discount_of(days)
    deviation = volatility * np.sqrt(days / 365)
    return pl.concat(
        pl.DataFrame(
            {
                "quote_date": DAY,
                "root": root,
                "expiry": DAY + timedelta(days=days),
                "option_type": side,
                "strike": strikes,
                "price": discount * black(side, forward, strikes, deviation),
            }
        )
        for side in ("call", "put")
    )


def black_chain(days=DAYS, **options) -> pl.DataFrame:
    return pl.concat(black_slice(each, **options) for each in days)


def with_spread(prices: pl.DataFrame, seed: int = 7, share: float = 0.02) -> pl.DataFrame:
    """Return bid and ask around a mid that is off by a tenth of the spread on average."""
    generator = np.random.default_rng(seed)
    half = 0.1 + share * prices["price"].to_numpy() ** 0.5 * generator.uniform(1, 3, prices.height)
    mid = prices["price"].to_numpy() + 0.2 * half * generator.standard_normal(prices.height)
    columns = prices.drop("price").with_columns(
        bid=pl.Series(mid - half), ask=pl.Series(mid + half)
    )
    return columns.filter(pl.col("bid") > 0.0)


def write(folder: Path, quotes: pl.DataFrame, name: str = "chain.csv") -> Path:
    path = folder / name
    quotes.write_parquet(path) if path.suffix == ".parquet" else quotes.write_csv(path)
    return path
