"""Exact draws from a strongly log-concave posterior by rejection, under an envelope that is proved.

The potential is U(theta) = F(theta) + m/2 |theta|^2, F convex. With theta_0 near the minimum, g the gradient of U and
H the Hessian of F there, delta = theta - theta_0,

    plain       U(theta) >= U(theta_0) + g.delta + m/2 |delta|^2                                       by convexity of F
    curved      U(theta) >= U(theta_0) + g.delta + m/2 |delta|^2 + delta'H delta phi(c |delta|)
                phi(s) = (e^-s + s - 1) / s^2

The second holds where the third derivative of F is bounded by its second: |F'''[u, v, v]| <= c |u| F''[v, v] (Bach
2010, Proposition 1), as for the logistic loss with |x| <= c. phi falls from 1/2, so inside a ball |delta| <= R_0 the
density lies below a Gaussian of precision m I + 2 phi(c R_0) H. Outside, the lower bound without g is convex along rays
and 0 at theta_0, so at distance t > R_0 it is at least t / R_0 times its least value on the sphere: the density lies
below exp(-kappa t). Both pieces together are the envelope. The radius is chosen, among a few, for the least total mass;
without c the envelope is the plain one. `shell_envelope` is a third, for losses that know how much curvature each row
keeps; whoever draws takes the one of the least mass.

Any theta_0 and any radius give a valid envelope: they change how many proposals are needed, never the distribution of
what is accepted. Proposals are tried in blocks of a fixed size until one is accepted, so there is no failure; the
number of blocks depends on the rows and must not be shown to anybody.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincc, gammainccinv, gammaln

from tacit.private_samplers.entropy_arrays import normals, uniforms
from tacit.private_samplers.shell_envelope import ShellEnvelope

_RADII = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 10.0)
_REACH = 7.0


@dataclass(frozen=True, eq=False)
class Envelope:
    """log density, up to that of theta_0, is at most ``top`` - delta'A delta/2 inside, ``top`` - kappa t outside."""

    centre: Any
    factor: Any  # A = factor factor'
    top: float
    radius: float
    kappa: float
    log_inside: float  # log of the mass of each piece, both with the factor e^top
    log_outside: float
    shift: Any  # where the Gaussian piece is centred, from theta_0

    @property
    def log_mass(self) -> float:
        """That of the whole envelope."""
        return float(np.logaddexp(self.log_inside, self.log_outside))

    def propose(self, count: int, source: Any) -> tuple[Any, Any]:
        """``count`` independent points (count, size) and the log of the envelope at each; inf at those refused."""
        size = len(self.centre)
        z, u = normals((count, size), source), uniforms((count, 2), source)
        delta = np.linalg.solve(self.factor.T, z.T).T + self.shift
        away = delta - self.shift
        log_height = self.top - np.sum((away @ self.factor) ** 2, axis=1) / 2
        inside = np.sum(delta**2, axis=1) <= self.radius**2
        log_height = np.where(inside, log_height, np.inf)
        if self.log_outside > -math.inf:
            share = 1 / (1 + math.exp(min(700.0, self.log_inside - self.log_outside)))
            beyond = gammaincc(size, self.kappa * self.radius)
            t = gammainccinv(size, np.maximum(u[:, 1], 1e-300) * beyond) / self.kappa
            ray = z / np.linalg.norm(z, axis=1, keepdims=True)
            far = u[:, 0] < share
            delta = np.where(far[:, None], t[:, None] * ray, delta)
            log_height = np.where(far, self.top - self.kappa * t, log_height)
        return self.centre + delta, log_height


def envelope(centre: Any, gradient: Any, curvature: Any, strong: float, lipschitz: float | None) -> Envelope:
    """The envelope of least mass: ``curvature`` is H, ``strong`` is m, ``lipschitz`` is c, or None where no c is
    known.
    """
    found = [_plain(centre, gradient, strong)]
    if lipschitz is not None:
        least = float(np.linalg.eigvalsh(curvature)[0])
        width = (math.sqrt(len(centre)) + _REACH) / math.sqrt(strong + max(least, 0.0))
        found += [_curved(centre, gradient, curvature, strong, lipschitz, share * width) for share in _RADII]
    return min(found, key=lambda e: e.log_mass)


def _plain(centre: Any, gradient: Any, m: float) -> Envelope:
    # -g.delta - m/2 |delta|^2 = |g|^2 / (2m) - m/2 |delta + g/m|^2
    size = len(centre)
    top = float(gradient @ gradient) / (2 * m)
    log_mass = top + size / 2 * math.log(2 * math.pi / m)
    return Envelope(centre, math.sqrt(m) * np.eye(size), top, math.inf, 1.0, log_mass, -math.inf, -gradient / m)


def _curved(centre: Any, gradient: Any, curvature: Any, m: float, lipschitz: float, radius: float) -> Envelope:
    size, g = len(centre), float(np.linalg.norm(gradient))
    s = lipschitz * radius
    phi = 0.5 - s / 6 if s < 1e-6 else (math.expm1(-s) + s) / (s * s)
    factor = _root(m * np.eye(size) + 2 * phi * curvature, m)
    least = max(float(np.linalg.eigvalsh(curvature)[0]), 0.0)
    # Its least value on the sphere over the radius, less what the gradient can take away.
    kappa = (m / 2 + least * phi) * radius - g
    top = g * radius
    inside = top + size / 2 * math.log(2 * math.pi) - float(np.linalg.slogdet(factor)[1])
    if kappa <= 0:
        return Envelope(centre, factor, top, radius, 1.0, inside, math.inf, np.zeros(size))
    log_area = math.log(2) + size / 2 * math.log(math.pi) - math.lgamma(size / 2)
    beyond = float(gammaincc(size, kappa * radius))
    log_tail = math.log(beyond) if beyond > 0 else -math.inf
    outside = top + log_area + log_tail + float(gammaln(size)) - size * math.log(kappa)
    return Envelope(centre, factor, top, radius, kappa, inside, outside, np.zeros(size))


def _root(precision: Any, least: float) -> Any:
    """A factor of a matrix whose eigenvalues are at least ``least``, also where rounding leaves no Cholesky factor."""
    try:
        return np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:  # a draw must not fail on account of rows
        values, vectors = np.linalg.eigh(precision)
        return (vectors * np.sqrt(np.maximum(values, least))) @ vectors.T


def accepted(
    found: Envelope | ShellEnvelope, log_density: Callable[[Any], Any], block: int, source: Any, draws: int
) -> list[Any]:
    """``draws`` independent points; ``log_density`` (count, size) -> (count,) is that over the one at theta_0."""
    points: list[Any] = []
    while len(points) < draws:
        theta, log_height = found.propose(block, source)
        log_u = np.log(uniforms((block,), source))
        taken = np.flatnonzero(log_u + log_height < log_density(theta))
        points.extend(theta[taken])  # proposals are independent, so those accepted are independent draws
    return points[:draws]
