"""An envelope above a log-concave posterior, made of shells around its mode: what keeps rejection fast in more
dimensions.

U(theta) = F(theta) + m/2 |theta|^2, F = sum of the rows' losses, convex. With theta_0 near the minimum, g the gradient
of U there, B any positive definite matrix (the Hessian of U there), delta = theta - theta_0 and |delta|_B^2 = delta'B
delta:

    U(theta) >= U(theta_0) + g.delta + delta'A_k delta / 2                         where |delta|_B <= R_k
    U(theta) >= U(theta_0) + g.delta + a_K R_K |delta|_B / 2                       where |delta|_B >= R_K

for radii R_1 < ... < R_K, R_0 = 0. A_k = m I + sum_i (a part of row i's Hessian) is a `Minorant`: it knows how far a
row's predictor can move while |delta|_B <= R_k, which for many rows is little, and so how much of its curvature is
left. a_k is the least and b_k the largest eigenvalue of A_k relative to B. The envelope is in the shell R_{k-1} <
|delta|_B <= R_k

    exp(|g|_{B^-1} R_k - delta'A_k delta / 2),     of mass at most (2 pi)^{p/2} |A_k|^{-1/2} e^{|g| R_k} times
                                                   P(a_k R_{k-1}^2 <= chi^2_p <= b_k R_k^2)

as delta'A_k delta lies between these two numbers there, and beyond R_K exp(-c |delta|_B), c = a_K R_K / 2 - |g|_{B^-1}.
Proposals come from these pieces in proportion to their masses; those outside their own shell are refused.

Proof: of the first bound see `Minorant`. For the second, U - U(theta_0) - g.delta is convex along every ray and 0 at
delta = 0, so at t times a point of the sphere |delta|_B = R_K, t >= 1, it is at least t times its value there, which
the first bound says. -g.delta <= |g|_{B^-1} |delta|_B. Every point lies in one shell or beyond, so the envelope is
nowhere below the density over e^{-U(theta_0)}, whatever theta_0, B and the radii are: they change how many proposals it
takes. []
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincc, gammainccinv, gammaln

from tacit.private_samplers.entropy_arrays import normals, uniforms

# (R, theta_0's inverse B) -> A, with delta'A delta / 2 below F + m/2 |.|^2 less its tangent wherever |delta|_B <= R.
Minorant = Callable[[float], Any]

_SAFE = 1e-9  # of a matrix's largest eigenvalue: more than the rounding of a sum over a million rows
_SHELLS = (  # R_k less the square root of p: where a normal distribution has its mass
    (0.5, 2.0, 4.0, 8.0),
    (-1.0, 0.0, 1.0, 2.0, 3.0, 5.0, 8.0),
    (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0),
)


@dataclass(frozen=True, eq=False)
class ShellEnvelope:
    """The pieces: the shells, and then what lies beyond, if anything is known of it."""

    centre: Any
    metric: Any  # B
    radii: tuple[float, ...]  # R_0 = 0, R_1, ..., R_K
    curvatures: Any  # A_k, (K, p, p)
    roots: Any  # A_k^-1 = root root', and B^-1 last
    ranges: Any  # the chi-square distribution's survival at both ends, (K, 2)
    push: float  # |g| in the norm of B^-1
    rate: float  # c
    log_masses: Any  # of every piece

    @property
    def log_mass(self) -> float:
        """That of the whole envelope."""
        return float(np.logaddexp.reduce(self.log_masses))

    def propose(self, count: int, source: Any) -> tuple[Any, Any]:
        """``count`` independent points (count, size) and the log of the envelope at each; inf at those refused."""
        size, last = len(self.centre), len(self.radii) - 1
        z, u = normals((count, size), source), uniforms((count, 2), source)
        shares = np.cumsum(np.exp(self.log_masses - self.log_mass))
        piece = np.minimum(np.searchsorted(shares, u[:, 0] * shares[-1]), last)
        ray = z / np.linalg.norm(z, axis=1, keepdims=True)
        ends = np.concatenate([self.ranges, [[float(gammaincc(size, self.rate * self.radii[-1])), 0.0]]])[piece]
        survival = np.maximum(ends[:, 1] + u[:, 1] * (ends[:, 0] - ends[:, 1]), 1e-300)
        within = np.sqrt(2 * gammainccinv(size / 2, survival))
        length = np.where(piece == last, gammainccinv(size, survival) / self.rate, within)
        delta = length[:, None] * np.einsum("nij,nj->ni", self.roots[piece], ray)
        away = np.sqrt(np.einsum("ni,ij,nj->n", delta, self.metric, delta))
        own = np.searchsorted(np.array(self.radii[1:]), away)  # the shell it lies in, or `last` beyond
        bowl = np.einsum("ni,nij,nj->n", delta, self.curvatures[np.minimum(piece, last - 1)], delta) / 2
        reach = self.push * np.array(self.radii[1:])[np.minimum(piece, last - 1)]
        log_height = np.where(piece == last, -self.rate * away, reach - bowl)
        return self.centre + delta, np.where(own == piece, log_height, np.inf)


def shell_envelope(centre: Any, gradient: Any, metric: Any, minorant: Minorant) -> ShellEnvelope | None:
    """That of least mass among a few choices of radii; None where rounding leaves no matrix positive definite."""
    found: list[ShellEnvelope] = []
    for shells in _SHELLS:
        radii = [math.sqrt(len(centre)) + apart for apart in shells]
        try:
            one = _of_radii(centre, gradient, metric, minorant, [radius for radius in radii if radius > 0.2])
        except np.linalg.LinAlgError:
            continue
        if one is not None and math.isfinite(one.log_mass):
            found.append(one)
    return min(found, key=lambda one: one.log_mass, default=None)


def _of_radii(centre: Any, gradient: Any, metric: Any, minorant: Minorant, radii: list[float]) -> ShellEnvelope | None:
    size = len(centre)
    root = np.linalg.inv(np.linalg.cholesky(metric)).T  # B^-1 = root root'
    # What is relative to B is off by about its condition number times 2^-53 for each of its rows.
    loose = _SAFE + 1e-15 * size * float(np.linalg.cond(metric))
    push = float(np.linalg.norm(root.T @ gradient)) * (1 + loose)
    log_det = float(np.linalg.slogdet(metric)[1])
    curvatures, roots, ranges, masses, before, least = [], [], [], [], 0.0, 0.0
    for radius in radii:
        curvature = minorant(radius)
        curvature = curvature - _SAFE * float(np.linalg.eigvalsh(curvature)[-1]) * np.eye(size)
        relative = np.linalg.eigvalsh(root.T @ curvature @ root)
        least, largest = max(0.0, float(relative[0]) - loose), float(relative[-1]) + loose
        factor = np.linalg.cholesky(curvature)
        ends = [float(gammaincc(size / 2, v / 2)) for v in (least * before**2, largest * radius**2)]
        log_size = size / 2 * math.log(2 * math.pi) - float(np.log(np.diag(factor)).sum())
        masses.append(push * radius + log_size + _log(ends[0] - ends[1]))
        curvatures.append(curvature)
        roots.append(np.linalg.inv(factor).T)
        ranges.append(ends)
        before = radius
    rate = least * radii[-1] / 2 - push
    if rate <= 0:
        return None
    log_area = math.log(2) + size / 2 * math.log(math.pi) - math.lgamma(size / 2)
    beyond = _log(float(gammaincc(size, rate * radii[-1])))
    masses.append(log_area - log_det / 2 + float(gammaln(size)) - size * math.log(rate) + beyond)
    return ShellEnvelope(
        centre,
        metric,
        (0.0, *radii),
        np.array(curvatures),
        np.array([*roots, root]),
        np.array(ranges),
        push,
        rate,
        np.array(masses),
    )


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
