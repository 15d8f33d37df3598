"""Where the next round of noisy scores is taken, and how the budget is shared out over rounds.

All of it is post-processing: it sees the public plan, the number of rows and what earlier rounds released, and no row.
Whatever the released values are, a step is finite, of limited size, and the same on every run.

Notation: a row has the design vector x (its first entry 1) in mapped units, eta = x'theta, M' = w the information of a
row about its eta. A normal stand-in for x, with mean m and covariance V from the released Gram matrix, gives

    D(theta) = n E[x M(x'theta)],    H(theta) = n E[w(x'theta) x x']

by Stein's identity and one-dimensional sums. It only guides steps; inference anchors it to what was released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from tacit.models.score_round import Round
from tacit.samplers.score_curve import InformationCurve, curve_of

LIMIT = 32.0  # of each entry of a point: beyond it no linear predictor of a mapped row says more
_USUAL_MEAN, _USUAL_VARIANCE = 0.5, 0.12  # of a column in mapped units
_REACH = 3.0  # how far a step may move the linear predictor of a typical row


@dataclass(frozen=True)
class StandIn:
    """A normal distribution that stands in for the covariates where more than their second moments matters."""

    n: float
    mean: Any
    covariance: Any
    curve: InformationCurve

    def mean_score(self, theta: Any) -> Any:
        """D(theta)."""
        f = self._smoothed(theta)
        return self.n * (self.mean * f[0] + self.covariance @ theta * f[1])

    def information(self, theta: Any) -> Any:
        """H(theta)."""
        f = self._smoothed(theta)
        q = self.covariance @ theta
        cross = np.outer(self.mean, q)
        second = np.outer(self.mean, self.mean) + self.covariance
        return self.n * (second * f[1] + (cross + cross.T) * f[2] + np.outer(q, q) * f[3])

    def information_between(self, a: Any, b: Any) -> Any:
        """The mean of H from a to b, by Simpson's rule: what carries a score from one to the other."""
        return (self.information(a) + 4 * self.information((a + b) / 2) + self.information(b)) / 6

    def _smoothed(self, theta: Any) -> Any:
        return self.curve.smoothed(self.mean @ theta, np.maximum(theta @ self.covariance @ theta, 0.0), np, ndtr)


def symmetric(upper: Any, p: int) -> Any:
    """A symmetric matrix from its upper triangle, row by row."""
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = upper
    return matrix + np.triu(matrix, 1).T


def positive(matrix: Any, scale: float) -> Any:
    """A positive definite matrix near ``matrix``, whose entries have noise of that scale.

    An eigenvalue far above the noise stays what it is; one that noise alone could have made becomes about the noise.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * ((values + np.sqrt(values**2 + 4 * scale**2)) / 2)) @ vectors.T


def stand_in(rounds: Sequence[Round], values: Sequence[Any], n: float, link: Any) -> StandIn:
    """The normal stand-in from the matrices that were released at or nearest to theta = 0."""
    p, curve = len(rounds[0].point), curve_of(link.kind, link.clamp)
    with_matrix = [i for i, one in enumerate(rounds) if one.matrix]
    usual = StandIn(n, np.eye(p)[0], np.diag([0.0] + [0.1] * (p - 1)), curve)
    if not with_matrix:
        return usual
    first = min(with_matrix, key=lambda i: float(np.linalg.norm(rounds[i].point)))
    shrink = float(curve.information(0.0)) * n
    gram = symmetric(np.asarray(values[first], float)[p:], p) / shrink
    scale = rounds[first].matrix_scale * (1.5 if rounds[first].laplace else 1.0) / shrink
    trust_mean, trust = 1 / (1 + (scale / _USUAL_MEAN) ** 2), 1 / (1 + (scale / _USUAL_VARIANCE) ** 2)
    mean = np.concatenate([[1.0], np.clip(trust_mean * gram[0, 1:], -1.0, 1.0)])
    covariance = np.zeros((p, p))
    inner = gram[1:, 1:] - np.outer(mean[1:], mean[1:])
    # where noise hides the variances, usual ones stand in: taken for real, noise would make a narrow prior of theta
    inner = trust * inner + (1 - trust) * _USUAL_VARIANCE * np.eye(p - 1)
    covariance[1:, 1:] = _capped(positive(inner, max(trust * scale / 2, 1e-6)))
    return StandIn(n, mean, covariance, curve)


def _capped(covariance: Any) -> Any:
    # entries of mapped columns have size at most 1
    spread = np.sqrt(np.maximum(np.diag(covariance), 1.0))
    return covariance / np.outer(spread, spread)


def estimate(
    rounds: Sequence[Round], values: Sequence[Any], model: StandIn, prior_mean: Any, prior_sd: Any, start: Any
) -> Any:
    """The point that scores and prior make most plausible under the stand-in, by damped Gauss-Newton steps.

    Each round says where the score is 0: S_k + D(theta_k) = D(theta) + error. The rounds are averaged with weights, the
    inverse of noise plus the discount of `discount`, so that the rows' own variation J counts once. An error in the
    information of a direction is worth as much as noise in its scores: both shorten the step there.
    """
    p = len(rounds[0].point)
    points = [np.array(one.point) for one in rounds]
    implied = [np.asarray(v, float)[:p] + model.mean_score(point) for v, point in zip(values, points, strict=True)]
    noise = [one.score_scale * (2**0.5 if one.laplace else 1.0) for one in rounds]
    doubt = min([one.matrix_scale for one in rounds if one.matrix] or [0.0])
    theta, best, damping = np.array(start, float), np.inf, 1e-2
    kept: Any = (theta, np.zeros(p), np.eye(p))
    for _ in range(40):
        bend = positive(model.information(theta), 1e-12 * model.n)
        between = [positive(model.information_between(theta, at), 1e-12 * model.n) for at in points]
        weights = [
            np.linalg.inv(sd**2 * np.eye(p) + discount(mean, theta - at)[0] * mean)
            for sd, at, mean in zip(noise, points, between, strict=True)
        ]
        spread = np.linalg.inv(sum(weights))
        mean = spread @ sum(w @ one for w, one in zip(weights, implied, strict=True))
        residual, inner = mean - model.mean_score(theta), np.linalg.inv(spread + bend)
        value = float(np.sum(((theta - prior_mean) / prior_sd) ** 2) + residual @ inner @ residual)
        if value < best:
            gradient = bend @ inner @ residual - (theta - prior_mean) / prior_sd**2
            curvature = bend @ inner @ bend + doubt**2 * inner + np.diag(prior_sd**-2.0)
            best, damping, kept = value, damping / 4, (theta, gradient, curvature)
        else:
            damping *= 6
            if damping > 1e5:
                break
        at, gradient, curvature = kept
        theta = at + np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), gradient)
    return kept[0]


def discount(information: Any, step: Any) -> tuple[float, float]:
    """What multiplies J in the variance of a score away from the anchor, and J x J in that of an information.

    With d^2 = step'J step / J_00, the mean square by which the linear predictors of rows move, the information that the
    stand-in predicts is off by about d in units of J: its eigenvalues, in those units, by BEND d, whatever p is. A
    score is taken to be off by as much times its distance: with care, since a slope that is right at the anchor would
    leave half of it.
    """
    size = float(step @ information @ step)
    square = BEND**2 * 2 / (1 + len(step)) * size / max(float(information[0, 0]), 1e-300)
    return square * size, square


BEND = 0.4  # on real tables eigenvalues are off by 0.05 to 0.28 d, as a root of a mean square


def default_prior(model: StandIn, sds: float = 2.5, intercept: float = 5.0) -> tuple[Any, Any]:
    """Mean 0 and 2.5 / sd(x) for each coefficient, in mapped units; the intercept's is that of a centred design.

    With b the slopes, the intercept at x = 0 is that at the mean of x less b'mean(x).
    """
    spread = np.sqrt(np.maximum(np.diag(model.covariance)[1:], 1e-4))
    slopes = sds / spread
    shift = float(np.sum((slopes * model.mean[1:]) ** 2))
    return np.zeros(len(model.mean)), np.concatenate([[np.sqrt(intercept**2 + shift)], slopes])


def next_point(rounds: Sequence[Round], values: Sequence[Any], n: float, link: Any) -> tuple[float, ...]:
    """theta of the next round. It never raises: where nothing can be computed, it stays where it is."""
    last = np.array(rounds[-1].point)
    try:
        with np.errstate(all="ignore"):
            clean = [np.clip(np.nan_to_num(np.asarray(v, float)), -1e12, 1e12) for v in values]
            model = stand_in(rounds, clean, float(n), link)
            mean, sd = link.pinned(*default_prior(model))
            found = estimate(rounds, clean, model, mean, sd, last)
            step = found - last
            moved = float(np.sqrt(step @ (np.outer(model.mean, model.mean) + model.covariance) @ step))
            found = last + step * min(1.0, _REACH / max(moved, 1e-12))
    except (np.linalg.LinAlgError, FloatingPointError, ValueError, OverflowError):
        found = last
    found = np.where(np.isfinite(found), found, last)
    return tuple(float(value) for value in np.clip(found, -LIMIT, LIMIT))


@dataclass(frozen=True)
class Schedule:
    """What each round is for: its share of mu^2 and the share of the round that its matrix gets, 0 without one."""

    shares: tuple[float, ...]
    matrix: tuple[float, ...]


def default_schedule(p: int, n: int, mu: float) -> Schedule:
    """Eight rounds; the first at theta = 0 and the last have a matrix.

    The first one's carries the shape of the information to every later point. For large effects that is far, and steps
    that take it for the shape there are short: so there are many, and half of the last round is for the information
    where the estimate is. One schedule serves all numbers of rows.
    """
    return Schedule((0.20, 0.06, 0.07, 0.08, 0.09, 0.10, 0.12, 0.28), (0.75, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5))
