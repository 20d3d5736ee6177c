"""Tables of rare events show what their records say."""

from slisde.experiments.tables.rare import full, short


def record(variant: str, seed: int, error: float, training: str = "paper"):
    events = [
        {
            "nominal": nominal,
            "probability": nominal,
            "errors": {
                str(budget): {
                    "is": error,
                    "is_spread": 0.5 * error,
                    "is_mean": 0.8 * nominal,
                    "truncated": error,
                    "snis": 2.0 * error,
                }
                for budget in (256, 1024, 4096)
            },
            "pooled": {"mean_weight": 0.99, "hit_rate": 0.5},
        }
        for nominal in (1e-2, 1e-3, 1e-4)
    ]
    return {
        "variant": variant,
        "seed": seed,
        "grid": 512,
        "training": training,
        "rounds": 16,
        "polish": 128 if variant == "paper" else 32,
        "reference_paths": 1000,
        "pool": 2000,
        "events": events,
    }


COST = {"seconds": {"plain": 0.2, "last": 0.25, "all": 0.3, "guided": 0.4}}
RECORDS = [
    record("paper", 0, 0.2),
    record("paper", 1, 0.4),
    record("guided", 0, 0.1),
    record("paper", 0, 0.7, training="ours"),
    COST,
]


def row(table, name: str) -> list[str]:
    (found,) = [row for row in table.rows if row[0] == name]
    return [str(cell) for cell in found]


def test_errors_are_averaged_over_models_beside_the_papers():
    table = short(RECORDS)
    cells = row(table, "the paper's tilt, weighted")
    assert cells[1] == "0.16 ± 0.02"
    assert cells[2].startswith("0.30 ± 0.10")
    assert row(table, "guided, branching")[2].startswith("0.10")
    assert row(table, "all noise")[2] == "not run yet"
    assert row(table, "the paper's tilt: spread of the estimates")[4].startswith("0.15")
    assert row(table, "guided, branching: hit rate")[2].startswith("50%")
    ratio = row(table, "guided, branching: mean estimate over the known one")
    assert ratio[6].startswith("0.80")


def test_variants_are_set_against_the_papers_tilt_on_the_same_models_at_equal_cost():
    cells = row(
        short([*RECORDS, record("all", 0, 0.3)]), "all noise, over the paper's tilt at equal cost"
    )
    # 1.5 times the error of model 0, at 0.3 / 0.25 of the cost
    assert cells[2].startswith(f"{1.5 * (0.3 / 0.25) ** 0.5:.2f}")
    unpaired = row(
        short([*RECORDS, record("all", 7, 0.3)]), "all noise, over the paper's tilt at equal cost"
    )
    assert unpaired[2] == "not run yet"


def test_models_of_our_training_stand_apart():
    table = short(RECORDS)
    assert row(table, "models of our training: the paper's tilt")[2].startswith("0.70")
    assert row(table, "models of our training: guided, branching")[2] == "not run yet"
    names = [str(cells[0]) for cells in short(RECORDS[:3]).rows]
    assert not any(name.startswith("models of our training") for name in names)


def test_the_cost_of_a_path_is_said_relative_to_a_plain_one():
    notes = " ".join(short(RECORDS).notes)
    assert "the paper's tilt 1.25" in notes
    assert "a guided one that branches 2.00" in notes
    assert "1,000 plain paths" in notes


def test_the_length_of_training_is_said():
    assert "at the event, 16 + 128 of them" in " ".join(short(RECORDS).notes)
    shorter = {**record("paper", 2, 0.1), "polish": 32}
    notes = " ".join(short([*RECORDS, shorter]).notes)
    assert "16 + 128 or 16 + 32 of them" in notes


def test_all_budgets_and_estimators_are_shown():
    table = full(RECORDS)
    assert len(table.rows) == 3 * 4
    cells = row(table, "p ≈ 10⁻³, self-normalised")
    assert cells[2].startswith("0.60")
    assert cells[3].startswith("0.20")


def test_a_budget_is_averaged_over_the_models_that_have_it():
    whole, part = record("guided", 0, 0.1), record("guided", 1, 0.3)
    for event in part["events"]:
        del event["errors"]["256"]
    cells = row(full([whole, part]), "p ≈ 10⁻², weighted")
    assert cells[3] == "0.10 (1 seed)"
    assert cells[6].startswith("0.20 ±")
    assert row(full([part]), "p ≈ 10⁻², weighted")[3] == "not run yet"
