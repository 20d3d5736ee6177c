"""The option surfaces that studies fit, made of snapshots in a folder that the user has."""

from pathlib import Path
from typing import Any

from slisde.experiments.config import parse
from slisde.experiments.sources import build_problem
from slisde.functionals.problem import Problem

SURFACES: dict[str, dict[str, Any]] = {
    "spx_2026-01-30": {
        "source": "spx_2026-01-30_yahoo.csv",
        "root": "SPX",
        "spot": 6939.03,
        "expiries": ["2026-04-17", "2026-06-18", "2026-09-18", "2026-12-18", "2027-01-15"],
    },
    "dax_2026-07-02": {
        "source": "dax_2026-07-02_eurex.csv",
        "quote_date": "2026-07-02",
        "spot": 25_559.0,
        "expiries": ["2026-08-21", "2026-09-18", "2026-12-18", "2027-03-19", "2027-06-18"],
    },
    "dax_2002-07-05": {
        "source": "dax_2002-07-05_vols.csv",
        "quote_date": "2002-07-05",
        "spot": 4468.17,
        "rates": [0.0357, 0.0349, 0.0341, 0.0355, 0.0359, 0.0368, 0.0386, 0.0401],
        "expiries": [
            "2002-07-18",
            "2002-08-15",
            "2002-09-18",
            "2002-12-17",
            "2003-03-18",
            "2003-06-15",
            "2003-12-11",
            "2004-06-07",
        ],
        "hold_out": False,
    },
    "dax_2026-02 paper": {
        "source": "dax_2026-02_lseg.csv",
        "convention": "paper",
        "quote_date": "2026-02-25",
        "spot": 25_280.0,
        "expiries": ["2026-04-17", "2026-06-19", "2026-09-18", "2026-12-18", "2027-03-19"],
    },
    "dax_2026-02 as-published": {
        "source": "dax_2026-02_lseg.csv",
        "convention": "as-published",
        "quote_date": "2026-02-25",
        "spot": 25_280.0,
    },
}
"""The surfaces of the study; that of 2002 is fitted whole, as QuantLib's own tests do."""


def studied_problem(name: str, data: Path) -> Problem:
    """Return a surface by its name, from the folder of the snapshots."""
    surface = SURFACES[name]
    return build_problem(parse({"problem": {**surface, "source": source(name, data)}}).problem)


def source(name: str, data: Path) -> str:
    """Return the file that a surface is made of."""
    return str(data / SURFACES[name]["source"])
