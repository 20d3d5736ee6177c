"""Prices of a lognormal value by quadrature: an integral of a positive function, nothing cancels.

With z = log(K/F)/s + s/2, the call is K φ(z) ∫₀^∞ (e^{st} − 1) e^{−zt − t²/2} dt.
"""

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(160)
NEGLIGIBLE = 40.0
"""Exponent at which the integrand has fallen to nothing."""


def log_call(forward, strike, deviation):
    """Return the logarithm of the undiscounted call; a put is the call of exchanged arguments."""
    z = np.log(strike / forward) / deviation + 0.5 * deviation
    peak = deviation - z
    end = peak + np.sqrt(peak**2 + 2.0 * NEGLIGIBLE)
    t = 0.5 * end[..., None] * (1.0 + NODES)
    integrand = np.expm1(deviation[..., None] * t) * np.exp(-z[..., None] * t - 0.5 * t**2)
    integral = 0.5 * end * (integrand @ WEIGHTS)
    return np.log(strike) - 0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) + np.log(integral)
