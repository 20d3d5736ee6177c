"""The paper's families (paper: tab:toy3-vanilla, tab:dax3-main, tab:spx-full)."""

from dataclasses import dataclass

Value = tuple[float, float]
"""A mean over seven seeds and its standard error."""


@dataclass(frozen=True)
class Published:
    """A row of the paper: thousands of parameters, the two metrics, and milliseconds on a GPU."""

    parameters: int
    first: Value
    second: Value
    milliseconds: float


PAPER_TOY = {
    "Neural SDE, L = 2": Published(124, (1.557, 0.206), (1.058, 0.110), 91.7),
    "SLiCE, L = 2": Published(142, (4.690, 0.423), (2.168, 0.102), 171.8),
    "SLiSDE, L = 2": Published(103, (0.852, 0.168), (0.658, 0.054), 72.9),
    "Neural SDE, L = 3": Published(157, (3.024, 0.341), (1.637, 0.120), 110.4),
    "SLiCE, L = 3": Published(213, (5.006, 0.914), (2.250, 0.252), 248.2),
    "SLiSDE, L = 3": Published(74, (0.659, 0.059), (0.672, 0.057), 68.9),
}
PAPER_DAX = {
    "Neural SDE, L = 2": Published(79, (1.972, 0.117), (9.87, 2.47), 91.4),
    "SLiCE, L = 2": Published(142, (1.605, 0.149), (8.14, 1.69), 169.9),
    "SLiSDE, L = 2": Published(90, (1.552, 0.070), (9.40, 2.30), 79.7),
    "Neural SDE, L = 3": Published(157, (1.908, 0.180), (8.20, 1.42), 114.4),
    "SLiCE, L = 3": Published(213, (1.560, 0.086), (6.41, 1.33), 246.9),
    "SLiSDE, L = 3": Published(135, (1.401, 0.244), (4.07, 0.62), 129.1),
}
PAPER_SPX = {
    "Neural SDE, L = 2": Published(79, (11.90, 0.11), (135.4, 2.9), 94.1),
    "SLiCE, L = 2": Published(142, (6.43, 0.12), (81.4, 4.6), 170.1),
    "SLiSDE, L = 2": Published(18, (6.44, 0.40), (83.7, 4.8), 44.3),
    "Neural SDE, L = 3": Published(157, (10.29, 0.13), (136.0, 2.8), 109.7),
    "SLiCE, L = 3": Published(213, (6.53, 0.26), (82.9, 3.6), 248.4),
    "SLiSDE, L = 3": Published(34, (6.29, 0.24), (70.1, 6.6), 70.5),
}
