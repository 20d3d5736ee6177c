"""The density of the value at the maturity, as an expectation."""

import jax.numpy as jnp

from slisde.functionals.base import AbstractFunctional, Number
from slisde.functionals.black import DENSITY_AT_ZERO


class Density(AbstractFunctional):
    """A kernel around Y_T, seen from a place; its expectation is nearly the density of Y_T there.

    Where the path's law given the latent one is known, its own lognormal density is the kernel and
    the expectation is exact, unless the law is narrower than the bandwidth.
    """

    maturity: Number
    place: Number
    bandwidth: Number

    def __call__(self, path):
        return _normal((self.place - path.at(self.maturity)) / self.bandwidth) / self.bandwidth

    def expected(self, path):
        if path.law is None:
            return self(path)
        node = path.node(self.maturity)
        deviation = jnp.maximum(jnp.sqrt(path.law.variance[node]), self.bandwidth)
        distance = jnp.log(self.place / path.law.centre[node]) / deviation + 0.5 * deviation
        return _normal(distance) / (self.place * deviation)


def _normal(z):
    return DENSITY_AT_ZERO * jnp.exp(-0.5 * z**2)
