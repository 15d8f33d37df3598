"""The information of a row about its linear predictor as a sum of bell curves, so that every smoothed moment is exact.

w(eta) = sum_i a_i phi((eta - c_i) / s_i) / s_i. If eta ~ N(m, v), then with r_i^2 = s_i^2 + v and z_i = (m - c_i) / r_i

    E[M] = sum a_i Phi(z_i),   E[w] = sum a_i phi(z_i) / r_i,   E[w'] = -sum a_i z_i phi(z_i) / r_i^2,
    E[w''] = sum a_i (z_i^2 - 1) phi(z_i) / r_i^3,              E[b] = sum a_i r_i (z_i Phi(z_i) + phi(z_i)),

for any v: a quadrature in eta would meet the bell of w between two nodes where v is large. Each a_i is positive, so the
information of any normal design is positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

# Monahan and Stefanski (1992), eight terms: the logistic distribution function as a mixture of normal ones, to 3e-9.
_LOGISTIC = (
    (0.003246343272134, 1.365340806296348),
    (0.051517477033972, 1.059523971016916),
    (0.195077912673858, 0.830791313765644),
    (0.315569823632818, 0.650732166639391),
    (0.274149576158423, 0.508135425366489),
    (0.131076880695470, 0.396313345166341),
    (0.027912418727972, 0.308904252267995),
    (0.001449567805354, 0.238212616409306),
)
_SPACING, _LOWEST, _ABOVE = 0.5, -14.0, 3.0  # of the bells of a count's information
_KINK = 0.1  # at most, where a row's weight begins to fall


@dataclass(frozen=True, eq=False)
class InformationCurve:
    """Heights a, centres c and widths s of the bells."""

    heights: Any
    centres: Any
    widths: Any

    def smoothed(self, mean: Any, variance: Any, np: Any, ndtr: Any) -> tuple[Any, Any, Any, Any, Any]:
        """E[M], E[w], E[w'], E[w''] and E[b] for eta ~ N(mean, variance); ``np`` may be jax.numpy."""
        r = np.sqrt(self.widths**2 + variance[..., None])
        z = (mean[..., None] - self.centres) / r
        below, bell = self.heights * ndtr(z), self.heights * np.exp(-z * z / 2) / _ROOT
        return (
            np.sum(below, -1),
            np.sum(bell / r, -1),
            np.sum(-z * bell / r**2, -1),
            np.sum((z * z - 1) * bell / r**3, -1),
            np.sum(r * (z * below + bell), -1),
        )

    def information(self, eta: Any) -> Any:
        """w."""
        z = (np.asarray(eta, float)[..., None] - self.centres) / self.widths
        return np.sum(self.heights * np.exp(-z * z / 2) / _ROOT / self.widths, -1)


_ROOT = float(np.sqrt(2 * np.pi))


@lru_cache(maxsize=16)
def curve_of(kind: str, clamp: int | None = None) -> InformationCurve:
    """The curve of a link: logistic, or for counts up to ``clamp`` log (mean e^eta) or softplus (log(1 + e^eta))."""
    if kind == "logistic":
        heights, rates = np.array(_LOGISTIC).T
        return InformationCurve(heights, np.zeros(len(rates)), 1 / rates)
    from scipy.optimize import nnls

    top = float(clamp or 1)
    centres = _closer_to_the_clamp(top) if kind == "log" else _wider_with_the_mean(top)
    gaps = np.gradient(centres)
    eta = np.concatenate([np.linspace(a, b, 4, endpoint=False) for a, b in pairwise(centres)])
    target = count_information(kind, int(top), eta)
    bells = np.exp(-(((eta[:, None] - centres) / (1.2 * gaps)) ** 2) / 2) / _ROOT / (1.2 * gaps)
    scale = np.maximum(target, 0.05 * np.maximum.accumulate(target))[:, None]  # beyond the clamp it falls off a cliff
    heights, _ = nnls(bells / scale, (target[:, None] / scale)[:, 0], maxiter=20_000)
    kept = heights > 0
    return InformationCurve(heights[kept], centres[kept], 1.2 * gaps[kept])


def _closer_to_the_clamp(top: float) -> Any:
    # at log(top) the information e^eta falls to nothing within a few 1 / sqrt(top), the sd of the log of a count there
    sd = top**-0.5
    gap = min(0.35 * sd, _KINK)
    near = np.arange(np.log(top) - 2 * sd, np.log(top) + 3 * sd, gap)
    below = [near[0]]
    while below[-1] > _LOWEST:
        gap = min(_SPACING, 1.3 * gap)
        below.append(below[-1] - gap)
    return np.concatenate([below[:0:-1], near])


def _wider_with_the_mean(top: float) -> Any:
    # beyond 6 the mean of softplus grows like eta, and the information falls slowly
    found, gap = list(np.arange(_LOWEST, 6.0, _SPACING)), _SPACING
    while found[-1] < 1.3 * max(top, 6.0) + _ABOVE:
        gap = max(_SPACING, min(1.25 * gap, max(2 * _SPACING, top / 40)))
        found.append(found[-1] + gap)
    return np.array(found)


def count_information(kind: str, clamp: int, eta: Any) -> Any:
    """w of a Poisson count that is clamped at ``clamp``, weighted as in `tacit.statistics.score_tables`."""
    from scipy.special import gammainc, gammaln

    eta = np.minimum(np.asarray(eta, float), 600.0)[..., None]
    mean = np.maximum(np.exp(np.minimum(eta, 40.0)) if kind == "log" else np.logaddexp(0.0, eta), 1e-300)
    gradient = mean if kind == "log" else 1 / (1 + np.exp(-eta))
    y = np.arange(clamp)
    probability = np.exp(y * np.log(mean) - mean - gammaln(y + 1.0))
    inner = np.sum(probability * (y / mean - 1) ** 2, -1)
    tail = gammainc(float(clamp), mean)[..., 0]
    top = probability[..., -1] ** 2 / np.maximum(tail, 1e-290)
    down = np.minimum(1.0, clamp / mean[..., 0]) if kind == "log" else 1.0
    return down * gradient[..., 0] ** 2 * (inner + np.where(tail > 1e-290, top, 0.0))


# One bell so wide that w is constant over any predictor: rounds as measurements of one information, a fault for tests.
LINEAR = InformationCurve(np.array([1e4 * _ROOT]), np.zeros(1), np.array([1e4]))
