"""The conventions behind one function."""

from collections.abc import Sequence
from datetime import date

from slisde.data.chain import Chain
from slisde.data.surface.convention import Convention
from slisde.data.surface.market import market_problem
from slisde.data.surface.paper import paper_problem
from slisde.data.surface.published import SPOT, as_published_problem
from slisde.errors import ProblemError
from slisde.functionals.problem import Problem


def surface_problem(
    chain: Chain,
    convention: Convention = Convention.MARKET,
    *,
    root: str | None = None,
    expiries: Sequence[date] | None = None,
    spot: float | None = None,
    hold_out: bool = True,
) -> Problem:
    """Return the problem of a chain by one of the conventions, all other settings at their defaults.

    Args:
        chain: the quotes.
        convention: market, paper or as-published.
        root: the product; the one with the shortest name if absent.
        expiries: the expiries; some up to about a year if absent, those of the paper as published.
        spot: S_0, where the convention is in units of it and the chain does not have it.
        hold_out: whether every fourth strike is held out; the paper's conventions always do it.
    """
    if convention is Convention.MARKET:
        return market_problem(chain, root=root, expiries=expiries, hold_out=hold_out)
    if not hold_out:
        raise ProblemError(f"the convention `{convention}` always holds strikes out.")
    if convention is Convention.PAPER:
        return paper_problem(chain, spot=spot, root=root, expiries=expiries)
    if expiries is not None:
        raise ProblemError("the convention `as-published` has its own expiries: leave them out.")
    return as_published_problem(chain, spot=SPOT if spot is None else spot, root=root)
