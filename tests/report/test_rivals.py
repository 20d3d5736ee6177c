"""Other models in the report of a chain."""

import numpy as np
import pytest

from slisde.calibration.smile_fit import SmileFit, smile_fit
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, Forward
from slisde.report.content import has_quotes
from slisde.report.figures.smile import ERRORS, smile
from slisde.report.html import render
from slisde.report.palette import ACCENT, INK
from slisde.report.rivals import rival_fits
from slisde.report.summary import summarise
from slisde.report.verdict import judge
from tests.report.market import chain, content, model, rivals
from tests.report.test_figures import known
from tests.report.test_html import Page


def fits(problem: Problem) -> SmileFit:
    found = smile_fit(model(problem))
    assert found is not None
    return found


def test_rivals_are_scored_as_the_fit_is():
    found = fits(chain())
    heston, bates = rival_fits(rivals(chain()), found.quotes)
    for rival, points in ((heston, 1.0), (bates, 0.5)):
        for held_out in (False, True):
            whole, ours = (each.of(None, held_out=held_out) for each in (rival, found))
            assert whole is not None
            assert ours is not None
            assert whole.rmse == pytest.approx(points, rel=1e-3)
            assert whole.quotes == ours.quotes
    assert heston.of(0.3, held_out=True) is None


def test_the_page_has_a_table_of_all_models_and_says_their_held_out_errors():
    text = render(content(rivals=rivals(chain())))
    assert "Other models on the same quotes" in text
    assert all(text.count(f">{name}</th>") == 3 for name in ("This fit", "Heston", "Bates"))
    assert "On held-out quotes this fit errs by 0.20, Heston by 1.0 and Bates by 0.50" in text
    assert text.count('y2="5" stroke-dasharray=') == 2
    assert "Other models" not in render(content())


def test_without_held_out_quotes_the_fitted_ones_are_compared():
    problem = chain(held_out=False)
    text = render(content(estimate=model(problem), rivals=rivals(problem)))
    assert text.count(">Heston</th>") == 2
    found = rival_fits(rivals(problem), fits(problem).quotes)
    sentences = judge(summarise(model(problem)), None, fits(problem), found).sentences
    assert any(sentence.startswith("On fitted quotes this fit errs") for sentence in sentences)


def test_a_smile_has_a_thin_line_for_each_rival_in_both_panels():
    found = fits(chain())
    figure = known(smile(found, None, 1.0, ACCENT, rival_fits(rivals(chain()), found.quotes)))
    lines = [trace for trace in figure.data if trace.line.color == INK.light]
    assert [line.line.width for line in lines] == [1] * 4
    assert len({line.line.dash for line in lines}) == 2
    errors = [line for line in lines if line.yaxis == ERRORS]
    for line, points in zip(errors, (1.0, 0.5), strict=True):
        np.testing.assert_allclose(line.y, points, rtol=1e-3)
        assert list(line.x) == sorted(line.x)


def test_options_that_nobody_quotes_are_no_market():
    """A problem of expectations with E[Y_T] = 1 is in units of the forward, and no chain."""
    targets = [
        Target(Forward(1.0), 1.0, "forwards"),
        *(Target(Call(1.0, strike), 0.1, "calls") for strike in (0.95, 1.0, 1.05)),
    ]
    problem = Problem(targets, 1.0, 1.0)
    assert smile_fit(model(problem)) is not None
    assert not has_quotes(problem)
    made = content(estimate=model(problem), laws=(), convention="")
    assert "Smiles" not in Page(render(made)).inside["h2"]
    assert "Fit by group" in Page(render(made)).inside["h2"]
    assert has_quotes(chain())
    assert not has_quotes(chain(two_sided=False))
    settled = content(estimate=model(chain(two_sided=False)))
    assert "Smiles" in Page(render(settled)).inside["h2"]
    assert "bid, mid, ask" not in render(settled)
