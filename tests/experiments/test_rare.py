"""Rare events of a run: what is asked for, what is answered, and what is kept."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.stats import norm

from slisde.calibration.run import RunDirectory
from slisde.errors import ArgumentError, ProblemError, StorageError
from slisde.experiments.rare import best_driver, rare_event
from slisde.experiments.rare_event import read_event
from slisde.experiments.rare_sampling import Asked, branched
from slisde.experiments.rare_store import TiltStore
from slisde.experiments.rare_verdict import TRUSTED_ERROR, Advice, judge
from slisde.functionals.problem import Problem, Target
from slisde.functionals.running import Average, RunningMaximum, RunningMinimum
from slisde.functionals.terminal import Call, Forward
from slisde.girsanov.course import TiltSettings
from slisde.girsanov.diagnosis import diagnose
from slisde.girsanov.guide_fit import fit_guide
from slisde.girsanov.guided import make_guided
from slisde.girsanov.proposal import Proposal
from slisde.girsanov.tilt import Driver, make_tilt
from slisde.model.stack import SLiSDE, Stacking
from tests.experiments.untrained import untrained

SETTINGS = TiltSettings(paths=512, rounds=6, polish=4, enough=100.0)
PATHS = 4096


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A run of a martingale that is nearly lognormal, of volatility 0.2."""
    problem = Problem([Target(Call(1.0, 1.0), 0.08)], 1.0, 1.0)
    made = untrained(problem, readout="mixing")
    run = RunDirectory(tmp_path_factory.mktemp("rare"))
    run.save_model(made.model, {})
    return dataclasses.replace(made, run=run)


def ask(fitted, event, **options):
    return rare_event(fitted, event, PATHS, settings=SETTINGS, seed=1, **options)


@pytest.fixture(scope="module")
def answered(fitted):
    return ask(fitted, "terminal > 1.9")


@pytest.mark.parametrize("right", [True, False])
def test_a_guide_that_leads_away_from_the_event_is_seen_in_the_coverage(fitted, right):
    event = read_event("terminal > 1.9", 1.0)
    asked = Asked("terminal > 1.9", event, fitted.model, fitted.grid)
    tilt = make_guided(fitted.model, fitted.grid, event)
    tilt = fit_guide(tilt, fitted.model, fitted.grid, event, paths=1024, key=jax.random.key(2))
    if not right:
        tilt = eqx.tree_at(
            lambda t: (t.steering.guide.slopes, t.initial.shift), tilt, replace_fn=lambda x: -x
        )
    drawn = branched(asked, Proposal.ladder(tilt), 1024, jax.random.key(3))
    assert (drawn.coverage > 0.75) is right


def test_a_rare_event_is_found_with_its_error_where_plain_paths_are_none(answered):
    # Weights at the start give the state a small share in a volatility of 0.2.
    nearly = norm.sf((np.log(1.9) + 0.02) / 0.2)
    assert 0.2 * nearly < answered.value < 5.0 * nearly
    assert answered.standard_error < 0.2 * answered.value
    low, high = answered.interval
    assert low < answered.value < high
    assert answered.plain.paths == 2 * PATHS
    assert answered.tilted.hit_rate > 0.2
    assert answered.kl > 2.0
    assert not answered.reused
    assert answered.verdict.advice in (Advice.TRUST, Advice.RAISE)


def test_kinds_of_tilt_agree_and_are_kept_apart(fitted, answered):
    other = ask(fitted, "terminal > 1.9", driver=Driver.ALL)
    assert not other.reused
    error = np.hypot(answered.standard_error, other.standard_error)
    assert abs(answered.value - other.value) <= 4.0 * error
    # A law that is nearly lognormal is as good as known to either kind: ten percent is what is trusted.
    assert answered.standard_error < TRUSTED_ERROR * answered.value
    assert other.standard_error < TRUSTED_ERROR * other.value


def test_what_cannot_be_guided_is_tilted_alike_on_all_paths(fitted):
    watched, paid = read_event("terminal > 1.9", 1.0), read_event("lookback_call(maturity=1)", 1.0)
    assert best_driver(fitted.model, watched) is Driver.GUIDED
    assert best_driver(fitted.model, paid) is Driver.ALL
    residual = SLiSDE(4, 2, 2, block_size=2, stacking=Stacking.RESIDUAL, key=jax.random.key(0))
    assert best_driver(residual, watched) is Driver.ALL


def test_scales_of_the_initial_state_need_a_tilt_that_is_trained(fitted):
    with pytest.raises(ArgumentError, match="must be false with a guided tilt"):
        ask(fitted, "terminal > 1.9", driver=Driver.GUIDED, covariance=True)


def test_a_tilt_is_kept_in_the_run_and_used_again(fitted, answered):
    again = ask(fitted, "  terminal  > 1.9 ")
    assert again.reused
    assert again.value == answered.value
    assert again.training_paths == answered.training_paths
    assert ask(fitted, "terminal > 1.9", retrain=True).reused is False


def test_a_tilt_with_other_arrays_is_trained_anew(fitted, key):
    narrow, wide = (
        make_tilt(SLiSDE(latent, 2, 2, block_size=4, key=key), driver=Driver.ALL, key=key)
        for latent in (4, 8)
    )
    store = TiltStore(fitted.run, "terminal > 1", narrow)
    store.save(narrow, {"training_paths": 5})
    kept = store.read()
    assert kept is not None
    assert kept[1]["training_paths"] == 5
    assert TiltStore(fitted.run, "terminal > 1", wide).read() is None


@pytest.mark.usefixtures("answered")
def test_a_damaged_tilt_is_said(fitted):
    for file in (fitted.run.root / "tilts").glob("*.safetensors"):
        file.write_bytes(file.read_bytes()[:-4] + b"oops")
    with pytest.raises(StorageError, match="damaged"):
        ask(fitted, "terminal > 1.9")


def test_two_spellings_of_one_price_agree(fitted):
    event = ask(fitted, "running_min <= 0.55")
    payoff = ask(fitted, "crosses_below(barrier=0.55, maturity=1)")
    assert not event.is_price
    assert payoff.is_price
    error = np.hypot(event.standard_error, payoff.standard_error)
    assert abs(event.value - payoff.value) <= 4.0 * error
    assert event.value > 0.0


def test_an_event_before_the_horizon_is_found(fitted):
    found = ask(fitted, "terminal[0.5] > 1.5")
    assert found.value > 0.0
    assert found.tilted is not None
    assert found.tilted.hit_rate > 0.2


def test_an_event_that_is_not_rare_needs_no_tilt(fitted):
    found = ask(fitted, "terminal > 1.0")
    assert found.verdict.advice is Advice.NOT_RARE
    assert found.tilted is None
    assert 0.3 < found.value < 0.6


def test_a_certain_event_is_said(fitted):
    found = ask(fitted, "terminal > 0.001")
    assert found.verdict.advice is Advice.CERTAIN
    assert found.value == 1.0
    assert found.interval[0] < 1.0
    assert "all of" in found.verdict.reason


def test_an_event_beyond_reach_is_said_with_how_near_paths_came(fitted):
    found = ask(fitted, "terminal < -1")
    assert found.verdict.advice is Advice.UNREACHED
    assert found.value == 0.0
    assert found.interval == (0.0, 3.0 / found.plain.paths)
    assert "reached -1" in found.verdict.reason
    assert "plain paths came to 0." in found.verdict.reason


def test_a_payoff_that_is_never_paid_and_shows_no_distance_is_said(fitted):
    found = ask(fitted, "up_and_in_call(strike=9, barrier=9, maturity=1)")
    assert found.verdict.advice is Advice.UNREACHED
    assert "zero on all of" in found.verdict.reason


def test_collapsed_weights_fall_back_to_plain_monte_carlo():
    values = np.ones(100)
    one_path = diagnose(values, np.where(np.arange(100) == 0, 4.0, -20.0))
    plain = diagnose((np.arange(1000) < 10).astype(float), np.zeros(1000))
    verdict = judge(one_path, plain)
    assert verdict.advice is Advice.FALL_BACK
    assert "one of them has 100%" in verdict.reason
    assert "10 paths of 1,000" in verdict.reason


def test_a_tilt_that_misses_part_of_the_event_is_noticed():
    rng = np.random.default_rng(0)
    missed = diagnose(np.ones(2000), np.log(rng.uniform(0.5e-3, 1.5e-3, 2000)))
    plain = diagnose((np.arange(10_000) < 100).astype(float), np.zeros(10_000))
    verdict = judge(missed, plain)
    assert verdict.advice is Advice.FALL_BACK
    assert "misses a part" in verdict.reason
    agreeing = diagnose((np.arange(10_000) < 10).astype(float), np.zeros(10_000))
    assert judge(missed, agreeing).advice is Advice.TRUST
    verdict = judge(missed, agreeing, coverage=0.6)
    assert verdict.advice is Advice.FALL_BACK
    assert "hardly goes to 40% of the plain paths" in verdict.reason


@pytest.mark.parametrize(
    ("text", "watched", "threshold", "above"),
    [
        ("terminal > 1.3", Forward(1.0), 1.3, True),
        ("terminal[0.5]<-2e-1", Forward(0.5), -0.2, False),
        ("running_max >= 1.2", RunningMaximum(1.0), 1.2, True),
        (" running_min [ 0.25 ] <= .8 ", RunningMinimum(0.25), 0.8, False),
        ("asian_put(strike=0.7, maturity=0.5)", Average(0.5), 0.7, False),
    ],
)
def test_events_are_read(text, watched, threshold, above):
    event = read_event(text, 1.0)
    assert event.watched == watched
    assert float(event.threshold) == pytest.approx(threshold)
    assert event.above is above
    assert event.maturity == watched.maturity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not an event"),
        ("terminal", "is not an event"),
        ("terminal > 1 > 2", "is not an event"),
        ("ending > 1.0", "`ending` is not watched: write one of terminal"),
        ("terminal > high", "threshold of an event must be a finite number, got `high`"),
        ("terminal > nan", "must be a finite number"),
        ("terminal[] > 1", "time of an event must be a finite number"),
        ("terminal[2] > 1", "matures outside the grid"),
        ("cal(strike=1, maturity=1)", "Did you mean `call`"),
    ],
)
def test_what_is_not_an_event_is_answered(text, message):
    with pytest.raises(ProblemError, match=message.replace("[", r"\[").replace("(", r"\(")):
        read_event(text, 1.0)
