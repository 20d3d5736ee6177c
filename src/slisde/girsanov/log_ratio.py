"""log dQ/dP of a path, in two forms with one value and two derivatives (paper: app:kl-regulariser).

`log_ratio_score` holds the path fixed: its derivative is the score of the tilted law, which the
cross-entropy needs. `log_ratio_reparameterised` holds the drawn noise fixed, and the path moves with
the tilt: that is the derivative of expectations under the tilted law. In both the features that controls read are data.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from slisde.girsanov.initial import PerPath
from slisde.girsanov.law import AbstractTilt, control_energy, work
from slisde.girsanov.pace import Pace, Trace


def log_ratio_score(tilt: AbstractTilt, pace: Pace, path: Trace) -> PerPath:
    """Return log dQ/dP of paths, whichever law drew them.

    Args:
        tilt: the tilted law.
        pace: its control steps.
        path: z_0 and the increments that drove the model.
    """
    total = tilt.initial.log_ratio(path.initial)
    for control, noise, features in tilt.parts(path):
        u = control.along(pace, noise, features)
        total = total + work(u, noise) - control_energy(u, pace.dt)
    return total


def log_ratio_reparameterised(tilt: AbstractTilt, pace: Pace, noise: Trace) -> PerPath:
    """Return log dQ/dP of the paths that drawn noise makes.

    Args:
        tilt: the tilted law.
        pace: its control steps.
        noise: ξ and Δε^Q, as drawn.
    """
    initial = tilt.initial.push(noise.initial)
    total = tilt.initial.log_ratio(initial)
    for control, drawn, features in tilt.parts(noise):
        u = control.of_drawn(pace, drawn, features)
        total = total + work(u, drawn) + control_energy(u, pace.dt)
    return total


def divergence(tilt: AbstractTilt, pace: Pace, noise: Trace) -> Float[Array, ""]:
    """Return the energy form of KL(Q ‖ P), averaged over drawn noise that is held fixed."""
    total = tilt.initial.divergence()
    for control, drawn, features in tilt.parts(noise):
        u = control.of_drawn(pace, drawn, features)
        total = total + jnp.mean(control_energy(u, pace.dt))
    return total
