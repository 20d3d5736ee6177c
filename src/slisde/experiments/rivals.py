"""Heston and Bates beside a fitted run: calibrated once to its training quotes, kept in its directory."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from slisde import strict_json
from slisde.baselines.parametric import Parametric, calibrate, check_calibration
from slisde.data.smile import SmileQuotes, model_volatility, smile_quotes
from slisde.errors import StorageError
from slisde.experiments.job import FittedRun
from slisde.files import reading, write_whole
from slisde.functionals.problem import Problem

FILE = "rivals.json"


@dataclass(frozen=True)
class Rival:
    """A model that a quant would pick instead, and what it makes of a run's quotes.

    Attributes:
        kind: which model.
        parameters: its parameters, calibrated to the training quotes.
        seconds: what the calibration took.
        price: of every quote, held-out ones too, in the units and in the order of `smile_quotes`.
    """

    kind: Parametric
    parameters: Mapping[str, float]
    seconds: float
    price: Float[np.ndarray, " quote"]

    @property
    def name(self) -> str:
        """The name to show."""
        return self.kind.value.capitalize()


def check_rivals(problem: Problem) -> None:
    """Raise where the rivals of a problem could not be calibrated."""
    quotes = smile_quotes(problem)
    for kind in Parametric:
        check_calibration(kind, *_training(quotes))


def fit_rivals(fitted: FittedRun, report: Callable[[str], None] = lambda _: None) -> list[Rival]:
    """Return both models, calibrated now and kept unless the run has them already."""
    try:
        kept = kept_rivals(fitted)
    except StorageError:
        kept = []
    if kept:
        return kept
    check_rivals(fitted.problem)
    quotes = smile_quotes(fitted.problem)
    rivals = []
    for kind in Parametric:
        report(f"calibrating {kind.value} by QuantLib")
        fit = calibrate(kind, *_training(quotes))
        price = fit.prices(quotes.maturity, np.exp(quotes.log_moneyness), quotes.is_call)
        rivals.append(Rival(kind, fit.parameters, fit.seconds, quotes.unit * price))
    content = {
        "quotes": _digest(quotes),
        "rivals": [_record(rival, quotes) for rival in rivals],
    }
    text = strict_json.dumps(content, indent=1)
    write_whole(_file(fitted), (text + "\n").encode())
    return rivals


def kept_rivals(fitted: FittedRun) -> list[Rival]:
    """Return the models that the run's directory has, none where they were never wanted."""
    file = _file(fitted)
    if not file.exists():
        return []
    quotes = smile_quotes(fitted.problem)
    with reading(file):
        content = file.read_bytes()
    try:
        values = json.loads(content)
        if values["quotes"] != _digest(quotes):
            raise ValueError("other quotes")
        return [_rival(record, quotes) for record in values["rivals"]]
    except (KeyError, TypeError, ValueError):
        raise StorageError(
            f"{file} is damaged or of other quotes: `slisde report {fitted.run.root} --rivals` "
            "writes it anew."
        ) from None


def _training(quotes: SmileQuotes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return maturities, strikes and volatilities of what may be fitted and has a volatility."""
    chosen = ~quotes.held_out & (quotes.volatility > 0.0)
    strike = np.exp(quotes.log_moneyness)
    return quotes.maturity[chosen], strike[chosen], quotes.volatility[chosen]


def _record(rival: Rival, quotes: SmileQuotes) -> dict[str, Any]:
    return {
        "model": rival.kind.value,
        "parameters": dict(rival.parameters),
        "seconds": rival.seconds,
        "prices": rival.price.tolist(),
        "implied_vols": model_volatility(rival.price, quotes).tolist(),
    }


def _rival(record: Mapping[str, Any], quotes: SmileQuotes) -> Rival:
    price = np.array(record["prices"], dtype=float)
    if price.shape != quotes.price.shape:
        raise ValueError("a price for each quote")
    parameters = {str(name): float(value) for name, value in record["parameters"].items()}
    return Rival(Parametric(record["model"]), parameters, float(record["seconds"]), price)


def _digest(quotes: SmileQuotes) -> str:
    """Return what tells the quotes of two problems apart."""
    columns = (quotes.maturity, quotes.log_moneyness, quotes.price, quotes.held_out.astype(float))
    return hashlib.sha256(np.stack(columns).tobytes()).hexdigest()


def _file(fitted: FittedRun) -> Path:
    return fitted.run.root / FILE
