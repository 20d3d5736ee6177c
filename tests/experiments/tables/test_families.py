"""Tables that are made from sweeps: means, ratios, and what failed or was not run."""

import tomllib
from pathlib import Path

import pytest

from slisde.experiments.tables import contests, families, structure
from slisde.experiments.tables.table import NOT_RUN, Number

CONFIGS = Path(__file__).parents[3] / "configs"


def record(row: str, seed: int, loss: float, seconds: float = 0.5, parameters: int = 1000):
    groups = {"barrier": {"mae": 2e-2 * loss}, "far_puts": {"mse": 1e-2 * loss}}
    published = {
        "loss": loss,
        "groups": groups,
        "held_out_loss": loss,
        "held_out_groups": groups,
    }
    population = {
        "paths": 4096,
        "debiased_loss": loss / 2,
        "groups": {"barrier": {"mae": 1.0 - loss}},
    }
    return {
        "row": row,
        "seed": seed,
        "config": {"train": {"steps": 7, "paths": 8}, "grid": {"steps": 9}},
        "parameters": parameters,
        "seconds_per_step": seconds,
        "metrics": {"published": published, "population": population},
    }


def test_a_row_has_the_mean_over_its_seeds_beside_the_paper():
    records = [record("SLiSDE, L = 2", 0, 1e-4), record("SLiSDE, L = 2", 1, 3e-4)]
    table = families.table(contests.ON_TOY, records)
    row = next(row for row in table.rows if row[0] == "SLiSDE, L = 2")
    shown = [str(cell) for cell in row]
    assert shown[3:5] == ["0.85 ± 0.17", "2.00 ± 1.00 (2 seeds)"]
    assert shown[7] == "1.00 ± 0.50 (2 seeds)"
    assert shown[-1] == "500"
    assert "7 steps of 8 paths on 9 time steps" in table.notes[0]
    assert table.notes[0].endswith("2,048 paths as in the paper, the population by 4,096.")
    other = next(row for row in table.rows if row[0] == "SLiCE, L = 3")
    assert other[4] == NOT_RUN


def test_the_order_of_the_families_is_said_beside_the_papers():
    losses = {"Neural SDE, L = 2": 3e-4, "SLiCE, L = 2": 1e-4, "SLiSDE, L = 2": 2e-4}
    records = [record(row, 0, loss) for row, loss in losses.items()]
    notes = families.table(contests.ON_TOY, [*records, record("SLiCE, L = 3", 0, 1e-4)]).notes
    (order,) = [note for note in notes if "from best to worst" in note]
    assert order == (
        "L = 2, from best to worst by population loss: SLiCE, SLiSDE, Neural SDE (best SLiSDE behind SLiCE by 0.50); "
        "by population barrier MAE: Neural SDE, SLiSDE, SLiCE (best SLiSDE behind Neural SDE by 0.01); the paper's by "
        "loss: SLiSDE, Neural SDE, SLiCE."
    )


def test_a_row_that_the_paper_does_not_have_is_ordered_with_the_others():
    losses = {"Neural SDE, L = 2": 3e-4, "SLiCE, L = 2": 2e-4, "SLiSDE, L = 2": 4e-4}
    added = "SLiSDE, small offsets, L = 2"
    records = [record(row, 0, loss) for row, loss in {**losses, added: 1e-4}.items()]
    table = families.table(contests.ON_TOY, records)
    (order,) = [note for note in table.notes if "from best to worst" in note]
    assert order.startswith(
        "L = 2, from best to worst by population loss: SLiSDE with small offsets, SLiCE, Neural SDE, SLiSDE "
        "(best SLiSDE ahead of SLiCE by 0.50);"
    )
    names = [row[0] for row in table.rows]
    assert names.index(added) == 3
    cells = table.rows[3]
    assert [str(cell) for cell in (cells[1], cells[3], cells[4])] == ["", "", "1.00 (1 seed)"]


def test_rows_of_our_own_are_ordered_as_soon_as_there_is_one_to_compare_with():
    ours = record("SLiSDE, gentle start, d = 64, L = 3", 0, 1e-4)
    slice_ = record("SLiCE, L = 3", 0, 3e-4)

    def orders(*records):
        return [
            note
            for note in families.table(contests.ON_TOY_LONGER, records).notes
            if "from best to worst" in note
        ]

    assert not orders(slice_)
    (order,) = orders(ours, slice_)
    assert order.startswith(
        "L = 3, from best to worst by population loss: SLiSDE with gentle start, d = 64, SLiCE "
        "(best SLiSDE ahead of SLiCE by 1.000); by population barrier MAE: "
    )
    assert "the paper's" not in order


def test_barrier_errors_are_shown_with_the_noise_of_their_paths():
    note = next(
        n
        for n in families.table(contests.ON_TOY, [record("SLiCE, L = 3", 0, 1e-4)]).notes
        if "noise of" in n
    )
    assert "happens 20% of the time has a standard error of 0.62 with 4,096" in note
    assert not any("noise of its own" in n for n in families.table(contests.ON_TOY, []).notes)


def test_a_lead_has_the_standard_error_of_a_difference():
    losses = {
        "Neural SDE, L = 2": (8e-4, 8e-4),
        "SLiCE, L = 2": (4e-4, 8e-4),
        "SLiSDE, L = 2": (1e-4, 3e-4),
    }
    records = [
        record(row, seed, loss) for row, pair in losses.items() for seed, loss in enumerate(pair)
    ]
    (order,) = [
        note
        for note in families.table(contests.ON_TOY, records).notes
        if "from best to worst" in note
    ]
    assert (
        "(best SLiSDE ahead of SLiCE by 2.00 ± 1.12)" in order
    )  # √(1² + 0.5²), half losses of 2 and 6


def test_fits_that_failed_are_counted_and_shown():
    lost = {**record("SLiCE, L = 3", 0, 1.0), "error": "training diverged"}
    del lost["metrics"], lost["parameters"], lost["seconds_per_step"]
    table = families.table(contests.ON_SPX, [lost, record("SLiSDE, L = 2", 0, 1e-4)])
    row = next(row for row in table.rows if row[0] == "SLiCE, L = 3")
    assert row[4] == "failed to train"
    assert "1 fits failed to train" in table.notes[0]


@pytest.mark.parametrize(
    ("make", "row"), [(structure.noise, "additive"), (structure.blocks, "block 4")]
)
def test_ablations_are_ratios_to_the_reference(make, row):
    records = [
        record("reference", 0, 2e-4, 0.4, 100),
        record("reference", 1, 4e-4, 0.4, 100),
        record(row, 0, 6e-4, 0.2, 50),
    ]
    table = make(records)
    cells = next(cells for cells in table.rows if cells[0] == row)
    ours = [cell.value for cell in cells[2::2] if isinstance(cell, Number)]
    assert ours == pytest.approx([0.5, 2.0, 2.0, 0.5])
    assert isinstance(cells[-1], Number)
    assert cells[-1].value == pytest.approx(2.0)
    assert sum(cell == NOT_RUN for cells in table.rows for cell in cells) > 0


def test_a_table_says_where_its_training_is_not_the_papers():
    plain, ours = record("SLiSDE, L = 2", 0, 1e-4), record("SLiSDE, L = 2", 0, 1e-4)
    ours["config"]["train"] |= {"memory": 0.9, "straight_through": True, "ema": None, "seed": 3}
    assert "otherwise the paper's training;" in families.table(contests.ON_TOY, [plain]).notes[0]
    note = families.table(contests.ON_TOY_OURS, [ours]).notes[0]
    assert "the paper's training but for memory = 0.9, straight_through = true;" in note


def test_a_table_does_not_say_of_all_rows_what_holds_for_some():
    ours, other = record("SLiSDE, L = 2", 0, 1e-4), record("SLiCE, L = 2", 0, 1e-4)
    for each in (ours, other):
        each["config"]["train"] |= {"memory": "auto", "beta2": 0.999, "whitening": None}
    ours["config"]["train"] |= {"beta2": 0.98, "whitening": 0.1}
    for records in ([ours, other], [other, ours]):
        note = families.table(contests.ON_TOY_QUIET, records).notes[0]
        assert 'training but for memory = "auto", and beta2, whitening in some rows;' in note
    only = families.table(contests.ON_TOY_QUIET, [ours]).notes[0]
    assert 'but for beta2 = 0.98, memory = "auto", whitening = 0.1;' in only


@pytest.mark.parametrize(
    ("grid", "contest"),
    [
        ("families-toy", contests.ON_TOY),
        ("families-toy-ours", contests.ON_TOY_OURS),
        ("families-toy-quiet", contests.ON_TOY_QUIET),
        ("families-toy-quiet-512", contests.ON_TOY_QUIET_LONGER),
        ("families-toy-auto", contests.ON_TOY_AUTO),
        ("families-toy-512", contests.ON_TOY_LONGER),
        ("families-dax", contests.ON_DAX),
        ("families-spx", contests.ON_SPX),
    ],
)
def test_every_row_of_a_table_is_one_of_its_grid(grid, contest):
    rows = tomllib.loads((CONFIGS / f"{grid}.toml").read_text(encoding="utf-8"))["rows"]
    assert sorted(row["name"] for row in rows) == sorted(contest.rows)
