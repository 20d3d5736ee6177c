"""`slisde quotes`: what is in a file of option quotes."""

import math
from collections import Counter
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slisde.cli.output import Json, show
from slisde.errors import ArgumentError

if TYPE_CHECKING:
    from slisde.data.chain import Chain

SHOWN_VIOLATIONS = 5


def quotes(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv or .parquet file.")],
    quote_date: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="Day of the quotes. [default: the file's]"),
    ] = None,
    spot: Annotated[float | None, typer.Option(help="Level of the underlying.")] = None,
    rates: Annotated[
        str | None,
        typer.Option(metavar="R[,R…]", help="Zero rate, or one per expiry. [default: by parity]"),
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the clean quotes, .csv or .parquet.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what is in a chain: slices, forwards, discounts, and why quotes were dropped.

    Example: slisde quotes spx.csv --quote-date 2026-01-30 --to clean.parquet
    """
    from slisde.data.quotes import read_chain
    from slisde.data.quotes_file import check_destination, write_quotes

    if to is not None:
        check_destination(Path(to))
    chain = read_chain(
        file,
        quote_date=None if quote_date is None else _date(quote_date),
        spot=spot,
        rates=None if rates is None else _rates(rates),
    )
    if to is not None:
        write_quotes(Path(to), chain)
    summary = _summary(chain) | ({} if to is None else {"to": to})
    if json:
        show(summary, as_json=True)
    else:
        _show(chain, summary)


def _summary(chain: "Chain") -> dict[str, Any]:
    return {
        "file": chain.name,
        "layout": chain.layout,
        "quote_date": str(chain.quote_date.day),
        "quote_date_source": chain.quote_date.source.value,
        "quote_date_uncertainty_days": chain.quote_date.uncertainty_days,
        "spot": chain.spot,
        "rows": chain.rows,
        "used": chain.used,
        "dropped": dict(chain.dropped),
        "made_by_parity": chain.quotes.height - chain.used,
        "slices": [
            {
                "root": part.root,
                "expiry": str(part.expiry),
                "t_years": part.t_years,
                "forward": part.forward,
                "forward_se": part.forward_se,
                "discount": part.discount,
                "discount_se": part.discount_se,
                "zero_rate": part.zero_rate,
                "pairs": part.pairs,
                "quotes": part.quotes,
            }
            for part in chain.slices
        ],
        "arbitrage": {
            "counts": dict(Counter(each.kind.value for each in chain.arbitrage)),
            "violations": [
                {
                    "kind": each.kind.value,
                    "root": each.root,
                    "expiry": str(each.expiry),
                    "strike": each.strike,
                    "excess": each.excess,
                }
                for each in chain.arbitrage
            ],
        },
        "warnings": list(chain.warnings),
    }


def _show(chain: "Chain", summary: dict[str, Any]) -> None:
    day = chain.quote_date
    error = f", ± {day.uncertainty_days:.1f} days" if day.uncertainty_days else ""
    facts = {
        "file": chain.name,
        "layout": chain.layout,
        "quote date": f"{day.day} ({day.source}{error})",
        "spot": "not in the file" if chain.spot is None else f"{chain.spot:,.2f}",
        "rows": chain.rows,
        "used": chain.used,
        "made by parity": summary["made_by_parity"],
        "dropped": sum(chain.dropped.values()),
    }
    show(facts | {f"  {reason}": count for reason, count in chain.dropped.items()}, as_json=False)
    _show_slices(chain)
    _show_arbitrage(chain)
    for warning in chain.warnings:
        print(f"warning: {warning}")
    if "to" in summary:
        print(f"written to {summary['to']}")


def _show_slices(chain: "Chain") -> None:
    width = max(len("root"), *(len(part.root) for part in chain.slices))
    print(
        f"\n{'root':<{width}}  {'expiry':<10}  {'years':>6}  {'forward':>12} {'±':>8}  "
        f"{'discount':>8}  {'rate':>7}  {'quotes':>6}"
    )
    for part in chain.slices:
        error = "given" if math.isnan(part.forward_se) else f"{part.forward_se:.2g}"
        print(
            f"{part.root:<{width}}  {part.expiry}  {part.t_years:>6.3f}  {part.forward:>12,.3f} "
            f"{error:>8}  {part.discount:>8.6f}  {part.zero_rate:>7.2%}  {part.quotes:>6,}"
        )


def _show_arbitrage(chain: "Chain") -> None:
    counts = Counter(each.kind.value for each in chain.arbitrage)
    found = ", ".join(f"{kind} {count}" for kind, count in counts.items()) or "none"
    print(f"\narbitrage beyond the half-spreads: {found}")
    for each in chain.arbitrage[:SHOWN_VIOLATIONS]:
        place = f"{each.root} {each.expiry} strike {each.strike:,g}"
        print(f"  {each.kind:<8}  {place}, by {each.excess:.2g} of the forward")
    if len(chain.arbitrage) > SHOWN_VIOLATIONS:
        print(f"  and {len(chain.arbitrage) - SHOWN_VIOLATIONS} more, all with --json")


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        reason = "it is a date"
        raise ArgumentError("quote-date", text, "must look like 2026-01-30", reason) from None


def _rates(text: str) -> float | list[float]:
    try:
        rates = [float(part) for part in text.split(",")]
    except ValueError:
        reason = "they are continuously compounded zero rates"
        raise ArgumentError("rates", text, "must look like 0.02 or 0.02,0.021", reason) from None
    return rates[0] if len(rates) == 1 else rates
