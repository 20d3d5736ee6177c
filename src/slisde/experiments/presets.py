"""Protocols with a name: how much work goes into a fit.

Only what differs from the defaults, which are the paper's protocol, is listed.
"""

from slisde.errors import ConfigError
from slisde.experiments.config import Tables
from slisde.experiments.sources import is_quotes

PRESETS: dict[str, Tables] = {
    # app:expset: 1,000 steps of 1,024 paths on 512 time steps
    "paper": {},
    # a fifth of the paper's arithmetic: a few minutes on two cores
    "standard": {
        "train": {
            "steps": 600,
            "learning_rate": 3e-3,
            "straight_through": True,
            "memory": 0.97,
        },
        "grid": {"steps": 128},
    },
    # to see that it works: under two minutes with compilation
    "quick": {
        "model": {"latent": 32},
        "train": {
            "steps": 400,
            "paths": 512,
            "learning_rate": 3e-3,
            "warmup": 40,
            "straight_through": True,
            "memory": 0.97,
        },
        "grid": {"steps": 64},
    },
}

# Smiles are many quotes of one moment each: a martingale whose European prices are exact given the
# latent path needs few time steps. Hedges and averaged errors keep noise out of the fit; whitened errors
# reach the shape of every smile. SPX of 2026-01-30 without them: half of the held-out quotes inside bid and ask.
_SMILES: Tables = {
    "model": {"latent": 32, "noise": 4, "readout": "mixing"},
    "train": {
        "steps": 3000,
        "paths": 256,
        "learning_rate": 4e-3,
        "warmup": 50,
        "ema": 0.995,
        "antithetic": True,
        "memory": 0.99,
        "whitening": 0.03,
        "hedged": True,
        "late_factor": 4,
    },
    "grid": {"steps": 64, "spacing": "maturities"},
}

QUOTES: dict[str, Tables] = {
    # app:expset: the five groups in units of the spot, the linear readout, 1,024 time steps
    "paper": {"problem": {"convention": "paper"}, "grid": {"steps": 1024}},
    "standard": _SMILES,
    "quick": {
        **_SMILES,
        "train": {
            **_SMILES["train"],
            "steps": 400,
            "learning_rate": 6e-3,
            "ema": 0.98,
            "memory": 0.97,
            "whitening": 0.1,  # with less the level of a surface is not reached in so few steps
            "late_factor": 1,
        },
    },
}
"""The same names for files of option quotes."""

DEFAULT = "standard"


def preset(name: str, source: str = "") -> Tables:
    """Return the tables of a preset for a problem's source."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset `{name}`: choose one of {', '.join(PRESETS)}.")
    return (QUOTES if is_quotes(source) else PRESETS)[name]
