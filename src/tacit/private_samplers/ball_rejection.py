"""Exact draws from a logistic posterior whose coefficients are kept in a ball, by rejection under a proved envelope.

The density on |theta| <= r is proportional to exp(-U(theta)), U(theta) = weight sum_i l(y_i x_i'theta) + m/2 |theta|^2
with l(t) = log(1 + e^-t). For any theta_0 in the ball, with g the gradient of U there, delta = theta - theta_0 and any
kappa >= 0,

    -U(theta) <= -U(theta_0) - g.delta - delta'A delta / 2 + kappa (r^2 - |theta|^2) / 2        for |theta| <= r
    A = m I + weight sum_i h_i x_i x_i'

where h_i is the least of 2 (l(u) - l(u_i) - l'(u_i)(u - u_i)) / (u - u_i)^2 over the logits u that the ball allows row
i, |u| <= r |x_i|, u_i = x_i'theta_0. The right side is the logarithm of a Gaussian: proposals come from it, those
outside the ball are refused, and the others are accepted with the ratio of the two sides. So every draw lies in the
ball, and its distribution is the density's, whatever theta_0 and kappa are.

Proof: h_i is a minorant by its definition, and kappa (r^2 - |theta|^2) is not negative in the ball. The fraction that
defines h_i is the mean of l''(u_i + t (u - u_i)) over t with the weight 2 (1 - t). l'' rises up to 0 and falls after
it, the same on both sides. With f(v) = l''(u_i + v), s^3 times the derivative of the mean in s = u - u_i > 0 is 2 J(s),
J(s) = int_0^s (s - v) v f'(v) dv, and J' = int_0^s v f'(v) dv rises and then falls, from 0: so J changes its sign once
at most, from + to -, the mean rises and then falls, and its least value is at an end; s < 0 is the mirror image. Hence
h_i is the less of the values at u = r |x_i| and u = -r |x_i|. []

kappa is chosen where the envelope has the least mass: where the proposal's E|theta|^2 is r^2, or 0. theta_0 is the
minimum of U over the ball, up to arithmetic. Then for every table a share of at least (4 l''(c))^(p/2) of what a
Gaussian cut off at the ball would accept is accepted, c = r R the largest logit: with rho = 4 l''(c), all h_i are at
least rho / 4 and l'' at most 1/4, so that U(theta) - U(theta_0) <= g.delta + delta'A delta / (2 rho), and the
substitution delta -> sqrt(rho) delta, which maps the ball's points seen from theta_0 into themselves, gives it.
Proposals are made until one is accepted, so that there is no failure; how many there were must not be shown to anybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.private_samplers.entropy_arrays import normals, uniforms

_BLOCK, _MOST_AT_ONCE = 4096, 2**22  # proposals; proposals times rows
_NEWTON, _HALVINGS = 100, 60
_CLOSE = 1e-2  # logits apart, below which the mean of l'' is bounded by its ends


def draw_in_ball(x: Any, y: Any, *, weight: float, precision: float, radius: float, draws: int, source: Any) -> Any:
    """``draws`` independent draws (draws, size); x (n, size), y (n,) of -1 and 1."""
    density = _Density(x, y, weight, precision)
    found = _envelope(density, radius)
    block = max(16, min(_BLOCK, _MOST_AT_ONCE // max(1, len(y))))
    points: list[Any] = []
    while len(points) < draws:
        theta, log_height = found.propose(block, source)
        log_u = np.log(uniforms((block,), source))
        inside = np.flatnonzero(np.sum(theta**2, axis=1) <= radius**2)
        log_ratio = found.value - density.potentials(theta[inside]) - log_height[inside]
        points.extend(theta[inside[log_u[inside] < log_ratio]])
    return np.array(points[:draws])


@dataclass(frozen=True, eq=False)
class _Density:
    """U and what is needed of it."""

    x: Any
    y: Any
    weight: float
    m: float

    def potentials(self, thetas: Any) -> Any:
        """U of each theta (count, size)."""
        losses = np.logaddexp(0.0, -self.y * (thetas @ self.x.T)).sum(axis=1)
        return self.weight * losses + self.m / 2 * np.sum(thetas**2, axis=1)

    def gradient(self, theta: Any) -> Any:
        """That of U."""
        return -self.weight * (self.y * _falling(self.y * (self.x @ theta))) @ self.x + self.m * theta

    def hessian(self, theta: Any) -> Any:
        """That of U."""
        return self.gram(_second(self.x @ theta))

    def gram(self, h: Any) -> Any:
        """m I + weight sum_i h_i x_i x_i'."""
        return self.m * np.eye(self.x.shape[1]) + self.weight * (self.x.T * h) @ self.x

    def minimum(self, extra: float, start: Any) -> Any:
        """Near the minimum of U + ``extra`` / 2 |theta|^2, by damped Newton steps."""
        theta = start
        value = self._penalised(theta, extra)
        for _ in range(_NEWTON):
            gradient = self.gradient(theta) + extra * theta
            values, vectors = np.linalg.eigh(self.hessian(theta))
            step = vectors @ ((vectors.T @ gradient) / (np.maximum(values, self.m) + extra))
            if gradient @ step < 1e-14 * abs(value):
                break
            share = 1.0
            while share > 1e-6 and not self._penalised(theta - share * step, extra) < value:
                share /= 2
            if share <= 1e-6:
                break
            theta = theta - share * step
            value = self._penalised(theta, extra)
        return theta

    def _penalised(self, theta: Any, extra: float) -> float:
        return float(self.potentials(theta[None])[0]) + extra / 2 * float(theta @ theta)


@dataclass(frozen=True, eq=False)
class _Envelope:
    """The Gaussian above the density; ``value`` is U at ``centre``, to which both are relative."""

    centre: Any
    value: float
    gradient: Any  # g
    curvature: Any  # A
    kappa: float
    radius: float
    mean: Any
    root: Any  # root root' is the covariance

    def propose(self, count: int, source: Any) -> tuple[Any, Any]:
        """Points (count, size) and the logarithm of the envelope at each."""
        theta = self.mean + normals((count, len(self.mean)), source) @ self.root.T
        delta = theta - self.centre
        bowl = np.einsum("ij,jk,ik->i", delta, self.curvature, delta) / 2
        return theta, self.kappa / 2 * (self.radius**2 - np.sum(theta**2, axis=1)) - delta @ self.gradient - bowl


def _envelope(density: _Density, radius: float) -> _Envelope:
    centre = _lowest(density, radius)
    g = density.gradient(centre)
    reach = radius * np.sqrt(np.sum(density.x**2, axis=1))
    curvature = density.gram(least_curvature(density.x @ centre, reach))
    values, vectors = np.linalg.eigh(curvature)
    values = np.maximum(values, density.m)

    def proposal(kappa: float) -> tuple[Any, Any]:
        pull = vectors.T @ (g + kappa * centre)
        return centre - vectors @ (pull / (values + kappa)), 1 / (values + kappa)

    def too_wide(kappa: float) -> bool:
        mean, variances = proposal(kappa)
        return float(mean @ mean + variances.sum()) > radius**2

    kappa = _smallest(too_wide, len(centre) / radius**2)
    mean, variances = proposal(kappa)
    value = float(density.potentials(centre[None])[0])
    return _Envelope(centre, value, g, curvature, kappa, radius, mean, (vectors * np.sqrt(variances)) @ vectors.T)


def _lowest(density: _Density, radius: float) -> Any:
    """The minimum of U over the ball: that of U with just enough added precision to lie inside."""
    zero = np.zeros(density.x.shape[1])
    free = density.minimum(0.0, zero)
    if float(free @ free) <= radius**2:
        return free
    found = [zero]

    def outside(extra: float) -> bool:
        theta = density.minimum(extra, found[-1])
        found.append(theta)
        return float(theta @ theta) > radius**2

    theta = density.minimum(_smallest(outside, 1 / radius**2), found[-1])
    return theta * min(1.0, radius / math.sqrt(float(theta @ theta)))


def least_curvature(at: Any, reach: Any) -> Any:
    """h of each row: the largest curvature of a parabola that touches l at ``at`` and lies below it up to +-reach."""
    return least_between(np.clip(at, -reach, reach), -reach, reach)


def least_between(at: Any, low: Any, high: Any) -> Any:
    """The same from ``low`` to ``high``, low <= at <= high."""
    return np.minimum(_mean_second(at, high), _mean_second(at, low)) * (1 - 1e-9)


def _mean_second(at: Any, end: Any) -> Any:
    """2 (l(end) - l(at) - l'(at) (end - at)) / (end - at)^2, or where they are close the less of l'' at both."""
    at, end = np.abs(at), np.where(at < 0, -end, end)  # l'' is even; far below 0 the difference would cancel
    apart = end - at
    rise = np.logaddexp(0.0, -end) - np.logaddexp(0.0, -at) + _falling(at) * apart
    far = np.abs(apart) > _CLOSE
    return np.where(far, 2 * rise / np.where(far, apart, 1.0) ** 2, np.minimum(_second(at), _second(end)))


def _falling(t: Any) -> Any:
    """-l'(t) = 1 / (1 + e^t)."""
    return np.exp(-np.logaddexp(0.0, t))


def _second(t: Any) -> Any:
    """l''(t)."""
    return np.exp(-np.logaddexp(0.0, t) - np.logaddexp(0.0, -t))


def _smallest(too_small: Any, scale: float) -> float:
    """The least number of at least 0 that is not too small, nearly and from above."""
    if not too_small(0.0):
        return 0.0
    low, high = 0.0, scale
    while too_small(high) and high < 1e300:
        low, high = high, 4 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if too_small(middle) else (low, middle)
        if high - low <= 1e-6 * high:
            break
    return high
