"""Tables of surfaces: scores of held-out quotes, means over seeds, and what has not been run."""

import pytest

from slisde.experiments.tables.surfaces import WHOLE, beside, held_out, whole


def fit(surface, fitter, rmse, inside=None, seed=None):
    score = {"rmse": rmse, "inside": inside, "quotes": 4}
    record = {"surface": surface, "fitter": fitter, "seconds": 1.0}
    record |= {"fitted": score, "held_out": score}
    if seed is None:
        return record
    return {**record, "seed": seed, "settings": {"train": {"steps": 3000, "paths": 256}}}


RIVALS = [fit("a", "heston", 0.5, 0.3), fit("a", "bates", 0.2, 0.5)]
OURS = [fit("a", "slisde", 0.1, 0.9, seed=0), fit("a", "slisde", 0.3, 0.7, seed=1)]


def texts(table):
    return [[str(cell) for cell in row] for row in table.rows]


def test_our_fits_are_means_over_seeds_with_their_error():
    assert texts(held_out([*RIVALS, *OURS]))[2][:4] == [
        "a, SLiSDE",
        "0.200 ± 0.100 (2 seeds)",
        "0.200 ± 0.100 (2 seeds)",
        "80% ± 10% (2 seeds)",
    ]


def test_the_short_table_has_the_models_beside_each_other():
    assert texts(beside([*RIVALS, *OURS])) == [
        ["a: error, vol points", "0.50", "0.20", "0.20"],
        ["a: inside bid/ask", "30%", "50%", "80%"],
    ]


def test_the_short_table_leaves_out_what_not_all_have_fitted():
    assert texts(beside(RIVALS)) == []
    one_sided = [{**each, "held_out": {"rmse": 0.1, "inside": None}} for each in [*RIVALS, *OURS]]
    assert len(beside(one_sided).rows) == 1


def test_a_surface_that_is_fitted_whole_is_scored_by_squared_vol_points():
    records = [fit(WHOLE, "bates", 3.0), *RIVALS]
    assert texts(whole(records)) == [["Bates", "36.0", "36.6"]]
    assert all(WHOLE not in row[0] for row in texts(held_out(records)))


def test_every_way_of_training_is_said():
    hedged = {"train": {"steps": 10, "paths": 4, "hedged": True, "whitening": 0.1}}
    other = {**OURS[1], "settings": hedged}
    assert held_out([OURS[0], other]).notes[-1] == (
        "SLiSDE is trained by 3,000 steps of 256 paths (a); 10 steps of 4 paths, hedged, whitened (a)."
    )


@pytest.mark.parametrize("table", [held_out, beside, whole])
def test_no_records_make_an_empty_table(table):
    assert table([]).rows == []
