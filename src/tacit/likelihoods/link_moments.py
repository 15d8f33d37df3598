"""Smoothed derivatives of a regression's mean: one-dimensional integrals from which every moment of a row follows.

With a linear predictor u ~ N(mu, v) and f(u) = E[y^r | u] for r = 1 or 2, this file computes

    F_k = E[f^(k)(u)],  k = 0 .. 4,

which stand in Stein's identity for moments of normal covariates times y^r (see `design_moments`). Responses:

    logistic     y in {-1, 1}, P(y = 1) = expit(u):  E[y | u] = tanh(u/2), E[y^2 | u] = 1
    softplus     y ~ Poisson(log(1 + e^u)) / unit
    log          y ~ Poisson(e^u) / unit:  F_k = exp(mu + v/2) / unit, and for y^2 a second term 2^k exp(2 mu + 2 v)
    clamped      y = min(Y, clamp) / unit for either law of counts Y

kulkarni2021, equation (6), prints P(y = -1) = expit(u), which negates theta (docs/errata.md, K5), and section 8.2 takes
E[y^2 | u] = mu(u)^2 for a count, without its variance (K8). Its Taylor polynomials for tanh(u/2) and log(1 + e^u) are
here as ``moments="taylor"``, to reproduce its figures only: beyond sqrt(v) of about 1.15 a larger effect gives a
smaller mean (K7).

Quadrature. The trapezoid rule in z, u = mu + s z, s = sqrt(v), on the nodes of `_NODES`. Two equal forms are used,

    s < 0.1:   F_k = sum_i w_i f^(k)(mu + s z_i)                   smooth through s = 0, exact to rounding
    s >= 0.1:  F_k = sum_i w_i He_k(z_i) f(mu + s z_i) / s^k       He_k the Hermite polynomials of a standard normal.

The second asks no derivative of f to be resolved, which matters where s is large: with 121 nodes at s = 6 it is off by
3e-9, the first by 2e-3. Largest error of s^k F_k, k = 0 .. 4, as a share of the larger of 1 and F_0, with the 401 nodes
used here:

    s                               <= 6      10       15       20       30
    logistic; softplus count        1e-13     1e-13    2e-13    5e-10    4e-7
    log link, clamped at 5          2e-13     3e-8     2e-5     1e-4     2e-3

A log link clamped at 100 is exact to 1e-12 up to s = 2 and to 4e-6 at s = 4. In the second form the moments of a row
are those of a law with finitely many values of u, so covariances stay positive semidefinite however large s is.

Gradients. F is a smooth function of (mu, v), and dF_k = F_(k+1) dmu + F_(k+2) dv / 2, so its derivative costs two more
orders of the same sums and is finite at v = 0, where that of sqrt(v) is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaincc, gammaln
from numpy.polynomial.hermite_e import hermeval

from tacit.errors import expected

_SWITCH = 0.1  # the s from which on f stands in for its derivatives
_ORDERS = 7  # F_0 .. F_4, and two more for gradients
_EXPONENT_LIMIT = 150.0  # of a log-link mean: past e^150 it is held, so that its square and sums stay finite
_HORNER_LIMIT = 400  # the largest count up to which Horner's scheme, ten times faster, stands in for gammaincc
_UNROLLED = 32
_PREDICTOR_LIMIT = 50.0  # of u in a clamped count of log link: e^50 is beyond every clamp

Kind = Literal["logistic", "softplus", "log"]


@dataclass(frozen=True)
class Link:
    """How the response depends on the linear predictor.

    Counts are divided by ``unit``. ``clamp`` is the largest count, in counts; None if no count is clamped.
    """

    kind: Kind
    unit: float = 1.0
    clamp: int | None = None
    moments: Literal["exact", "taylor"] = "exact"

    def __post_init__(self) -> None:
        if self.kind not in ("logistic", "softplus", "log"):
            raise expected("kind", self.kind, "to be logistic, softplus or log")
        if self.moments not in ("exact", "taylor"):
            raise expected("moments", self.moments, "to be exact or taylor")
        if self.moments == "taylor" and (self.kind == "log" or self.clamp is not None):
            raise expected("moments", self.moments, "to be exact for a log link and for clamped counts")
        if not self.unit > 0:
            raise expected("unit", self.unit, "to be a positive number")
        if self.clamp is not None and (self.kind == "logistic" or not 1 <= self.clamp <= 10**6):
            raise expected("clamp", self.clamp, "to be None, or for counts a whole number from 1 to 1000000")


def expectations(link: Link, mean: Any, variance: Any) -> Any:
    """F_k of y and of y^2: shape (2, 5, ...) for ``mean`` and ``variance`` of u of shape (...)."""
    return _smoothed(link, mean, variance)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _smoothed(link: Link, mean: Any, variance: Any) -> Any:
    return _all_orders(link, mean, variance)[:, :5]


@_smoothed.defjvp
def _derivative(link: Link, primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    orders = _all_orders(link, *primals)
    mean, variance = tangents
    return orders[:, :5], orders[:, 1:6] * mean + 0.5 * orders[:, 2:7] * variance


def _all_orders(link: Link, mean: Any, variance: Any) -> Any:
    if link.kind == "log" and link.clamp is None:
        return _log_link(mean, variance) / _units(link, mean)
    s = jnp.sqrt(variance)
    large = jnp.maximum(s, _SWITCH)
    u = mean[..., None] + large[..., None] * _NODES[0]
    rough = jnp.einsum("r...i,ki->rk...", _means(link, u), _NODES[1:])
    rough = rough / large ** _orders(mean)
    u = mean[..., None] + jnp.minimum(s, _SWITCH)[..., None] * _FEW_NODES[0]
    smooth = jnp.einsum("rk...i,i->rk...", _derivatives(link, u), _FEW_NODES[1])
    return jnp.where(s < _SWITCH, smooth, rough) / _units(link, mean)


def _nodes(half: int, width: float) -> Any:
    """Rows: z, then w He_k(z) for k = 0 .. 6, with the weights w of a standard normal."""
    z = np.linspace(-width, width, 2 * half + 1)
    weights = np.exp(-(z**2) / 2)
    return np.stack([z, *(weights / weights.sum() * hermeval(z, np.eye(_ORDERS)[k]) for k in range(_ORDERS))])


_NODES = _nodes(200, 9.0)
_FEW_NODES = _nodes(15, 9.0)


def _orders(like: Any) -> Any:
    return np.arange(_ORDERS).reshape(-1, *(1,) * jnp.ndim(like))


def _units(link: Link, like: Any) -> Any:
    return np.array([link.unit, link.unit**2]).reshape(2, 1, *(1,) * jnp.ndim(like))


def _log_link(mean: Any, variance: Any) -> Any:
    first = jnp.exp(jnp.minimum(mean + variance / 2, _EXPONENT_LIMIT)) * np.ones_like(_orders(mean))
    second = jnp.exp(jnp.minimum(2 * mean + 2 * variance, 2 * _EXPONENT_LIMIT)) * 2.0 ** _orders(mean)
    return jnp.stack([first, first + second])


def _means(link: Link, u: Any) -> Any:
    """E[y | u] and E[y^2 | u], counts in whole numbers: shape (2, ...)."""
    if link.moments == "taylor":
        return _derivatives(link, u)[:, 0]
    if link.kind == "logistic":
        return jnp.stack([jnp.tanh(u / 2), jnp.ones_like(u)])
    if link.clamp is None:
        rate = jax.nn.softplus(u)
        return jnp.stack([rate, rate + rate**2])
    return _clamped_means(link.clamp, _rate(link, u))


def _derivatives(link: Link, u: Any) -> Any:
    """The derivatives of order 0 .. 6 of E[y | u] and E[y^2 | u]: shape (2, 7, ...)."""
    if link.moments == "taylor":
        return jnp.stack([_polynomial(series, u) for series in _TAYLOR[link.kind]])
    if link.kind == "logistic":
        constant = jnp.zeros((_ORDERS, *u.shape)).at[0].set(1.0)
        return jnp.stack([_tanh_half(u), constant])
    inner = _rate_derivatives(link, u)
    if link.clamp is None:
        return jnp.stack([inner, inner + _product(inner, inner)])
    return _composed(_clamped_derivatives(link.clamp, inner[0]), inner)


def _product(f: Any, g: Any) -> Any:
    """The derivatives of f g from those of f and g."""
    return jnp.stack([sum(math.comb(k, j) * f[j] * g[k - j] for j in range(k + 1)) for k in range(_ORDERS)])


def _composed(outer: Any, inner: Any) -> Any:
    """The derivatives of h(g(u)), by Faa di Bruno, from those of h at g(u) (2, 7, ...) and of g at u (7, ...)."""
    # bell[m][k], the partial Bell polynomials: sum_i C(m - 1, i - 1) g^(i) bell[m - i][k - 1].
    bell: list[list[Any]] = [[1.0]]
    for m in range(1, _ORDERS):
        row: list[Any] = [0.0]
        for k in range(1, m + 1):
            row.append(sum(math.comb(m - 1, i - 1) * inner[i] * bell[m - i][k - 1] for i in range(1, m - k + 2)))
        bell.append(row)
    rows = [outer[:, 0]]
    rows += [sum(outer[:, k] * bell[m][k] for k in range(1, m + 1)) for m in range(1, _ORDERS)]
    return jnp.stack(rows, axis=1)


def _tanh_half(u: Any) -> Any:
    """t = tanh(u/2) and its derivatives, (1 - t^2) R_k(t) with R_1 = 1/2, R_(k+1) = ((1 - t^2) R_k)' / 2."""
    t = jnp.tanh(u / 2)
    slope = 4 * jax.nn.sigmoid(u) * jax.nn.sigmoid(-u)  # 1 - t^2 without cancellation
    powers = jnp.stack([t**j for j in range(_ORDERS)])
    return jnp.concatenate([t[None], slope * jnp.einsum("kj,j...->k...", _TANH, powers)])


def _tanh_coefficients() -> Any:
    factor = np.polynomial.Polynomial([1.0, 0.0, -1.0])
    current = np.polynomial.Polynomial([0.5])
    rows = np.zeros((_ORDERS - 1, _ORDERS))
    for row in rows:
        row[: len(current.coef)] = current.coef
        current = 0.5 * (factor * current).deriv()
    return rows


_TANH = _tanh_coefficients()


def _rate(link: Link, u: Any) -> Any:
    """The mean of the count. Of a clamped one it is held where P(Y < clamp) < 1e-17: nothing changes from there on."""
    rate = jax.nn.softplus(u) if link.kind == "softplus" else jnp.exp(jnp.minimum(u, _PREDICTOR_LIMIT))
    return rate if link.clamp is None else jnp.minimum(rate, enough(link.clamp))


def _rate_derivatives(link: Link, u: Any) -> Any:
    rate = _rate(link, u)
    if link.kind == "log":
        return jnp.stack([rate] * _ORDERS)
    tanh = _tanh_half(u)  # the slope of softplus is (1 + tanh(u/2)) / 2
    return jnp.concatenate([rate[None], (1 + tanh[:1]) / 2, tanh[1:-1] / 2])


def _clamped_means(top: int, rate: Any) -> Any:
    """E[min(Y, top)] and E[min(Y, top)^2] for Y ~ Poisson(rate): shape (2, ...).

    For few counts K = top they are K^r - e^-rate sum_(k < K) (K^r - k^r) rate^k / k!, a sum of positive terms by
    Horner's scheme. For many they are made from E[Y; Y < K] = rate P(Y < K - 1) and
    E[Y (Y - 1); Y < K] = rate^2 P(Y < K - 2).
    """
    if top <= _HORNER_LIMIT:
        short = _series(np.stack([top - np.arange(top), top**2 - np.arange(top) ** 2]), rate)
        return _both(top, rate) - jnp.exp(-rate) * short
    under = below(top, rate)
    under_1 = under - _mass(top - 1, rate)
    under_2 = under_1 - _mass(top - 2, rate)
    first = rate * under_1
    return jnp.stack([first + top * (1 - under), rate**2 * under_2 + first + top**2 * (1 - under)])


def _both(top: int, like: Any) -> Any:
    return np.array([top, top**2], float).reshape(2, *(1,) * jnp.ndim(like))


def _series(weights: Any, rate: Any) -> Any:
    """sum_k weights[r, k] rate^k / k! for each row r: shape (rows, ...). `_rate` bounds the rate: nothing overflows."""
    rows, count = weights.shape
    weights = np.asarray(weights, float).reshape(rows, count, *(1,) * jnp.ndim(rate))
    start = weights[:, -1] + jnp.zeros_like(rate)
    if count <= _UNROLLED:  # one loop over the nodes instead of one for each count
        for k in range(count - 2, -1, -1):
            start = weights[:, k] + rate * start * (1 / (k + 1))
        return start
    given = jnp.asarray(weights)
    return jax.lax.fori_loop(2, count + 1, lambda i, v: given[:, count - i] + rate * v / (count - i + 1), start)


def _clamped_derivatives(top: int, rate: Any) -> Any:
    """Their derivatives by the rate, of order 0 .. 6: shape (2, 7, ...).

    d/drate E[h(Y)] = E[h(Y + 1) - h(Y)], so order k is the mean of the k-th difference of h. For h = min(y, K) the
    second difference is -1 at y = K - 1 and 0 elsewhere; for its square it is 2 below K - 1 and -(2K - 1) there. Higher
    orders are differences of Poisson probabilities.
    """
    under = below(top, rate)
    masses = _masses(top - 1, rate)
    under_1 = under - masses[0]
    first = [under, -masses[0]]
    second = [2 * rate * under_1 + under, 2 * under_1 - (2 * top - 1) * masses[0]]
    # Below K - 1 the second difference of the square is a constant: as a function of y it steps by -(2K + 1) at K - 2
    # and by 2K - 1 at K - 1.
    steps, weights_1, weights_2 = masses, np.array([-1.0]), np.array([2.0 * top - 1, -(2.0 * top + 1)])
    second.append(sum(w * steps[i] for i, w in enumerate(weights_2)))
    for _ in range(3, _ORDERS):
        weights_1 = np.convolve(weights_1, [-1.0, 1.0])  # the slope of P(Y = k) is P(Y = k - 1) - P(Y = k)
        first.append(sum(w * steps[i] for i, w in enumerate(weights_1)))
    for _ in range(4, _ORDERS):
        weights_2 = np.convolve(weights_2, [-1.0, 1.0])
        second.append(sum(w * steps[i] for i, w in enumerate(weights_2)))
    means = _clamped_means(top, rate)
    return jnp.stack([jnp.stack([means[0], *first]), jnp.stack([means[1], *second])])


def enough(top: int) -> float:
    """A rate from which on a count below ``top`` is less likely than 1e-17."""
    return top + 9 * math.sqrt(top) + 40


def below(top: int, rate: Any) -> Any:
    """P(Y < top) for Y ~ Poisson(rate), at rates that `enough` bounds."""
    if top > _HORNER_LIMIT:
        return gammaincc(float(top), rate)
    return jnp.exp(-rate) * _series(np.ones((1, top)), rate)[0]


def _mass(count: int, rate: Any) -> Any:
    """P(Y = count), 0 for a negative count."""
    if count < 0:
        return jnp.zeros_like(rate)
    return jnp.exp(count * jnp.log(jnp.maximum(rate, 1e-300)) - rate - gammaln(count + 1.0))


def _masses(count: int, rate: Any) -> list[Any]:
    """P(Y = count), P(Y = count - 1), ..., as many as there are orders: one from the next by its ratio."""
    least = max(count - _ORDERS + 1, 0)
    upward = [_mass(least, rate)]
    for k in range(least + 1, count + 1):
        upward.append(upward[-1] * rate * (1 / k))
    return upward[::-1] + [jnp.zeros_like(rate)] * (_ORDERS - len(upward))


def _polynomial(coefficients: tuple[float, ...], u: Any) -> Any:
    """A polynomial and its derivatives of order 0 .. 6."""
    series = np.polynomial.Polynomial(coefficients)
    rows: list[Any] = []
    for _ in range(_ORDERS):
        value = jnp.full_like(u, series.coef[-1])
        for coefficient in series.coef[-2::-1]:
            value = value * u + coefficient
        rows.append(value)
        series = series.deriv()
    return jnp.stack(rows)


_LOG2 = math.log(2)
# kulkarni2021, section 3.3 with the sign of K5, and section 8.2: the mean, and the second moment, which is the printed
# series of log(1 + e^u)^2 plus the mean (K8).
_TAYLOR = {
    "logistic": ((0.0, 1 / 2, 0.0, -1 / 24), (1.0,)),
    "softplus": (
        (_LOG2, 1 / 2, 1 / 8, 0.0, -1 / 192),
        (_LOG2**2 + _LOG2, _LOG2 + 1 / 2, (1 + _LOG2) / 4 + 1 / 8, 1 / 8, -1 / 192),
    ),
}
