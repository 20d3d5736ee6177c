"""The `as-published` convention: the targets of the paper's DAX tables, faults included.

What the authors' released code (FrancescoPiatti/SLiSDE, datasets/dax and exp_dax/masking) does to
its quotes: prices over the spot, not undiscounted; maturities from a day after the prices; levels
interpolated between the quotes of a group's range and filled with the last of them, or with zero,
where there are none. No law has these expectations. Use it to compare with the published tables.
"""

import math
from collections.abc import Mapping
from datetime import date

import numpy as np
import polars as pl
from jaxtyping import Bool, Float

from slisde.data.chain import DAYS_PER_YEAR, Chain, Slice
from slisde.data.surface.convention import Convention
from slisde.data.surface.groups import GROUPS, Group
from slisde.data.surface.selection import choose_root, choose_slices
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, DigitalBelow

SPOT = 25_280.0
REFERENCE = date(2026, 3, 31)
EXPIRIES = (
    date(2026, 4, 17),
    date(2026, 6, 19),
    date(2026, 9, 18),
    date(2026, 12, 18),
    date(2027, 3, 19),
)
HORIZON = 1.0
SPREAD = 0.02
"""Width of the put spread below the level that stands for a digital."""
SHARE, SEED = 0.25, 0
"""Share of the levels held out, the same at all expiries, and the seed that draws them."""


def as_published_problem(chain: Chain, *, spot: float = SPOT, root: str | None = None) -> Problem:
    """Return the problem of the paper's DAX tables, made of `as_published_targets`.

    It knows the forwards and discounts that the quotes themselves have, by parity: prices were not
    undiscounted, so volatilities are those of the price over the discount.
    """
    slices = _slices(chain, root)
    return Problem(
        as_published_targets(chain, spot=spot, root=root),
        HORIZON,
        1.0,
        {name: group.weight for name, group in GROUPS.items()},
        name=Convention.AS_PUBLISHED.name_of(chain),
        forwards={_maturity(part): part.forward / spot for part in slices},
        discounts={_maturity(part): part.discount for part in slices},
    )


def as_published_targets(
    chain: Chain, *, spot: float = SPOT, root: str | None = None
) -> list[Target]:
    """Return the targets of the paper's DAX tables.

    The levels 0.88 of the far puts and 1.08 of the far calls, which the puts and the calls have
    already, are left out: 95 of the 97 targets of an expiry remain.

    Args:
        chain: the quotes of `dax_2026-02`, with the expiries of the paper.
        spot: S_0.
        root: the product; the one with the shortest name if absent.
    """
    masks = _masks()
    targets: list[Target] = []
    for part in _slices(chain, root):
        quotes = chain.quotes.filter(
            (pl.col("root") == part.root)
            & (pl.col("expiry") == part.expiry)
            & (pl.col("origin") == "quoted")
        ).sort("strike")
        targets += _targets(quotes, _maturity(part), spot, masks)
    return targets


def _slices(chain: Chain, root: str | None) -> list[Slice]:
    return choose_slices(chain, choose_root(chain, root), EXPIRIES)


def _maturity(part: Slice) -> float:
    return (part.expiry - REFERENCE).days / DAYS_PER_YEAR


def _targets(
    quotes: pl.DataFrame, maturity: float, spot: float, masks: Mapping[str, np.ndarray]
) -> list[Target]:
    """Return the targets of one expiry, group by group."""
    targets: list[Target] = []
    earlier: dict[type, list[float]] = {}
    for name, group in GROUPS.items():
        side = "call" if group.functional is Call else "put"
        rows = quotes.filter(pl.col("option_type") == side)
        values = _values(group, rows["strike"].to_numpy() / spot, rows["price"].to_numpy() / spot)
        known = earlier.setdefault(group.functional, [])
        targets += [
            Target(group.functional(maturity, level), value, name, held_out=held)
            for level, value, held in zip(
                group.levels.tolist(), values.tolist(), masks[name].tolist(), strict=True
            )
            if not any(math.isclose(level, other) for other in known)
        ]
        known += group.levels.tolist()
    return targets


def _values(
    group: Group, strikes: Float[np.ndarray, " strike"], prices: Float[np.ndarray, " strike"]
) -> Float[np.ndarray, " level"]:
    if group.functional is DigitalBelow:
        ends = [
            np.interp(group.levels - width, strikes, prices, left=np.nan, right=np.nan)
            for width in (0.0, SPREAD)
        ]
        return np.clip(np.nan_to_num((ends[0] - ends[1]) / SPREAD), 0.0, 1.0)
    inside = (strikes >= group.low) & (strikes <= group.high)
    if inside.sum() < 2:
        return np.zeros(group.size)
    return np.interp(group.levels, strikes[inside], prices[inside])


def _masks() -> dict[str, Bool[np.ndarray, " level"]]:
    generator = np.random.RandomState(SEED)
    masks = {}
    for name, group in GROUPS.items():
        masks[name] = np.zeros(group.size, dtype=bool)
        masks[name][generator.permutation(group.size)[: round(group.size * SHARE)]] = True
    return masks
