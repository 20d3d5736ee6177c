"""LaTeX tables with the rules of booktabs, in plain ASCII."""

import re
from collections.abc import Sequence

from slisde.experiments.tables.table import Cell, Table

SYMBOLS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "√": r"$\surd$",
    "κ": r"$\kappa$",
    "ρ": r"$\rho$",
    "≤": r"$\leq$",
    "σ": r"$\sigma$",
    "ς": r"$\varsigma$",
    "·": r"$\cdot$",
    "–": "--",
    "—": "---",
    "’": "'",
    "…": r"\ldots{}",
}
RAISED = dict(zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))


def latex(table: Table) -> str:
    """Return a table environment; the document needs the package booktabs."""
    body = [_line(row) for row in table.rows]
    notes = [r"\par\smallskip", *(rf"{escaped(note)}\par" for note in table.notes)]
    return "\n".join(
        [
            r"\begin{table}[ht]",
            r"\centering",
            r"\footnotesize",
            rf"\caption{{{escaped(table.title)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
            r"\toprule",
            _line(table.columns),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *(notes if table.notes else ()),
            r"\end{table}",
        ]
    )


def escaped(text: str) -> str:
    r"""Return text as LaTeX shows it; what stands between backticks is code.

    >>> escaped("50 % of `a_b` (10⁻⁴)")
    '50 \\% of \\texttt{a\\_b} (10$^{-4}$)'
    """
    text = "".join(SYMBOLS.get(letter, letter) for letter in text)
    text = _scripts(text, RAISED, "^")
    text = _scripts(text, LOWERED, "_")
    return re.sub("`([^`]*)`", r"\\texttt{\1}", text)


def _line(cells: Sequence[Cell]) -> str:
    return " & ".join(escaped(str(cell)) for cell in cells) + r" \\"


def _scripts(text: str, letters: dict[str, str], sign: str) -> str:
    plain = str.maketrans(letters)
    return re.sub(f"[{''.join(letters)}]+", lambda m: f"${sign}{{{m[0].translate(plain)}}}$", text)
