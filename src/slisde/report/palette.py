"""The colours of a report by day and by night: their only home."""

from typing import NamedTuple

import numpy as np


class Colour(NamedTuple):
    """One role, on a light and on a dark page."""

    light: str
    dark: str


PAGE = Colour("#fcfbf8", "#14161b")
PANEL = Colour("#f4f2ec", "#1c1f26")
INK = Colour("#20252e", "#e7e4dd")
MUTED = Colour("#5d6470", "#a0a7b3")
RULE = Colour("#dedad0", "#31363f")
ACCENT = Colour("#2b6892", "#79b8e8")
GOOD = Colour("#2c6e49", "#7fcf9f")
FAIR = Colour("#8a5a00", "#e5b75c")
POOR = Colour("#a8321f", "#f28b73")
OUTER_BAND = Colour("#e3e9ec", "#20303d")
INNER_BAND = Colour("#c9d8e2", "#2b4559")
STRAND = Colour("#8aa0b0", "#5d7386")

ROLES = {
    "page": PAGE,
    "panel": PANEL,
    "ink": INK,
    "muted": MUTED,
    "rule": RULE,
    "accent": ACCENT,
    "good": GOOD,
    "fair": FAIR,
    "poor": POOR,
    "outer-band": OUTER_BAND,
    "inner-band": INNER_BAND,
    "strand": STRAND,
}

# From cold to warm: ordered, as maturities are, and told apart by colour-blind readers too.
_ANCHORS = (
    Colour("#3c3a8f", "#a3a4f5"),
    Colour("#2274a5", "#6cb9ec"),
    Colour("#1f8a70", "#5fd3b3"),
    Colour("#b0760c", "#eec05c"),
    Colour("#bb3e2b", "#f58d78"),
)


def ramp(count: int) -> list[Colour]:
    """Return colours for `count` ordered things."""
    if count == 1:
        return [_ANCHORS[1]]
    places = np.linspace(0.0, len(_ANCHORS) - 1.0, count)
    return [Colour(_blend(place, 0), _blend(place, 1)) for place in places]


def by_night(colours: list[Colour]) -> dict[str, str]:
    """Return the dark colour of every light one, the given ones among them."""
    return {colour.light: colour.dark for colour in [*ROLES.values(), *colours]}


def _blend(place: float, side: int) -> str:
    lower = min(int(place), len(_ANCHORS) - 2)
    share = place - lower
    ends = [_channels(_ANCHORS[lower + step][side]) for step in (0, 1)]
    mixed = (1.0 - share) * ends[0] + share * ends[1]
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed)


def _channels(colour: str) -> np.ndarray:
    return np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)], dtype=float)
