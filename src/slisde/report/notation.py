"""How numbers are written in a report."""

import math
from collections.abc import Iterable

ABSENT = "—"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def short(value: float, digits: int = 3) -> str:
    """Return a number to a few significant digits.

    >>> short(0.0123456), short(-3.21e-5), short(float("nan"))
    ('0.0123', '−3.21 × 10⁻⁵', '—')
    """
    if not math.isfinite(value):
        return ABSENT
    if value == 0.0 or 1e-3 <= abs(value) < 1e5:
        return _minus(f"{value:#.{digits}g}".rstrip("."))
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{_minus(mantissa)} × {_power(int(exponent))}"


def plus_minus(value: float, standard_error: float) -> str:
    """Return a number and its error in one unit; an exact number stands alone.

    >>> plus_minus(1.234e-6, 4.2e-7), plus_minus(0.5123, 0.0012), plus_minus(0.04, 0.0)
    ('(1.23 ± 0.42) × 10⁻⁶', '0.5123 ± 0.0012', '0.0400')
    """
    if standard_error == 0.0 or not (math.isfinite(value) and math.isfinite(standard_error)):
        return short(value)
    largest = max(abs(value), standard_error)
    if 1e-3 <= largest < 1e5:
        return f"{measured(value, standard_error)} ± {measured(standard_error, standard_error)}"
    exponent = math.floor(math.log10(largest))
    scaled, error = value / 10.0**exponent, standard_error / 10.0**exponent
    both = f"{measured(scaled, error)} ± {measured(error, error)}"
    return f"({both}) × {_power(exponent)}"


def measured(value: float, standard_error: float, *, signed: bool = False) -> str:
    """Return a number to the second digit of its error, so that a column of them lines up.

    >>> measured(0.0431978, 0.000031), measured(0.25, 0.0), measured(2e-4, 3e-5, signed=True)
    ('0.043198', '0.25', '+0.000200')
    """
    if not math.isfinite(value):
        return ABSENT
    sign = "+" if signed else ""
    if not (math.isfinite(standard_error) and standard_error > 0.0):
        return _minus(f"{value:{sign}.6g}")
    decimals = max(0, 1 - math.floor(math.log10(standard_error)))
    if decimals > 9:
        return _minus(f"{value:{sign}.2e}")
    return _minus(f"{value:{sign}.{decimals}f}")


def common_unit(values: Iterable[float]) -> tuple[float, str]:
    """Return the power of ten that the largest of some sizes has, and its name.

    >>> common_unit([1.4e-3, 4e-5]), common_unit([0.2, 0.001])
    ((0.001, '10⁻³'), (1.0, ''))
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    exponent = math.floor(math.log10(largest)) if largest > 0.0 else 0
    return (1.0, "") if -2 < exponent < 4 else (10.0**exponent, _power(exponent))


def percent(share: float) -> str:
    """Return a share in per cent; only a whole is written as 100 %, only nothing as 0 %.

    >>> percent(0.962), percent(0.9996), percent(1.0)
    ('96 %', '99.9 %', '100 %')
    """
    if not math.isfinite(share):
        return ABSENT
    if 0.0 < share < 0.005 or 0.995 <= share < 1.0:
        return f"{min(max(100.0 * share, 0.1), 99.9):.1f} %"
    return f"{100.0 * share:.0f} %"


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def _minus(text: str) -> str:
    return text.replace("-", "−")
