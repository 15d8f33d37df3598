"""How likely one person's report is: log densities with the person's own record summed or integrated out.

kulkarni2022 derives most of them. They are written here so that float64 holds them, and their gradients, for every
parameter; where the paper's formula is wrong or overflows, docs/errata.md says how (L3, L4, L5, L7).

Numbers plus Laplace noise. c is a number clamped to [low, high], z = c + Laplace(scale), r = 1 / scale. Then

    p(z) = r/2 S(z),    S(z) = E[exp(-r |z - c|)]

and for z outside the bounds p(z) is p at the nearer end times exp(-r times the distance). Inside them S is at least
exp(-r (high - low)), and every term below is at most 1: nothing under- or overflows, and sums need no logarithms.

Numbers plus Gaussian noise. c is clamped likewise, z = c + N(0, noise^2). Then

    p(z) = S(z) / (noise sqrt(2 pi)),    S(z) = E[exp(-(z - c)^2 / (2 noise^2))].

Every term of S is at most 1. S itself is at least exp(-(|z - nearer bound| + high - low)^2 / (2 noise^2)), so that it
cannot underflow where the bounds are less than 29 noises apart and z is within 8 of them; a floor keeps the logarithm
finite where nothing of privacy is left.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import erfc, ndtr

_SQRT2, _SQRT_2PI = math.sqrt(2.0), math.sqrt(2 * math.pi)
_TAIL_SWITCH = 10.0
_TAIL_SERIES = np.cumprod([1.0, *(-(2.0 * k - 1) for k in range(1, 21))])


def scaled_tail(x: Any) -> Any:
    """R(x) = exp(x^2 / 2) P(Z > x) for x >= 0, to 14 digits: 1/2 at 0, about 1 / (x sqrt(2 pi)) far out."""
    # No minimum and maximum, whose slopes at a tie JAX would halve.
    near = jnp.where(x < _TAIL_SWITCH, x, _TAIL_SWITCH)
    far = jnp.where(x < _TAIL_SWITCH, _TAIL_SWITCH, x)
    square = 1 / far**2
    series = jnp.full_like(square, _TAIL_SERIES[-1])
    for coefficient in _TAIL_SERIES[-2::-1]:
        series = series * square + coefficient
    return jnp.where(x < _TAIL_SWITCH, jnp.exp(near**2 / 2) * erfc(near / _SQRT2) / 2, series / (far * _SQRT_2PI))


def normal_report(z: Any, mean: Any, sd: Any, *, low: float, high: float, scale: float) -> Any:
    """log p(z) for c = clamp(x), x ~ N(mean, sd^2): kulkarni2022, section 10.1, elementwise in ``z``."""
    inside = jnp.clip(z, low, high)
    return _normal_inside(low, high, scale, inside, mean, sd) - jnp.abs(z - inside) / scale - math.log(2 * scale)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _normal_inside(low: float, high: float, scale: float, z: Any, mean: Any, sd: Any) -> Any:
    return jnp.log(sum(_normal_parts(low, high, scale, z, mean, sd)))


def _normal_parts(low: float, high: float, scale: float, z: Any, mean: Any, sd: Any) -> tuple[Any, Any, Any, Any]:
    """The parts of S: below z, above z, at the lower end and at the upper end.

    With n the density of x and m = mean + r sd^2, the part below z is the integral of exp(-r (z - x)) n(x) over
    [low, z], exp(r^2 sd^2 / 2 - r (z - mean)) (Phi((z - m)/sd) - Phi((low - m)/sd)). Its normal tails are written as
    exp(L(x)) R(|x - m|/sd), L(x) = -r |z - x| - (x - mean)^2 / (2 sd^2), which cannot overflow.
    """
    rate = 1 / scale
    z = jnp.stack([-z, z])  # the part above z in coordinates -x, so that z is the upper limit of both
    mean, end = (jnp.stack([-v, v]).reshape(2, *(1,) * (z.ndim - 1)) for v in (mean, jnp.asarray(low, z.dtype)))
    end = end.at[0].set(-high)
    centre = mean + rate * sd**2
    limits = jnp.stack(jnp.broadcast_arrays((end - centre) / sd, (z - centre) / sd))
    at_end, at_z = -rate * (z - end) - ((end - mean) / sd) ** 2 / 2, -(((z - mean) / sd) ** 2) / 2
    tails = jnp.exp(jnp.stack(jnp.broadcast_arrays(at_end, at_z))) * scaled_tail(jnp.abs(limits))
    from_end, from_z = jnp.where(limits < 0, -tails, tails)
    whole = jnp.exp(jnp.minimum(-rate * sd * limits[1] - (rate * sd) ** 2 / 2, 0.0))
    between = jnp.where((limits[0] < 0) & (limits[1] >= 0), whole, 0.0)
    above, below = jnp.maximum(between + from_end - from_z, 0.0)
    highest, lowest = ndtr((end - mean) / sd) * jnp.exp(-rate * (z - end))
    return below, above, lowest, highest


@_normal_inside.defjvp
def _normal_derivative(
    low: float, high: float, scale: float, primals: tuple[Any, Any, Any], tangents: tuple[Any, Any, Any]
) -> tuple[Any, Any]:
    """Closed forms: differentiating the parts would subtract numbers that nearly cancel.

    dS/dmean = r (below - above). dS/dsd = sd r (r (below + above) - 2 n(z) + e^{-r(z - low)} n(low) + e^{-r(high - z)}
    n(high)).
    """
    z, mean, sd = primals
    below, above, lowest, highest = _normal_parts(low, high, scale, z, mean, sd)
    total, rate = below + above + lowest + highest, 1 / scale

    def density(x: Any) -> Any:  # n(x) sd
        return jnp.exp(-(((x - mean) / sd) ** 2) / 2) / _SQRT_2PI

    ends = jnp.exp(-rate * (z - low)) * density(low) + jnp.exp(-rate * (high - z)) * density(high)
    by_sd = rate * (rate * sd * (below + above) - 2 * density(z) + ends)
    moved_z, moved_mean, moved_sd = tangents
    change = (
        rate * (below - above) * moved_mean + by_sd * moved_sd + rate * (above + highest - below - lowest) * moved_z
    )
    return jnp.log(total), change / total


@jax.custom_jvp
def _exprel(x: Any) -> Any:
    """(1 - exp(-x)) / x for x >= 0."""
    small = jnp.abs(x) < 1e-5
    return jnp.where(small, 1 - x / 2 + x**2 / 6, -jnp.expm1(-x) / jnp.where(small, 1.0, x))


@_exprel.defjvp
def _exprel_derivative(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (x,), (moved,) = primals, tangents
    small = x < 0.5
    y = jnp.where(small, x, 0.0)
    series = jnp.full_like(y, -_EXPREL_SERIES[-1])
    for coefficient in _EXPREL_SERIES[-2::-1]:
        series = -coefficient - y * series
    far = jnp.where(small, 1.0, x)
    return _exprel(x), jnp.where(small, series, (jnp.exp(-far) * (1 + far) - 1) / far**2) * moved


# The slope of (1 - exp(-x)) / x is -sum_k (-x)^k (k + 1) / (k + 2)!.
_EXPREL_SERIES = np.array([(k + 1) / math.factorial(k + 2) for k in range(16)])


def exponential_report(z: Any, rate: Any, *, high: float, scale: float) -> Any:
    """log p(z) for c = min(x, high), x ~ Exponential(rate): kulkarni2022, section 10.2, elementwise in ``z``.

    With l = z clamped to [0, high] and G(u) = (1 - e^-u) / u the parts of S are rate l e^{-min(r, rate) l}
    G(|r - rate| l), rate (high - l) e^{-rate l} G((r + rate)(high - l)) and e^{-rate high - r (high - l)}. The paper's
    form divides by r - rate, which may be 0.
    """
    inside, r = jnp.clip(z, 0.0, high), 1 / scale
    rest = high - inside
    faster = rate >= r  # and not a minimum and an absolute value, whose slopes at a tie are up to JAX
    gap = jnp.where(faster, (rate - r) * inside, (r - rate) * inside)
    below = rate * inside * jnp.exp(-jnp.where(faster, r, rate) * inside) * _exprel(gap)
    above = rate * rest * jnp.exp(-rate * inside) * _exprel((r + rate) * rest)
    total = below + above + jnp.exp(-rate * high - r * rest)
    return jnp.log(total) - jnp.abs(z - inside) / scale - math.log(2 * scale)


def lattice_report(z: Any, weights: Any, *, high: float, scale: float) -> Any:
    """log p(z) for c that is j high / K with probability ``weights[j]``, j = 0 .. K: elementwise in ``z``.

    Between two neighbours S(z) is left_j e^{-r (z - c_j)} + right_{j+1} e^{-r (c_{j+1} - z)} with left_j = sum over
    i <= j of weights_i e^{-r (c_j - c_i)} and right the same from above, so a report costs the same for any K.
    """
    most = weights.shape[-1] - 1
    step = high / most
    inside = jnp.clip(z, 0.0, high)
    place = jnp.clip(jnp.floor(inside / step), 0, most - 1).astype(int)
    left, right = _decayed(weights, step / scale), _decayed(weights[::-1], step / scale)[::-1]
    above = inside - place * step
    total = left[place] * jnp.exp(-above / scale) + right[place + 1] * jnp.exp(-(step - above) / scale)
    return jnp.log(total) - jnp.abs(z - inside) / scale - math.log(2 * scale)


def _decayed(weights: Any, decay: float) -> Any:
    """sum over i <= j of weights_i exp(-decay (j - i)) for every j, by doubling the reach of the sum."""
    weights, reach = jnp.asarray(weights), 1
    while reach < weights.shape[0]:
        weights = weights.at[reach:].add(math.exp(-decay * reach) * weights[:-reach])
        reach *= 2
    return weights


def response_report(theta: Any, epsilon: float) -> Any:
    """The log probability of each report of randomized response on ``theta`` (..., k): shape (..., k).

    The truth is reported with e^epsilon times the probability of any other category:
    p(z = j) = (a + (1 - a) theta_j) / (1 + (k - 1) a), a = e^-epsilon.
    """
    a = math.exp(-epsilon)
    return jnp.log(a + (1 - a) * theta) - math.log1p((theta.shape[-1] - 1) * a)


def unary_report(share: Any, epsilon: float, *, ones: Any, items: int) -> Any:
    """The log probability of a report of optimal unary encoding with ``ones`` bits set, ``share`` = theta . bits.

    Every bit is 1 with probability 1/2 where the person's item is, else 1 / (1 + e^epsilon) (kulkarni2022, equations
    (31)-(33)). With theta summing to 1,

        log p = -log 2 + (k - 1) log P(0 stays 0) - epsilon (ones - 1) + log(a + (1 - a) share),  a = e^-epsilon,

    so only the last term knows theta.
    """
    a = math.exp(-epsilon)
    constant = -math.log(2) - (items - 1) * math.log1p(a)
    return constant - epsilon * (ones - 1) + jnp.log(a + (1 - a) * share)


def unary_shares(theta: Any) -> Any:
    """theta . bits for all 2^k patterns of bits, theta (k,): pattern number i has bit j set if i has the binary bit j.

    By doubling: 2^k additions in all.
    """
    sums = jnp.zeros(1, theta.dtype)
    for j in range(theta.shape[0]):
        sums = jnp.concatenate([sums, sums + theta[j]])
    return sums


def linear_reports(
    total: Any, theta: Any, intercept: Any, mean: Any, covariance: Any, variance: Any, noise: Any
) -> Any:
    """The log density of all n reports (x, y) plus normal noise of a linear regression.

    x ~ N(``mean``, ``covariance``), y ~ N(``intercept`` + theta'x, ``variance``); ``noise`` (d + 1, d + 1) is the
    covariance of the noise on (x, y). A report is then normal with covariance Omega = [[S, S theta], [., theta'S theta
    + variance]] + noise (kulkarni2022, equations (34)-(41), there with mean and intercept 0), and the reports count
    only through ``total``, the sum of v v' for v = (1, x, y): see `report_summaries.moment_sums`.
    """
    cross = covariance @ theta
    corner = theta @ cross + variance
    omega = jnp.block([[covariance, cross[:, None]], [cross[None, :], corner[None, None]]]) + noise
    centre = jnp.append(mean, intercept + theta @ mean)
    n, sums = total[0, 0], total[0, 1:]
    moved = jnp.outer(sums, centre)
    scatter = total[1:, 1:] - moved - moved.T + n * jnp.outer(centre, centre)
    root = jnp.linalg.cholesky(omega)
    half = solve_triangular(root, jnp.eye(omega.shape[0]), lower=True)
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(root)))
    return -0.5 * (n * (log_det + omega.shape[0] * math.log(2 * math.pi)) + jnp.sum((half.T @ half) * scatter))


def logistic_report(
    x: Any, y: Any, theta: Any, intercept: Any, mean: Any, covariance: Any, noise: Any, epsilon: float
) -> Any:
    """The log density of each report of a logistic regression: ``x`` (N, d) plus normal noise, ``y`` (N,) randomised.

    x ~ N(``mean``, ``covariance``), P(y = 1) = expit(``intercept`` + theta'x); ``noise`` (d, d) is the covariance of
    the noise on x, and y in {0, 1} is true with probability e^epsilon / (1 + e^epsilon). Given the report of x the
    predictor u is normal, so p = N(x; mean, covariance + noise) times the chance of y, for which E[expit(u)] is all
    that is needed (kulkarni2022, equation (43); its Chebyshev line (44) is not used).
    """
    root = jnp.linalg.cholesky(covariance + noise)
    away = solve_triangular(root, (x - mean).T, lower=True)
    gain = solve_triangular(root, covariance @ theta, lower=True)
    predictor = intercept + theta @ mean + gain @ away
    spread = jnp.maximum(theta @ (covariance @ theta) - gain @ gain, 0.0)
    chance = mean_expit(jnp.where(y > 0, predictor, -predictor), spread)
    other = mean_expit(jnp.where(y > 0, -predictor, predictor), spread)
    log_normal = -jnp.sum(away**2, axis=0) / 2 - jnp.sum(jnp.log(jnp.diagonal(root) * _SQRT_2PI))
    a = math.exp(-epsilon)
    return log_normal + jnp.log(chance + a * other) - math.log1p(a)


_NODES = np.linspace(-9.0, 9.0, 121)
_NODE_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()


@jax.custom_jvp
def mean_expit(mean: Any, variance: Any) -> Any:
    """E[expit(u)], u ~ N(``mean``, ``variance``), by the trapezoid rule: a sum of positive terms.

    The error is below 1e-15 for sd <= 3, 4e-12 at 5 and 5e-8 at 8. Its slope by the variance, E[expit''(u)] / 2, is
    finite also at variance 0.
    """
    return jnp.sum(jax.nn.sigmoid(_predictors(mean, variance)) * _NODE_WEIGHTS, axis=-1)


@mean_expit.defjvp
def _mean_expit_derivative(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    u = _predictors(*primals)
    up, down = jax.nn.sigmoid(u), jax.nn.sigmoid(-u)
    first = jnp.sum(up * down * _NODE_WEIGHTS, axis=-1)
    second = jnp.sum(up * down * (down - up) * _NODE_WEIGHTS, axis=-1)
    return jnp.sum(up * _NODE_WEIGHTS, axis=-1), first * tangents[0] + second * tangents[1] / 2


def _predictors(mean: Any, variance: Any) -> Any:
    mean, variance = jnp.broadcast_arrays(mean, variance)
    return mean[..., None] + jnp.sqrt(variance)[..., None] * _NODES


_FLOOR = 1e-300


def normal_gaussian_report(z: Any, mean: Any, sd: Any, *, low: float, high: float, noise: float) -> Any:
    """log p(z) for c = clamp(x), x ~ N(mean, sd^2), elementwise in ``z``.

    Inside the bounds x and z are jointly normal, so with v = sd^2 + noise^2 the part of S between them is
    noise / sqrt(v) exp(-(z - mean)^2 / (2 v)) times the chance that N(m, t^2) lies in [low, high], where
    m = (z sd^2 + mean noise^2) / v and t = sd noise / sqrt(v). Each bound adds its atom.
    """
    v = sd**2 + noise**2
    centre, spread = (z * sd**2 + mean * noise**2) / v, sd * noise / jnp.sqrt(v)
    below, above = (low - centre) / spread, (high - centre) / spread
    # Both ends on the lower tail, where differences of probabilities keep their digits.
    flip = below > 0
    chance = ndtr(jnp.where(flip, -below, above)) - ndtr(jnp.where(flip, -above, below))
    inside = noise / jnp.sqrt(v) * jnp.exp(-((z - mean) ** 2) / (2 * v)) * chance
    lowest = ndtr((low - mean) / sd) * _kernel(z - low, noise)
    highest = ndtr((mean - high) / sd) * _kernel(z - high, noise)
    return _log(inside + lowest + highest, noise)


def exponential_gaussian_report(z: Any, rate: Any, *, high: float, noise: float) -> Any:
    """log p(z) for c = min(x, high), x ~ Exponential(rate), elementwise in ``z``.

    With Q the normal tail, the part of S below high is rate noise sqrt(2 pi) e^{-rate z + (rate noise)^2 / 2}
    (Q(t) - Q(u)) for t = rate noise - z / noise and u = t + high / noise. Each tail is written as exp(-t^2 / 2) R(|t|),
    R the scaled tail, so that the factors in front, which may overflow, cancel: the first becomes the noise's kernel at
    0, the second that at high times e^{-rate high}.
    """
    t = rate * noise - z / noise
    u = t + high / noise
    last = jnp.exp(-rate * high) * _kernel(z - high, noise)
    first, second = _kernel(z, noise) * scaled_tail(jnp.abs(t)), last * scaled_tail(jnp.abs(u))
    # Where t < 0 the exponent is -rate (z - rate noise^2 / 2) < 0; elsewhere it is not used.
    whole = jnp.exp(jnp.minimum(-rate * z + (rate * noise) ** 2 / 2, 0.0))
    between = jnp.where((t < 0) & (u >= 0), whole, 0.0)
    tails = between + jnp.where(t < 0, -first, first) - jnp.where(u < 0, -second, second)
    return _log(rate * noise * math.sqrt(2 * math.pi) * jnp.maximum(tails, 0.0) + last, noise)


def lattice_gaussian_report(z: Any, weights: Any, *, high: float, noise: float) -> Any:
    """log p(z) for c that is j high / K with probability ``weights[j]``, j = 0 .. K: a sum, elementwise in ``z``."""
    points = jnp.linspace(0.0, high, weights.shape[-1])
    return _log(_kernel(jnp.asarray(z)[..., None] - points, noise) @ weights, noise)


def _kernel(distance: Any, noise: float) -> Any:
    return jnp.exp(-((distance / noise) ** 2) / 2)


def _log(total: Any, noise: float) -> Any:
    return jnp.log(total + _FLOOR) - math.log(noise * math.sqrt(2 * math.pi))
