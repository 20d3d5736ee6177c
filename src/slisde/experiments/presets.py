"""Protocols with a name: how much work goes into a fit.

Only what differs from the defaults, which are the paper's protocol, is listed.
"""

from slisde.errors import ConfigError
from slisde.experiments.config import Tables

PRESETS: dict[str, Tables] = {
    # app:expset: 1,000 steps of 1,024 paths on 512 time steps
    "paper": {},
    # a sixth of the paper's arithmetic: a few minutes on two cores
    "standard": {
        "train": {"steps": 600, "straight_through": True},
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
        },
        "grid": {"steps": 64},
    },
}


DEFAULT = "standard"


def preset(name: str) -> Tables:
    """Return the tables of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset `{name}`: choose one of {', '.join(PRESETS)}.")
    return PRESETS[name]
