"""Forwards and discounts of chains where they are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slisde.data.parity import Pairs, fit_lines

STRIKES = np.arange(80.0, 121.0, 1.0)


def gaps(forward, discount, strikes=STRIKES):
    return discount * (forward - strikes)


def pairs_of(*slices, width=0.1):
    """Return the pairs of slices, each a tuple of strikes and gaps."""
    index = np.repeat(np.arange(len(slices)), [strikes.size for strikes, _ in slices])
    strikes, gap = (np.concatenate(each) for each in zip(*slices, strict=True))
    return Pairs(index, strikes, gap, np.full(gap.size, width))


@given(
    forward=st.floats(0.01, 1e5),
    discount=st.floats(0.3, 1.1),
    spread=st.floats(0.02, 2.0),
    count=st.integers(3, 60),
)
@settings(max_examples=60, deadline=None)
def test_exact_prices_give_the_exact_line(forward, discount, spread, count):
    strikes = forward * np.linspace(1.0 - 0.4 * spread, 1.0 + spread, count)
    lines = fit_lines(
        pairs_of((strikes, gaps(forward, discount, strikes)), width=1e-3 * forward), 1
    )
    assert lines.forward[0] == pytest.approx(forward, rel=1e-10)
    assert lines.discount[0] == pytest.approx(discount, rel=1e-9)
    assert lines.pairs[0] == count


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.0, 0.3), sign=st.sampled_from([-1.0, 1.0]))
@settings(max_examples=60, deadline=None)
def test_stale_quotes_do_not_move_the_line(seed, share, sign):
    generator = np.random.default_rng(seed)
    noise = 0.02 * generator.standard_normal(STRIKES.size)
    stale = generator.permutation(STRIKES.size)[: int(share * STRIKES.size)]
    noise[stale] += sign * generator.uniform(1.0, 20.0, stale.size)
    lines = fit_lines(pairs_of((STRIKES, gaps(101.0, 0.98) + noise)), 1)
    # Twice the error of least squares through the clean pairs, at five standard errors.
    kept = STRIKES.size - stale.size
    deviation = STRIKES.std()
    assert abs(lines.forward[0] - 101.0) < 2 * 5 * 0.02 / 0.98 / kept**0.5
    assert abs(lines.discount[0] - 0.98) < 2 * 5 * 0.02 / deviation / (0.5 * kept) ** 0.5


def test_standard_errors_are_those_of_the_estimates():
    generator = np.random.default_rng(11)
    slices = 2000
    width = generator.uniform(0.5, 3.0, STRIKES.size)
    parts = [
        (STRIKES, gaps(101.0, 0.98) + 0.2 * width * generator.standard_normal(STRIKES.size))
        for _ in range(slices)
    ]
    pairs = pairs_of(*parts)._replace(width=np.tile(width, slices))
    lines = fit_lines(pairs, slices)
    for estimate, error, truth in (
        (lines.forward, lines.forward_se, 101.0),
        (lines.discount, lines.discount_se, 0.98),
    ):
        scores = (estimate - truth) / error
        # Leaving out what is far, after looking, makes the errors a little small.
        assert 0.9 < scores.std() < 1.35
        assert abs(scores.mean()) < 4.0 * scores.std() / slices**0.5


def test_narrow_quotes_count_more():
    noise = np.where(STRIKES < 100.0, 0.5, 0.0)
    wide = np.where(STRIKES < 100.0, 10.0, 0.1)
    pairs = pairs_of((STRIKES, gaps(101.0, 0.98) + noise))._replace(width=wide)
    assert fit_lines(pairs, 1).forward[0] == pytest.approx(101.0, abs=1e-3)


def test_slices_do_not_see_each_other():
    generator = np.random.default_rng(3)
    parts = [
        (
            STRIKES * scale,
            gaps(100.0 * scale, discount, STRIKES * scale) + generator.normal(0, 0.01, 41),
        )
        for scale, discount in ((1.0, 0.99), (50.0, 0.9), (0.1, 1.01))
    ]
    together = fit_lines(pairs_of(*parts), 3)
    alone = [fit_lines(pairs_of(part), 1) for part in parts]
    np.testing.assert_allclose(together.forward, [each.forward[0] for each in alone], rtol=1e-12)
    np.testing.assert_allclose(together.discount, [each.discount[0] for each in alone], rtol=1e-12)


def test_two_pairs_are_too_few_and_a_slice_without_any_has_no_line():
    two = STRIKES[:2], gaps(101.0, 0.98)[:2]
    lines = fit_lines(pairs_of(two), 2)
    assert np.isnan(lines.forward).all()
    assert lines.pairs.tolist() == [0, 0]


def test_a_known_discount_leaves_the_forward_to_one_pair():
    one = STRIKES[:1], gaps(101.0, 0.98)[:1]
    lines = fit_lines(pairs_of(one, width=0.3), 1, np.array([0.98]))
    assert lines.forward[0] == pytest.approx(101.0, rel=1e-12)
    assert lines.forward_se[0] == pytest.approx(0.3 / 0.98)
    assert lines.discount[0] == 0.98
    assert np.isnan(lines.discount_se[0])


def test_no_pairs_at_all_give_no_lines():
    nothing = np.zeros(0)
    lines = fit_lines(Pairs(nothing.astype(int), nothing, nothing, nothing), 2)
    assert np.isnan(lines.discount).all()
