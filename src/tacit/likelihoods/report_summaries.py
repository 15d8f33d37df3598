"""Summaries of N local reports whose size, and so the cost of a gradient, does not grow with N.

Numbers plus Laplace noise: `binned`. Outside the bounds the log density of a report is that at the nearer end plus a
term free of the parameters, so reports are clamped to the bounds. Inside, each report is shared out between the two
nodes of an equal grid that surround it, in proportion to its nearness (linear binning): the sum over reports of
log p(z) becomes the sum over nodes of weight times log p(node), which replaces log p by its chords.

Error. With the noise scale b and nodes h apart, p'' = (p - f) / b^2 inside the bounds, where f is the density of the
clamped value without its atoms, and |p'| <= p / b. Hence -f / (p b^2) <= (log p)'' <= 1 / b^2, and a chord is off by

    at most  h^2 / (8 b^2) max(1, f / p)  a report.

For counts on a lattice that is part of the grid f is 0. For a normal law f / p <= 2 e^(1/2) / (1 - e^(-sd/b)): within
one sd of z, on the side of the mean, the density is at least e^(-1/2) f(z), and clamping only brings values nearer to
z. For an exponential law f / p <= 2 (1 + b rate), because beyond z the density falls by e^(-rate x). In the mean over
reports that follow the law, max(1, f / p) is at most 2 whatever the law is, so that N reports are off by less than
N h^2 / (4 b^2). That is 0.06 for a million reports at epsilon = 2 on 4096 nodes; nearly all of it is the same for every
parameter that the posterior allows.

Categories: `response_counts`. Bits of unary encoding: the counts of all 2^k patterns (`pattern_counts`), the distinct
patterns with multiplicities (`distinct_patterns`), or for many reports the third-order expansion of the log likelihood
in the shares (`unary_expansion`). Regression with normal noise: `moment_sums`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import expected

NODES = 4096
MOST_PATTERN_BITS = 16
_CHUNK = 2**16
_NEWTON_STEPS = 60
_NEAR = 0.25  # twice the drop from the peak at which the centre is near enough: half a standard deviation


def grid_nodes(lattice: int | None = None, least: int = NODES) -> int:
    """How many nodes a grid should have: at least ``least``, and one at each of ``lattice`` + 1 counts if given."""
    if lattice is None:
        return least
    return lattice * -(-(least - 1) // lattice) + 1


def binned(reports: Any, low: float, high: float, nodes: int = NODES) -> Any:
    """The weight of each of ``nodes`` equal steps from ``low`` to ``high``, both ends included: see above."""
    if nodes < 2:
        raise expected("nodes", nodes, "to be at least 2")
    places = np.clip((np.asarray(reports, np.float64) - low) / (high - low), 0.0, 1.0) * (nodes - 1)
    left = np.minimum(places.astype(np.int64), nodes - 2)
    share = places - left
    upper = np.bincount(left + 1, share, minlength=nodes)
    return np.bincount(left, 1 - share, minlength=nodes) + upper


def response_counts(reports: Any, items: int) -> Any:
    """How often each of ``items`` categories was reported."""
    return np.bincount(reports, minlength=items).astype(np.float64)


def pattern_counts(bits: Any) -> Any:
    """How often each of the 2^k patterns of ``bits`` (N, k) was reported; bit j counts 2^j."""
    items = np.shape(bits)[1]
    if items > MOST_PATTERN_BITS:
        raise expected("items", items, f"to be at most {MOST_PATTERN_BITS} for a table of all patterns")
    codes = np.asarray(bits).astype(np.int64) @ (1 << np.arange(items))
    return np.bincount(codes, minlength=2**items).astype(np.float64)


def distinct_patterns(bits: Any) -> tuple[Any, Any]:
    """The distinct rows of ``bits`` (N, k) as (rows, k) zeros and ones (uint8), and how often each occurs."""
    packed = np.packbits(np.asarray(bits, np.uint8), axis=1)
    whole = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    found, counts = np.unique(whole, return_counts=True)
    rows = found.view(np.uint8).reshape(len(found), packed.shape[1])
    return np.unpackbits(rows, axis=1, count=np.shape(bits)[1]), counts.astype(np.float64)


def moment_sums(reports: Any) -> Any:
    """The sum of v v' over reports, v = (1, report): for `report_densities.linear_reports`."""
    v = np.column_stack([np.ones(len(reports)), np.asarray(reports, np.float64)])
    return v.T @ v


@dataclass(frozen=True, eq=False)
class UnaryExpansion:
    """The log likelihood of unary reports around ``centre``, to third order in d = theta - centre:

        slope . d + d' curvature d / 2 + sum_ijk third_ijk d_i d_j d_k / 6

    ``error`` is the mean, over the normal law with this curvature, of the size of the fourth-order term.
    """

    centre: Any
    slope: Any
    curvature: Any
    third: Any
    error: float

    @property
    def numbers(self) -> Any:
        """All of it as one list of k + k + k^2 + k^3 numbers."""
        return np.concatenate([np.ravel(part) for part in (self.centre, self.slope, self.curvature, self.third)])


def unary_expansion(bits: Any, counts: Any, epsilon: float) -> UnaryExpansion:
    """Expand sum_u counts_u log(a + (1 - a) theta . bits_u), a = e^-epsilon, around its peak.

    With w_u = (1 - a) / (a + (1 - a) centre . bits_u) the derivatives of order m are sums over reports of
    (-1)^(m-1) (m - 1)! w^m times products of m bits. They cost one pass over the reports, and nothing afterwards.

    Error. Put x_u = w_u bits_u . d. The series is that of log(1 + x), whose first neglected term is -x^4 / 4. Where the
    posterior is about normal, sum_u x_u^2 is about a chi-square of k - 1 degrees, so each x_u^2 is near k / N and the
    neglected sum is near 3 k^2 / (4 N): 0.002 for a million reports on 50 items, whatever epsilon is.

    The centre is where the log likelihood plus sum_j log theta_j is largest: inside the simplex, and within the
    posterior of any prior that is weak against the reports.
    """
    bits, counts = np.asarray(bits, np.uint8), np.asarray(counts, np.float64)
    a = math.exp(-epsilon)
    centre = _peak(bits, counts, a)
    slope, curvature = _derivatives(bits, counts, a, centre)
    third = np.zeros((bits.shape[1],) * 3)
    for z, n in _chunks(bits, counts):
        cubes = (2 * n * _weights(z, a, centre) ** 3).astype(np.float32)
        single = z.astype(np.float32)  # six digits are more than a third-order term needs
        for j in range(bits.shape[1]):
            rows = np.flatnonzero(z[:, j])
            chosen = single[rows]
            third[j] += chosen.T @ (cubes[rows, None] * chosen)
    return UnaryExpansion(centre, slope, curvature, third, _neglected(bits, counts, a, centre, curvature))


def _chunks(bits: Any, counts: Any) -> Any:
    for start in range(0, len(bits), _CHUNK):
        yield bits[start : start + _CHUNK].astype(np.float64), counts[start : start + _CHUNK]


def _weights(z: Any, a: float, theta: Any) -> Any:
    return (1 - a) / (a + (1 - a) * (z @ theta))


def _derivatives(bits: Any, counts: Any, a: float, theta: Any) -> tuple[Any, Any]:
    items = bits.shape[1]
    slope, curvature = np.zeros(items), np.zeros((items, items))
    for z, n in _chunks(bits, counts):
        weights = _weights(z, a, theta)
        slope += (n * weights) @ z
        single = z.astype(np.float32)
        curvature -= single.T @ ((n * weights**2).astype(np.float32)[:, None] * single)
    return slope, curvature


def _log_likelihood(bits: Any, counts: Any, a: float, theta: Any) -> float:
    return sum(float(n @ np.log(a + (1 - a) * (z @ theta))) for z, n in _chunks(bits, counts))


def _peak(bits: Any, counts: Any, a: float) -> Any:
    """Newton's method for sum_u counts_u log(a + (1 - a) theta . bits_u) + sum_j log theta_j on the simplex.

    The function is concave. A step is halved until theta stays positive and the function rises. It is first done on
    every 16th row where there are many, which brings it so near that few steps on all rows remain.
    """
    items = bits.shape[1]
    theta = np.full(items, 1 / items)
    thinner = [16] if len(bits) > 16 * _CHUNK else []
    for stride in (*thinner, 1):
        some, n = bits[::stride], counts[::stride] * (counts.sum() / counts[::stride].sum())
        value = _log_likelihood(some, n, a, theta) + np.log(theta).sum()
        for _ in range(_NEWTON_STEPS):
            slope, curvature = _derivatives(some, n, a, theta)
            gradient = slope + 1 / theta
            system = np.ones((items + 1, items + 1))
            system[:items, :items] = np.diag(1 / theta**2) - curvature
            system[items, items] = 0
            step = np.linalg.solve(system, np.append(gradient, 0.0))[:items]
            decrement = float(step @ gradient)
            if decrement < _NEAR:
                break
            length = min(1.0, 0.99 / max(float(np.max(-step / theta)), 1e-9))
            for _ in range(40):
                moved = theta + length * step
                new = _log_likelihood(some, n, a, moved) + np.log(moved).sum()
                if new > value:
                    theta, value = moved, new
                    break
                length /= 2
            else:
                break
    return theta / theta.sum()


def _neglected(bits: Any, counts: Any, a: float, centre: Any, curvature: Any) -> float:
    """sum_u counts_u E[x_u^4] / 4 for d normal on the simplex, precision -curvature plus that of sum_j log theta_j."""
    items = len(centre)
    basis = np.linalg.qr(np.column_stack([np.ones(items), np.eye(items)[:, 1:]]))[0][:, 1:]
    precision = basis.T @ (np.diag(1 / centre**2) - curvature) @ basis
    spread = basis @ np.linalg.solve(precision, basis.T)
    total = 0.0
    for z, n in _chunks(bits, counts):
        squares = _weights(z, a, centre) ** 2 * np.einsum("ui,ui->u", z @ spread, z)
        total += float(n @ (3 * squares**2)) / 4
    return total
