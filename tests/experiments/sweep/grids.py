"""Small grids for tests."""

from pathlib import Path

SMALL = """
preset = "quick"
seeds = 3

[base]
train = { steps = 3, paths = 32, warmup = 1, validate_every = 0 }
grid = { steps = 8 }
model = { noise = 2, block_size = 4, layers = 1 }

[vary]
"model.latent" = [8, 4]
"""
"""Two cells with three seeds on the demo surface."""


def write(folder: Path, text: str = SMALL) -> Path:
    """Return the file of a grid."""
    file = folder / "grid.toml"
    file.write_text(text)
    return file
