"""The paper's times (paper: tab:timing-main, tab:timing-full)."""

from typing import NamedTuple


class PaperTimes(NamedTuple):
    """Milliseconds on an RTX 6000 Ada, None where its memory did not suffice."""

    slisde_step: float
    neural_sde_step: float
    slice_step: float | None
    slisde_forward: float
    scan_forward: float | None
    neural_sde_forward: float

    @property
    def speedup(self) -> float:
        """How many steps of SLiSDE the Neural SDE's step takes."""
        return self.neural_sde_step / self.slisde_step


PAPER = {
    (64, 512): PaperTimes(9.5, 54.0, 10.1, 5.7, 4.1, 15.3),
    (64, 2048): PaperTimes(35.8, 212.0, 42.8, 14.9, 15.8, 50.6),
    (64, 8192): PaperTimes(117.1, 838.9, 156.9, 48.4, 50.4, 202.6),
    (256, 2048): PaperTimes(79.7, 257.1, 155.2, 32.5, 44.6, 61.0),
    (1024, 512): PaperTimes(69.0, 89.4, 155.0, 27.6, 39.9, 23.8),
    (1024, 2048): PaperTimes(258.9, 359.5, None, 89.9, None, 84.2),
    (4096, 512): PaperTimes(242.1, 178.6, None, 80.5, None, 37.5),
}
"""By paths and time steps."""
