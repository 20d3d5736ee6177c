"""The `paper` convention: the five groups in units of the spot, at quoted strikes only.

Prices are undiscounted, so that the targets are expectations of one law of Y_T = S_T / S_0, whose
mean is F / S_0.
"""

from collections.abc import Sequence
from datetime import date

import numpy as np
from jaxtyping import Float, Int

from slisde.data.chain import Chain
from slisde.data.holdout import every_fourth
from slisde.data.surface.convention import Convention
from slisde.data.surface.groups import GROUPS, Group
from slisde.data.surface.selection import (
    OutOfTheMoney,
    choose_root,
    choose_slices,
    out_of_the_money,
)
from slisde.errors import ProblemError
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, DigitalBelow, Put

EXPIRIES = 5
HALF_WIDTH = 0.01
"""h of eq:digital-payoff: a digital at K is the slope of the puts between about K − h and K + h."""


def paper_problem(
    chain: Chain,
    *,
    spot: float | None = None,
    root: str | None = None,
    expiries: Sequence[date] | None = None,
) -> Problem:
    """Return the five groups of the paper, every fourth strike of a group and an expiry held out.

    Levels are snapped to the nearest quoted strike; those outside the quoted strikes are left out,
    and so is a strike that the group, or one before it with the same payoff, has already. A price in
    the money is that of the other side, moved by parity. Calls and puts share their strikes and what
    is held out of them.

    Args:
        chain: the quotes.
        spot: S_0; the chain's own if absent.
        root: the product; the one with the shortest name if absent.
        expiries: the expiries; up to five between a month and a year if absent.
    """
    level = spot_level(chain, spot)
    slices = [
        out_of_the_money(chain, part).in_units_of(level)
        for part in choose_slices(chain, choose_root(chain, root), expiries, EXPIRIES)
    ]
    targets: list[Target] = []
    for turn, part in enumerate(slices):
        targets += _targets(part, turn)
    present = {target.group for target in targets}
    return Problem(
        targets,
        max(part.maturity for part in slices),
        1.0,
        {name: group.weight for name, group in GROUPS.items() if name in present},
        name=Convention.PAPER.name_of(chain),
        forwards={part.maturity: part.forward for part in slices},
    )


def spot_level(chain: Chain, spot: float | None) -> float:
    """Return S_0, given or the chain's own."""
    level = chain.spot if spot is None else spot
    if level is None:
        raise ProblemError(f"{chain.name} does not have the level of the underlying: give `spot`.")
    if not (np.isfinite(level) and level > 0.0):
        raise ProblemError(f"the spot of {chain.name} is {level:g}: it must be positive.")
    return float(level)


def _targets(quotes: OutOfTheMoney, turn: int) -> list[Target]:
    """Return the targets of one expiry, group by group."""
    if quotes.strike.size == 0:
        raise ProblemError(f"there is no quote out of the money of {quotes.expiry}.")
    targets: list[Target] = []
    taken: dict[type, set[int]] = {Call: set(), Put: set()}
    for name, group in GROUPS.items():
        if group.functional is DigitalBelow:
            free = np.array(sorted(set(range(quotes.strike.size)) - taken[Put]), dtype=int)
            targets += _digitals(quotes, free, name, group, turn)
            continue
        used = taken[group.functional]
        chosen = [index for index in _snapped(quotes, group).tolist() if index not in used]
        used.update(chosen)
        shift = quotes.call_shift if group.functional is Call else quotes.put_shift
        for index, held_out in zip(chosen, every_fourth(len(chosen), turn).tolist(), strict=True):
            price, bid, ask = (
                float(column[index] + shift[index])
                for column in (quotes.price, quotes.bid, quotes.ask)
            )
            targets.append(
                Target(
                    group.functional(quotes.maturity, float(quotes.strike[index])),
                    price,
                    name,
                    held_out=held_out,
                    bid=None if np.isnan(bid) else bid,
                    ask=None if np.isnan(ask) else ask,
                )
            )
    return targets


def _snapped(quotes: OutOfTheMoney, group: Group) -> Int[np.ndarray, " strike"]:
    """Return the strikes nearest to the levels inside the quoted range, each once."""
    levels = group.levels
    levels = levels[(levels >= quotes.strike[0]) & (levels <= quotes.strike[-1])]
    return np.unique(_nearest(quotes.strike, levels))


def _digitals(
    quotes: OutOfTheMoney, free: np.ndarray, name: str, group: Group, turn: int
) -> list[Target]:
    """Return slopes of put prices, each at the middle of its two strikes.

    Only strikes that are not targets themselves are used: a fitted digital would otherwise tell the
    price of a put that is held out.
    """
    strikes, puts = quotes.strike[free], (quotes.price + quotes.put_shift)[free]
    if strikes.size < 2:
        return []
    levels = group.levels
    left, right = (_nearest(strikes, levels + side * HALF_WIDTH) for side in (-1.0, 1.0))
    width = strikes[right] - strikes[left]
    around = (strikes[left] < levels) & (levels < strikes[right]) & (width <= 4.0 * HALF_WIDTH)
    left, right = np.unique([left[around], right[around]], axis=1)
    slopes = (puts[right] - puts[left]) / (strikes[right] - strikes[left])
    middles = 0.5 * (strikes[left] + strikes[right])
    held_out = every_fourth(middles.size, turn)
    return [
        Target(DigitalBelow(quotes.maturity, strike), value, name, held_out=held)
        for strike, value, held in zip(
            middles.tolist(), slopes.tolist(), held_out.tolist(), strict=True
        )
    ]


def _nearest(
    strikes: Float[np.ndarray, " strike"], levels: Float[np.ndarray, " level"]
) -> Int[np.ndarray, " level"]:
    return np.abs(strikes - levels[:, None]).argmin(axis=1)
