"""What a figure says of a target when pointed at."""

import math

from slisde.report.figures.style import plain
from slisde.report.notation import measured, short
from slisde.report.summary import TargetRow


def hover(row: TargetRow) -> str:
    """Return the lines about one target."""
    error = row.standard_error
    lines = [
        f"<b>{plain(row.name)}</b>" + (" (held out)" if row.held_out else ""),
        f"target {measured(row.value, error)}",
        f"model {measured(row.estimate, error)} ± {measured(error, error)}",
        f"error {measured(row.error, error, signed=True)}",
    ]
    if math.isfinite(row.z):
        lines[-1] += f", z = {short(row.z, 2)}"
    if row.quoted:
        bid, ask = (math.nan if side is None else side for side in (row.bid, row.ask))
        lines.append(f"bid {measured(bid, error)}, ask {measured(ask, error)}")
    return "<br>".join(lines)
