"""A fit that never happened: a Black–Scholes surface and a model that is slightly off it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from slisde.calibration.estimate import BATCHES, Estimate
from slisde.functionals.problem import Problem, Target
from slisde.functionals.terminal import Call, DigitalBelow, Forward, Put
from slisde.report.content import Comparison, ReportContent

MATURITIES = (0.1, 0.25, 0.5, 0.75, 1.0)
VOLATILITY = 0.2
STRIKES = {
    "calls": (Call, (1.0, 1.025, 1.05, 1.075, 1.1)),
    "puts": (Put, (0.9, 0.925, 0.95, 0.975)),
    "far puts": (Put, (0.7, 0.75, 0.8, 0.85)),
    "far calls": (Call, (1.15, 1.2, 1.25, 1.3)),
    "digitals": (DigitalBelow, (0.8, 0.9, 1.0, 1.1, 1.2)),
}
PATHS = 65_536
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"

ONE = Problem([Target(Forward(1.0), 1.0)], 1.0)
TWO = Problem([Target(Call(1.0, 1.0), 0.1, "<b>"), Target(Call(1.0, 9.0), 1e-6, "far")], 1.0)


def mean_and_variance(kind: type, maturity: float, strike: float, volatility: float):
    """Return the first two central moments of a payoff of exp(σ W_T − σ² T / 2)."""
    deviation = volatility * maturity**0.5
    level = (np.log(strike) + deviation**2 / 2.0) / deviation  # Y ≤ K where W_T / √T ≤ level
    below = [norm.cdf(level - power * deviation) for power in range(3)]
    moments = [np.exp(power * (power - 1) * deviation**2 / 2.0) for power in range(3)]
    if kind is DigitalBelow:
        return below[0], below[0] * (1.0 - below[0])
    parts = below if kind is Put else [1.0 - share for share in below]
    sign = 1.0 if kind is Put else -1.0
    mean = sign * (strike * parts[0] - parts[1])
    square = strike**2 * parts[0] - 2.0 * strike * parts[1] + moments[2] * parts[2]
    return mean, max(square - mean**2, 0.0)


def surface(*, held_out: bool = True, quotes: bool = True) -> Problem:
    """Return 110 targets in five groups at five maturities."""
    targets = []
    for group, (kind, strikes) in STRIKES.items():
        for maturity in MATURITIES:
            for place, strike in enumerate(strikes):
                value = float(mean_and_variance(kind, maturity, strike, VOLATILITY)[0])
                spread = 0.002 if kind is DigitalBelow else 0.0002 + 0.02 * value
                targets.append(
                    Target(
                        kind(maturity, strike),
                        value,
                        group,
                        held_out=held_out and place == 2,
                        bid=max(value - spread, 0.0) if quotes else None,
                        ask=value + spread if quotes else None,
                    )
                )
    return Problem(targets, MATURITIES[-1], 1.0, {"digitals": 2.0}, name="surface")


def place(target: Target) -> dict[str, float]:
    """Return maturity and strike of a target."""
    return {name: float(getattr(target.functional, name)) for name in ("maturity", "strike")}


def guess(problem: Problem, *, volatility: float = 0.201, seed: int = 0) -> Estimate:
    """Return the estimate that a model of another volatility would give, drawn from its moments."""
    random = np.random.default_rng(seed)
    moments = [
        mean_and_variance(type(target.functional), volatility=volatility, **place(target))
        for target in problem.targets
    ]
    mean, variance = np.array(moments).T
    # Errors of one maturity move together, as they do when paths are shared.
    shared = random.standard_normal((BATCHES, 1))
    own = random.standard_normal((BATCHES, len(mean)))
    noise = np.sqrt(variance * BATCHES / PATHS) * (0.7 * shared + 0.7141 * own)
    batches = mean + noise
    return Estimate(problem, PATHS, batches.mean(axis=0), variance, batches)


def history(steps: int = 1000, floor: float = 3e-6) -> Sequence[Mapping[str, int | float | None]]:
    """Return a loss that decays to a noise floor."""
    random = np.random.default_rng(1)
    entries = []
    for step in range(1, steps + 1):
        misfit = 3e-2 * np.exp(-step / 40.0) + 3e-4 * np.exp(-step / 110.0) + 2e-7
        entry: dict[str, int | float | None] = {
            "step": step,
            "loss": float(misfit + floor * random.chisquare(12) / 12),
            "seconds": 0.11 * step,
        }
        if step % 50 == 0:
            error = 0.05 * misfit + 1.5e-7
            entry["validation"] = float(misfit + error * random.standard_normal())
            entry["validation_se"] = error
        entries.append(entry)
    return entries


def simulated(paths: int = 2000, nodes: int = 513) -> tuple[np.ndarray, np.ndarray]:
    """Return times and paths of the model."""
    random = np.random.default_rng(2)
    times = np.linspace(0.0, MATURITIES[-1], nodes)
    steps = random.standard_normal((paths, nodes - 1)) * np.sqrt(np.diff(times))
    motion = np.concatenate([np.zeros((paths, 1)), np.cumsum(steps, axis=1)], axis=1)
    return times, np.exp(VOLATILITY * motion - VOLATILITY**2 * times / 2.0)


def content(**changes: Any) -> ReportContent:
    """Return the whole content, or one that differs from it."""
    times, paths = simulated()
    terminal = np.exp(
        VOLATILITY * np.random.default_rng(3).standard_normal(PATHS) - VOLATILITY**2 / 2.0
    )
    whole = ReportContent(
        title="Synthetic index surface",
        estimate=guess(surface()),
        history=history(),
        times=times,
        sample_paths=paths,
        terminal=terminal,
        noise_floor=3e-6,
        comparisons=[
            Comparison("asian_call(strike=1.0, maturity=0.5)", 0.03251, 4e-5, 0.03246, 2e-5),
            Comparison("lookback_call(maturity=1.0)", 0.14733, 1.6e-4, 0.14802, 8e-5),
            Comparison(
                "up_and_out_call(strike=1, barrier=1.2, maturity=1)", 0.01423, 5e-5, 0.01391, 3e-5
            ),
            Comparison("realised_variance(maturity=1.0)", 0.04021, 2e-5, 0.04, 0.0),
        ],
        facts={
            "model": "slisde, 2 layers of 64, block 8",
            "parameters": "103 425",
            "steps": "1000",
            "paths": "2048",
            "grid": "512 steps to 1",
            "learning rate": "1e-3, cosine to 1e-5",
            "seed": "0",
        },
        versions={
            "slisde": "0.1.0",
            "jax": "0.10.2",
            "python": "3.11.7",
            "engine": "native avx512",
        },
        run="runs/demo-0",
        command="slisde calibrate demo --preset quick --seed 0 --out runs/demo-0",
    )
    return replace(whole, **changes)


def bare(problem: Problem, mean, variance) -> ReportContent:
    """Return the least that a report can be made of."""
    mean, variance = np.asarray(mean, float), np.asarray(variance, float)
    return ReportContent(
        title="bare",
        estimate=Estimate(problem, 64, mean, variance, np.tile(mean, (32, 1))),
        history=[],
        times=np.array([0.0, 1.0]),
        sample_paths=np.zeros((0, 2)),
        terminal=np.zeros(0),
    )


def hostile() -> ReportContent:
    """Return a content that tries to be code wherever it holds a name."""
    problem = surface()
    targets = [replace(target, group=HOSTILE) for target in problem.targets]
    return content(
        title=HOSTILE,
        estimate=replace(guess(problem), problem=Problem(targets, 1.0, name=HOSTILE)),
        comparisons=[Comparison(HOSTILE, 1.0, 0.1, 1.0, 0.0)],
        facts={HOSTILE: HOSTILE},
        versions={HOSTILE: HOSTILE},
        run=HOSTILE,
        command=HOSTILE,
    )
