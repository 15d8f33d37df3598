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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from tacit.models.score_round import Round
from tacit.samplers.score_curve import InformationCurve, curve_of

LIMIT = 32.0  # of each entry of a point, in scales: beyond it no linear predictor of a mapped row says more
_USUAL_MEAN, _USUAL_VARIANCE = 0.5, 0.12  # of a column in mapped units
_REWEIGHTED, _STEPS = 24, 20  # searches for an estimate, and steps of each
_LEVELLED = 5  # steps of one observation
_LEVEL = 0.2  # how wrong a normal distribution may be about a level, times the variance of linear predictors
_REACH = 3.0  # how far a step may move the linear predictor of a typical row


@dataclass(frozen=True)
class StandIn:
    """A normal distribution that stands in for the covariates where more than their second moments matters.

    ``scale`` is how large linear predictors are by nature: 1 for logits and log rates, about the mean count where a
    linear predictor is a count (softplus). ``largest`` is the largest count, where the link is the logarithm.
    """

    n: float
    mean: Any
    covariance: Any
    curve: InformationCurve
    scale: float = 1.0
    largest: float | None = None

    def implied(self, score: Any, point: Any) -> Any:
        """D(theta) where the score is 0, as a released score at ``point`` implies it: S + D(point).

        With the log link and counts up to C = ``largest`` a row has the score a (y - mu) x, a = min(1, C / mu), but for
        the counts at the clamp. Where mu lies beyond C that is more negative than any difference of D. So there the sum
        of a y x is taken for the mean of a times that of y x.
        """
        level, rate, weight = self.level(point)
        return (score + self.n * (self.mean * level + self.covariance @ point * rate)) / max(float(weight), 0.01)

    def level(self, point: Any) -> tuple[float, float, float]:
        """What a row subtracts from its response in its score at ``point``, on average, its derivative in eta, and how
        much the response counts there.
        """
        variance = max(float(point @ self.covariance @ point), 1e-12)
        if self.largest is None:
            smoothed = self._smoothed(point)
            return float(smoothed[0]), float(smoothed[1]), 1.0
        mean, sd, edge = float(self.mean @ point), np.sqrt(variance), np.log(self.largest)
        below = float(np.exp(mean + variance / 2 + log_ndtr((edge - mean - variance) / sd)))  # E[mu; mu < C]
        fewer = float(np.exp(edge + variance / 2 - mean + log_ndtr((mean - edge - variance) / sd)))  # E[a; mu >= C]
        return below + self.largest * float(ndtr((mean - edge) / sd)), below, float(ndtr((edge - mean) / sd)) + fewer

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
    size, largest = _scale(rounds, values, n, link), float(link.clamp) if link.kind == "log" else None
    usual = StandIn(n, np.eye(p)[0], np.diag([0.0] + [0.1] * (p - 1)), curve, size, largest)
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
    covariance[1:, 1:] = _capped(positive(inner, max(trust * scale, 1e-6)))
    found = StandIn(n, mean, covariance, curve, size, largest)
    return _levelled(found, rounds, values, trust_mean * scale)


def _levelled(model: StandIn, rounds: Sequence[Round], values: Sequence[Any], doubt: float) -> StandIn:
    """The stand-in with its mean, known up to noise of sd ``doubt``, moved to where scores put it.

    The first entry of a score says how large the responses are that the point predicts: that of theta = 0 less it. Each
    of them is one observation of the mean along its point (a Kalman step, repeated as the level is no linear function).
    """
    mean, spread = np.array(model.mean), doubt**2 * np.eye(len(model.mean) - 1)
    start = model.level(np.zeros(len(mean)))
    for one, value in zip(rounds[1:], values[1:], strict=True):
        point = np.array(one.point)
        if any(rounds[0].point) or not np.any(point):
            continue
        noise = (rounds[0].score_scale ** 2 + one.score_scale**2) * (2.0 if one.laplace else 1.0) / model.n**2
        before, bend = np.array(mean[1:]), float(point @ model.covariance @ point)
        gain = slope = np.zeros(len(before))
        for _ in range(_LEVELLED):
            level, rate, weight = replace(model, mean=np.concatenate([[1.0], mean[1:]])).level(point)
            seen = weight * (float(values[0][0]) / model.n + start[0]) - float(value[0]) / model.n
            slope = rate * point[1:]
            error = noise + (_LEVEL * rate * bend) ** 2
            gain = spread @ slope / (slope @ spread @ slope + error)
            moved = before + gain * (seen - level - slope @ (before - mean[1:]))
            mean[1:] = np.clip((mean[1:] + moved) / 2, -1.0, 1.0)
        spread = spread - np.outer(gain, slope @ spread)
    return replace(model, mean=mean)


def _scale(rounds: Sequence[Round], values: Sequence[Any], n: float, link: Any) -> float:
    # at theta = 0 the score's first entry is (sum y / log 2 - n) / 2, but for the few counts at the clamp
    if link.kind != "softplus":
        return 1.0
    first = min(range(len(rounds)), key=lambda i: float(np.linalg.norm(rounds[i].point)))
    noise = rounds[first].score_scale * (2**0.5 if rounds[first].laplace else 1.0)
    mean = np.log(2) * (1 + 2 * (float(values[first][0]) + noise) / n)
    return float(np.clip(mean, 1.0, max(link.clamp, 1)))


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
    implied = [model.implied(np.asarray(v, float)[:p], point) for v, point in zip(values, points, strict=True)]
    noise = [one.score_scale * (2**0.5 if one.laplace else 1.0) for one in rounds]
    doubt = min([one.matrix_scale for one in rounds if one.matrix] or [0.0])
    theta, last, speed = np.array(start, float), None, 1.0
    for _ in range(_REWEIGHTED):
        between = [positive(model.information_between(theta, at), 1e-12 * model.n) for at in points]
        weights = [
            np.linalg.inv(sd**2 * np.eye(p) + discount(mean, theta - at)[0] * mean)
            for sd, at, mean in zip(noise, points, between, strict=True)
        ]
        spread = np.linalg.inv(sum(weights))
        mean = spread @ sum(w @ one for w, one in zip(weights, implied, strict=True))
        move = _root(model, mean, spread, doubt, (prior_mean, prior_sd), theta) - theta
        if last is not None and move @ last < -0.5 * (last @ last):  # far away nothing counts, so the prior leads back
            speed /= 2
        theta, last = theta + speed * move, move
        if np.max(np.abs(move)) < 1e-6:
            break
    return theta


def _root(model: StandIn, target: Any, spread: Any, doubt: float, prior: tuple[Any, Any], start: Any) -> Any:
    """Where the stand-in's score is ``target``, known up to ``spread``, or nearer to the prior where that says little.

    With weights that may change on the way, the least misfit would be far from every round, where nothing counts.
    """
    prior_mean, prior_sd = prior
    theta, best, damping = start, np.inf, 1e-2
    inner = np.linalg.inv(spread + positive(model.information(start), 1e-12 * model.n))
    kept: Any = (theta, np.zeros_like(start), np.eye(len(start)))
    for _ in range(_STEPS):
        residual = target - model.mean_score(theta)
        value = float(np.sum(((theta - prior_mean) / prior_sd) ** 2) + residual @ inner @ residual)
        if value < best:
            bend = positive(model.information(theta), 1e-12 * model.n)
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

    With b the slopes, the intercept at x = 0 is that at the mean of x less b'mean(x). All are times the ``scale`` of
    the linear predictor.
    """
    spread = np.sqrt(np.maximum(np.diag(model.covariance)[1:], 1e-4))
    slopes = sds / spread
    shift = float(np.sum((slopes * model.mean[1:]) ** 2))
    return np.zeros(len(model.mean)), model.scale * np.concatenate([[np.sqrt(intercept**2 + shift)], slopes])


def next_point(rounds: Sequence[Round], values: Sequence[Any], n: float, link: Any) -> tuple[float, ...]:
    """theta of the next round. It never raises: where nothing can be computed, it stays where it is."""
    last, limit = np.array(rounds[-1].point), LIMIT
    try:
        with np.errstate(all="ignore"):
            clean = [np.clip(np.nan_to_num(np.asarray(v, float)), -1e12, 1e12) for v in values]
            model = stand_in(rounds, clean, float(n), link)
            mean, sd = link.pinned(*default_prior(model))
            found = estimate(rounds, clean, model, mean, sd, last)
            step = found - last
            moved = float(np.sqrt(step @ (np.outer(model.mean, model.mean) + model.covariance) @ step))
            found = last + step * min(1.0, _REACH * model.scale / max(moved, 1e-12))
            limit = LIMIT * model.scale
    except (np.linalg.LinAlgError, FloatingPointError, ValueError, OverflowError):
        found = last
    found = np.where(np.isfinite(found), found, last)
    return tuple(float(value) for value in np.clip(found, -limit, limit))


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
