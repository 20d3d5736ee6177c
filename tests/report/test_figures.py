"""What the figures are drawn from."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.stats import norm

from slisde.functionals.barrier import CrossesAbove
from slisde.functionals.problem import Problem, Target
from slisde.functionals.running import RunningMaximum
from slisde.functionals.terminal import Call, Forward, Put
from slisde.report.figures.comparison import comparison
from slisde.report.figures.coordinates import lines, natural_axis
from slisde.report.figures.fit import ERRORS, VALUES, fit
from slisde.report.figures.implied import implied_law
from slisde.report.figures.overview import overview
from slisde.report.figures.paths import paths
from slisde.report.figures.style import plain
from slisde.report.figures.terminal import terminal
from slisde.report.figures.training import training
from slisde.report.palette import ROLES, by_night, ramp
from slisde.report.summary import summarise
from tests.report.surface import MATURITIES, VOLATILITY, content, guess, surface


def known(figure: go.Figure | None) -> Any:
    """Return a figure that is there; plotly's own types say little of what is in it."""
    assert figure is not None
    return figure


@pytest.mark.parametrize(
    ("functionals", "axis"),
    [
        ([Call(0.5, 1.0), Put(1.0, 0.9)], "strike"),
        ([CrossesAbove(0.5, 1.2)], "barrier"),
        ([RunningMaximum(0.5)], "maturity"),
        ([Call(0.5, 1.0), Forward(0.5)], "maturity"),
    ],
)
def test_the_axis_is_what_all_targets_of_a_group_have(functionals, axis):
    assert natural_axis([Target(functional, 0.1) for functional in functionals]) == axis


def test_a_line_joins_targets_of_one_kind_and_maturity_in_order():
    functionals = [Call(1.0, 1.1), Call(0.5, 1.0), Call(1.0, 0.9), Put(1.0, 1.0)]
    found = lines([Target(functional, 0.1) for functional in functionals], "strike")
    assert [(line.maturity, line.members) for line in found] == [
        (0.5, [1]),
        (1.0, [2, 0]),
        (1.0, [3]),
    ]


def test_errors_are_drawn_with_bars_of_two_standard_errors_of_model_and_target_together():
    problem = Problem([Target(Forward(1.0), 1.0, standard_error=3e-3)], 1.0)
    source = guess(surface())
    estimate = replace(
        source,
        problem=problem,
        mean=np.array([1.1]),
        variance=np.array([16e-6 * source.paths]),
        batch_means=np.full((32, 1), 1.1),
    )
    drawn = [
        trace
        for trace in known(fit(problem, summarise(estimate), "all")).data
        if trace.error_y.array
    ]
    above, below = drawn
    assert (above.yaxis, below.yaxis) == (VALUES, ERRORS)
    assert above.error_y.array[0] == pytest.approx(8e-3)
    assert below.error_y.array[0] == pytest.approx(10e-3)
    assert below.y[0] == pytest.approx(0.1)


def test_held_out_targets_have_a_mark_of_their_own():
    problem = surface()
    figure = known(fit(problem, summarise(guess(problem)), "calls"))
    symbols = [trace.marker.symbol for trace in figure.data if trace.error_y.array is not None]
    flat = list(itertools.chain.from_iterable(symbols))
    assert flat.count("diamond-open") == 2 * len(MATURITIES)
    assert flat.count("circle") == 2 * 4 * len(MATURITIES)


def test_targets_imply_the_law_they_were_computed_from():
    implied = implied_law(surface())
    place, half_width, height = implied.distribution.T
    deviation = VOLATILITY
    exact = norm.cdf((np.log(place) + deviation**2 / 2) / deviation)
    # An average over 2h differs from the middle by h² f'/6; |f'| of this density stays below 12.
    assert np.all(np.abs(height - exact) <= half_width**2 * 12.0 / 6.0 + 1e-12)
    place, half_width, height = implied.density.T
    exact = norm.pdf((np.log(place) + deviation**2 / 2) / deviation) / (deviation * place)
    assert np.all(np.abs(height - exact) <= 0.03 * exact.max())


def test_outliers_stand_at_the_edge_of_the_overview_and_hide_nobody():
    estimate = guess(surface())
    mean = estimate.mean.copy()
    mean[0] += 1000.0 * estimate.standard_error[0]
    figure = known(overview(estimate.problem, summarise(replace(estimate, mean=mean))))
    symbols = list(itertools.chain.from_iterable(trace.marker.symbol for trace in figure.data))
    assert symbols.count("triangle-right") == 1
    assert figure.layout.xaxis.range[1] < 20.0


def test_the_loss_curve_survives_gaps_and_values_that_a_logarithm_has_not():
    history = [
        {"step": 1, "loss": None},
        {"step": 2, "loss": 1e-3, "validation": 1e-3, "validation_se": 1e-5},
        {"step": 3, "loss": float("nan")},
        {"step": 4, "loss": 1e-4, "validation": -1e-6, "validation_se": 1e-5},
        {"step": 5, "loss": 0.0, "validation": 2e-5, "validation_se": None},
    ]
    figure = known(training(content(history=history, noise_floor=None)))
    _, curve, positive, limits = figure.data
    assert list(curve.x) == [2, 4]
    assert list(positive.x) == [2, 5]
    assert list(limits.x) == [4]
    assert limits.y[0] == pytest.approx(1.9e-5)
    assert np.all(np.isfinite(figure.layout.yaxis.range))


def test_a_long_history_is_drawn_from_few_points_and_keeps_its_ends():
    history = [{"step": step, "loss": 1.0 / step} for step in range(1, 20_001)]
    figure = known(training(content(history=history)))
    curve = figure.data[1]
    assert len(curve.x) <= 240
    assert curve.x[-1] > 19_900


def test_the_noise_floor_is_a_labelled_line():
    figure = known(training(content(noise_floor=3e-6)))
    assert figure.layout.shapes[0].y0 == 3e-6
    assert "noise floor 3.0 × 10⁻⁶" in [note.text for note in figure.layout.annotations]


def test_paths_and_terminal_leave_out_what_is_not_finite():
    whole = content()
    broken = whole.sample_paths.copy()
    broken[0, 5] = np.nan
    figure = known(paths(replace(whole, sample_paths=broken)))
    assert "50 of 1999 paths" in figure.layout.annotations[0].text
    assert paths(replace(whole, sample_paths=np.full((3, 513), np.nan))) is None
    assert terminal(replace(whole, terminal=np.array([]))) is None
    assert terminal(replace(whole, terminal=np.array([1.0, np.inf, 1.0]))) is not None


def test_comparisons_are_relative_unless_a_true_price_is_zero():
    whole = content()
    figure = known(comparison(whole))
    assert figure.data[0].x[1] == pytest.approx(100 * (0.14733 / 0.14802 - 1))
    worthless = whole.comparisons[0]._replace(true=0.0)
    absolute = known(comparison(replace(whole, comparisons=[worthless])))
    assert absolute.data[0].x[0] == worthless.fitted
    assert comparison(replace(whole, comparisons=())) is None


def test_names_cannot_be_markup():
    assert plain("<a href='x'>&") == "&lt;a href='x'&gt;&amp;"


def test_no_two_colours_of_the_day_share_a_night():
    for count in (1, 2, 5, 30):
        colours = [*ROLES.values(), *ramp(count)]
        assert len(by_night(ramp(count))) == len(colours)
