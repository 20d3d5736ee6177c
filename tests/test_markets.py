"""docs/markets.md: its commands run, in its order, on a small chain."""

import math
import re
import shlex
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from slisde.cli.main import app
from tests.data.surface.chains import black_price, discount, forward, smile

PAGE = Path(__file__).parents[1] / "docs" / "markets.md"
DAY = date(2026, 1, 30)
EXPIRIES = (date(2026, 3, 20), date(2026, 6, 19))
SMALL = (
    "model.layers=1",
    "model.latent=8",
    "model.noise=2",
    "model.block_size=4",
    "train.paths=16",
    "train.late_factor=1",
    "grid.steps=8",
)


def write_chain(file: Path) -> None:
    """Write both sides of every strike, with bid and ask."""
    rows = []
    for expiry in EXPIRIES:
        maturity = (expiry - DAY) / timedelta(days=365)
        level, factor = forward(maturity), discount(maturity)
        for strike in np.arange(3000.0, 5001.0, 100.0).tolist():
            deviation = smile(math.log(strike / level)) * math.sqrt(maturity)
            for kind, sign in (("call", 1.0), ("put", -1.0)):
                price = float(factor * black_price(strike, level, deviation, sign))
                half = 0.05 + 0.01 * price
                rows.append(
                    {
                        "quote_date": DAY,
                        "root": "IDX",
                        "expiry": expiry,
                        "option_type": kind,
                        "strike": strike,
                        "bid": round(max(price - half, 0.0), 2),
                        "ask": round(price + half, 2),
                        "spot": 4000.0,
                    }
                )
    pl.DataFrame(rows).write_csv(file)


def commands() -> list[list[str]]:
    lines = re.findall(r"^    slisde (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [shlex.split(line) for line in lines]


def small(command: list[str]) -> list[str]:
    """Return the command with less to do."""
    name = command[0]
    if name == "calibrate":
        settings = [part for setting in SMALL for part in ("--set", setting)]
        return [*command, *settings, "--steps", "2"]
    return [*command, "--paths", "64"] if name in ("evaluate", "price", "report") else command


def test_the_page_walks_from_a_chain_to_prices(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_chain(tmp_path / "chain.csv")
    shown = {}
    for command in commands():
        app(small(command), standalone_mode=False)
        shown.setdefault(command[0], capsys.readouterr().out)
    assert list(shown) == ["quotes", "calibrate", "evaluate", "report", "price"]
    assert "2026-03-20" in shown["quotes"]
    assert "arbitrage beyond noise: monotone 0, convex 0, calendar 0" in shown["evaluate"]
    assert re.search(r"call.* delta 0\.\d+ ± .* vol 0\.\d+ ± ", shown["price"])
    page = (tmp_path / "runs" / "chain" / "report.html").read_text(encoding="utf-8")
    assert 'id="smile-1"' in page
    assert "Convention market" in page
