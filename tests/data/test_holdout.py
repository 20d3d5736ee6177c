import numpy as np
import pytest

from slisde.data.holdout import every_fourth


@pytest.mark.parametrize("strikes", range(40))
def test_a_quarter_inside_is_held_out_and_no_two_neighbours(strikes):
    for turn in range(6):
        held = every_fourth(strikes, turn)
        positions = np.flatnonzero(held)
        assert held.size == strikes
        assert np.all(np.diff(positions) == 4)
        assert set(positions) <= set(range(1, strikes - 1))
        if strikes >= 3:
            assert abs(positions.size - strikes / 4) <= 1.25


def test_neighbouring_expiries_hold_out_other_strikes():
    firsts = [int(np.flatnonzero(every_fourth(50, turn))[0]) for turn in range(5)]
    assert firsts == [1, 3, 2, 4, 1]
