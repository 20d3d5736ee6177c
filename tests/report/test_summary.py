"""The numbers of a report and the words about them."""

from dataclasses import replace

import numpy as np
import pytest

from slisde.report.summary import summarise
from slisde.report.verdict import Tone, judge, key_figures
from tests.report.surface import guess, surface


def test_every_target_is_counted_once_in_its_group():
    summary = summarise(guess(surface()))
    assert len(summary.rows) == 110
    assert [(g.name, g.fitted, g.held_out) for g in summary.groups] == [
        ("calls", 20, 5),
        ("puts", 15, 5),
        ("far puts", 15, 5),
        ("far calls", 15, 5),
        ("digitals", 20, 5),
    ]
    assert summary.everything.within.count == sum(g.within.count for g in summary.groups)


def test_group_errors_are_those_of_the_estimate():
    estimate = guess(surface())
    for group in summarise(estimate).groups:
        assert group.mean_error == pytest.approx(estimate.mean_absolute_error(group.name))
        held_out = estimate.mean_absolute_error(group.name, held_out=True)
        assert group.held_out_mean_error == pytest.approx(held_out)


def test_the_worst_come_first_and_those_without_a_z_score_only_by_error():
    estimate = guess(surface())
    variance, mean, batches = estimate.variance.copy(), estimate.mean.copy(), estimate.batch_means
    variance[3], mean[3] = 0.0, 5.0
    summary = summarise(replace(estimate, variance=variance, mean=mean, batch_means=batches))
    by_z = [abs(row.z) for row in summary.worst_by_z(8)]
    assert by_z == sorted(by_z, reverse=True)
    assert summary.rows[3] not in summary.worst_by_z(200)
    assert summary.worst_by_error(8)[0] == summary.rows[3]
    assert "One target has no z-score" in " ".join(judge(summary, None).sentences)


def test_a_value_counts_as_inside_up_to_and_including_bid_and_ask():
    row = replace(summarise(guess(surface())).rows[0], bid=0.02, ask=0.03)
    assert replace(row, estimate=0.02).inside
    assert replace(row, estimate=0.03).inside
    assert not replace(row, estimate=0.030001).inside
    assert replace(row, estimate=9.0, bid=0.1, ask=None).inside
    assert not replace(row, estimate=float("nan")).inside


@pytest.mark.parametrize(
    ("volatility", "floor", "tone", "words"),
    [
        (0.2, 3e-6, Tone.GOOD, "meets its targets"),
        (0.22, 1.0, Tone.FAIR, "smaller than the noise of a training batch"),
        (0.22, 3e-6, Tone.POOR, "does not meet its targets"),
        (0.22, None, Tone.FAIR, "noise does not explain"),
    ],
)
def test_the_verdict_follows_the_debiased_loss(volatility, floor, tone, words):
    summary = summarise(guess(surface(), volatility=volatility))
    verdict = judge(summary, floor)
    assert (verdict.tone, words in verdict.headline) == (tone, True), verdict


def test_a_measurable_misfit_inside_bid_and_ask_still_reprices_the_quotes():
    estimate = guess(surface(), volatility=0.22)
    wide = [replace(target, bid=0.0, ask=2.0) for target in estimate.problem.targets]
    summary = summarise(replace(estimate, problem=replace(estimate.problem, targets=wide)))
    assert judge(summary, 3e-6).headline == "The model reprices the quotes."


def test_expectations_that_are_not_finite_are_said_first():
    estimate = guess(surface())
    mean = np.where(np.arange(110) == 7, np.nan, estimate.mean)
    verdict = judge(summarise(replace(estimate, mean=mean)), 3e-6)
    assert (verdict.tone, "not finite" in verdict.headline) == (Tone.POOR, True)


def test_the_header_speaks_of_quotes_and_held_out_targets_only_where_there_are_any():
    full = key_figures(summarise(guess(surface())), 3e-6)
    bare = key_figures(summarise(guess(surface(held_out=False, quotes=False))), None)
    assert full[0].name == "Inside bid–ask"
    assert "Inside bid–ask" not in [figure.name for figure in bare]
    assert any("held out" in figure.note for figure in full)
    assert not any("held out" in figure.note for figure in bare)
