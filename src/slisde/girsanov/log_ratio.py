"""log dQ/dP of a path, in two forms with one value and two derivatives (paper: app:kl-regulariser).

`log_ratio_score` holds the path fixed: its derivative is the score of the tilted law, which the
cross-entropy needs. `log_ratio_reparameterised` holds the drawn noise fixed, and the path moves with
the tilt: that is the derivative of expectations under the tilted law. In both the features of the prefix path are data.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.girsanov.controller import Controller
from slisde.girsanov.initial import PerPath
from slisde.girsanov.pace import Features, Gathered, Pace, Trace
from slisde.girsanov.tilt import Tilt, control_energy, work


def log_ratio_score(tilt: Tilt, pace: Pace, path: Trace) -> PerPath:
    """Return log dQ/dP of paths, whichever law drew them.

    Args:
        tilt: the tilted law.
        pace: its control steps.
        path: z_0 and the increments that drove the model.
    """
    total = tilt.initial.log_ratio(path.initial)
    for controller, noise, features in _parts(tilt, path):
        u = controller.along(pace, noise, features)
        total = total + work(u, noise) - control_energy(u, pace.dt)
    return total


def log_ratio_reparameterised(tilt: Tilt, pace: Pace, noise: Trace) -> PerPath:
    """Return log dQ/dP of the paths that drawn noise makes.

    Args:
        tilt: the tilted law.
        pace: its control steps.
        noise: ξ and Δε^Q, as drawn.
    """
    initial = tilt.initial.push(noise.initial)
    total = tilt.initial.log_ratio(initial)
    for controller, drawn, features in _parts(tilt, noise):
        u = controller.of_drawn(pace, drawn, features)
        total = total + work(u, drawn) + control_energy(u, pace.dt)
    return total


def divergence(tilt: Tilt, pace: Pace, noise: Trace) -> Float[Array, ""]:
    """Return the energy form of KL(Q ‖ P), averaged over drawn noise that is held fixed."""
    total = tilt.initial.divergence()
    for controller, drawn, features in _parts(tilt, noise):
        u = controller.of_drawn(pace, drawn, features)
        total = total + jnp.mean(control_energy(u, pace.dt))
    return total


def _parts(tilt: Tilt, seen: Trace) -> list[tuple[Controller, Gathered, Features | None]]:
    """Return each control with the noise that it controls and the features that it reads."""
    parts: list[tuple[Controller, Gathered, Features | None]] = []
    if tilt.prefix is not None:
        parts.append((tilt.prefix, seen.prefix, None))
    if tilt.own is not None and seen.own is not None:
        parts.append((tilt.own, seen.own, seen.features))
    return parts
