"""Tables as data, and what the formats make of them."""

import re
from pathlib import Path

import pytest

from slisde.errors import SlisdeError, StorageError
from slisde.experiments.tables import latex as latex_module
from slisde.experiments.tables.as_json import as_json
from slisde.experiments.tables.latex import escaped, latex
from slisde.experiments.tables.markdown import grid, replace_between, whole
from slisde.experiments.tables.registry import ENTRIES, build, maker
from slisde.experiments.tables.table import Number, Table, over_seeds, published

RESULTS = Path(__file__).parents[3] / "results"

TABLE = Table(
    "Two of a_b",
    ["", "loss (10⁻⁴)"],
    [["ours", over_seeds([1.0, 3.0], ".1f")], ["theirs", Number(0.5, ".0%")]],
    ["Paper: tab:a_b."],
)


def test_a_mean_has_the_standard_error_over_seeds():
    three = over_seeds([1.0, 2.0, 3.0], ".3f")
    assert isinstance(three, Number)
    assert (three.value, three.seeds) == (2.0, 3)
    assert three.error == pytest.approx(3.0**-0.5)
    assert str(over_seeds([1.0], ".3f")) == "1.000 (1 seed)"
    assert over_seeds([], ".3f") == "not run yet"
    assert str(published((0.852, 0.168), ".3f")) == "0.852 ± 0.168"
    assert published(None, ".3f") == ""


def test_markdown_has_the_numbers_rounded_between_title_and_notes():
    rows = "|  | loss (10⁻⁴) |\n|---|---:|\n| ours | 2.0 ± 1.0 (2 seeds) |\n| theirs | 50% |"
    assert grid(TABLE) == rows
    assert whole(TABLE) == f"**Two of a_b**\n\n{rows}\n\nPaper: tab:a_b."


def test_latex_has_the_rules_of_booktabs_and_no_bare_specials():
    text = latex(TABLE)
    assert r"\caption{Two of a\_b}" in text
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")
    assert r"ours & 2.0 $\pm$ 1.0 (2 seeds) \\" in text
    assert r"theirs & 50\% \\" in text
    assert r" & loss (10$^{-4}$) \\" in text
    assert escaped("W₁ of `a&b`") == r"W$_{1}$ of \texttt{a\&b}"


def test_json_keeps_numbers_whole_and_drops_what_is_not_known():
    ours, theirs = as_json(TABLE)["rows"]
    assert ours == ["ours", {"value": 2.0, "standard_error": 1.0, "seeds": 2}]
    assert theirs == ["theirs", {"value": 0.5}]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_table_is_made_from_the_committed_records_or_says_how_to_run_it(name):
    studies = [study for study, _ in ENTRIES[name].parts]
    if not any((RESULTS / f"{study}.jsonl").exists() for study in studies):
        with pytest.raises(StorageError, match=re.escape(f"`{maker(studies[0])}`")):
            build(name, RESULTS)
        return
    for table in build(name, RESULTS):
        assert table.rows
        assert table.notes
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert any(isinstance(cell, Number) for row in table.rows for cell in row)
        assert latex(table).isascii(), set(latex(table)) - set(latex_module.SYMBOLS)


def test_a_document_without_its_marks_is_named():
    assert replace_between("a<!-- x -->old<!-- /x -->b", "x", "new") == (
        "a<!-- x -->\nnew\n<!-- /x -->b"
    )
    with pytest.raises(SlisdeError, match="<!-- /x -->"):
        replace_between("a<!-- x -->", "x", "new")
