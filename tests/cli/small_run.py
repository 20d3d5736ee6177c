"""A fit of seconds, for tests of the commands around it."""

PROBLEM = """\
name = "small"
horizon = 1.0
initial_value = 1.0

[[target]]
functional = "forward(maturity=1.0)"
value = 1.0
group = "forward"

[[target]]
functional = "call(strike=1.0, maturity=1.0)"
value = 0.08
group = "calls"
bid = 0.079
ask = 0.081

[[target]]
functional = "call(strike=1.1, maturity=1.0)"
value = 0.045
group = "calls"
held_out = true
"""

CONFIG = """\
[model]
latent = 8
noise = 2
block_size = 4

[train]
steps = 24
paths = 32
validate_every = 10
validation_paths = 64
ema = 0.9

[grid]
steps = 8
"""


def write(folder) -> list[str]:
    """Write both files and return the arguments of the fit without `--out`."""
    problem, config = folder / "small.toml", folder / "config.toml"
    problem.write_text(PROBLEM, encoding="utf-8")
    config.write_text(CONFIG, encoding="utf-8")
    return ["calibrate", str(problem), "--config", str(config)]
