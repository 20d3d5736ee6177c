"""Contract symbols of the Options Clearing Corporation: root, yymmdd, C or P, strike in thousandths."""

import polars as pl

from slisde.data.layouts.table import as_option_types

PATTERN = r"^(?<root>.+?)\s*(?<day>\d{6})(?<letter>[CP])(?<strike>\d{8})$"


def occ_symbols(symbols: pl.Series) -> dict[str, pl.Series]:
    """Return root, expiry and option type of symbols such as SPXW260202C02800000."""
    fields = symbols.str.extract_groups(PATTERN).struct.unnest()
    return {
        "root": fields["root"],
        "expiry": fields["day"].str.to_date("%y%m%d", strict=False),
        "option_type": as_option_types(fields["letter"]),
    }
