"""Posteriors from several pieces of evidence about the same law: noisy sums of sites and local reports of groups.

`evidence_chain` is for the one-column laws of `clamped_laws`, `simplex_chain` for the shares theta of k items under a
Dirichlet prior. The log target is the log prior plus one log likelihood a piece: pieces share no rows. ``released`` is
the numbers of all pieces, one piece after the other.

A sum over n rows is normal by the central limit theorem, with the exact moments of one row; so are noisy counts. Normal
noise adds its variance. Laplace noise of scale b is normal given omega^2 ~ Exp(mean 2 b^2), which is sampled along as
omega^2 = -2 b^2 log Phi(-t) with t standard normal (as in `moment_marginal`). Reports need no approximation.

Geometry. phi has spreads near 1 under the prior, which is all that matters while the evidence is weak. Shares are
sampled in isometric log-ratios: theta = softmax(V t), V orthonormal columns that sum to 0, where the prior is
sum_j concentration_j log theta_j. Before sampling, damped Newton steps find the peak; sampling is done in L'(t - peak)
with L L' the information there. So step size and length of a trajectory depend neither on N nor on n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.special import log_ndtr, ndtri

from tacit.errors import expected
from tacit.samplers.chain import Arrays, Chain, Settings
from tacit.samplers.clamped_laws import Law, power_moments
from tacit.samplers.nuts import nuts
from tacit.samplers.report_densities import response_report, unary_shares

_ROUNDS, _STEPS = 3, 15  # of the search for the peak; the variances of Laplace noise are renewed with each round
_REACH = 3.5  # how far from the prior's mean the search may start, in its standard deviations


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over ``n`` rows of the ``powers`` of the clamped value, plus noise of ``scales``: normal sds, or Laplace."""

    n: int
    powers: tuple[int, ...]
    scales: tuple[float, ...]
    laplace: bool

    @property
    def size(self) -> int:
        """One number a power."""
        return len(self.powers)

    def log_likelihood(self, law: Law, phi: Any, numbers: Any, variances: Any) -> Any:
        """N(numbers; n mean, n covariance + variances)."""
        mean, covariance = power_moments(law, phi, self.powers)
        return _log_normal(numbers - self.n * mean, self.n * covariance + jnp.diag(variances))

    def information(self, law: Law, phi: Any, _: Any, variances: Any) -> Any:
        """J'WJ, J the slopes of the expected sums and W their precision."""
        slopes = self.n * jax.jacfwd(lambda p: power_moments(law, p, self.powers)[0])(phi)
        covariance = self.n * power_moments(law, phi, self.powers)[1] + jnp.diag(variances)
        return slopes.T @ jnp.linalg.solve(covariance, slopes)

    def residual(self, law: Law, phi: Any, numbers: Any) -> Any:
        """How far the sums are from what is expected."""
        return numbers - self.n * power_moments(law, phi, self.powers)[0]


@dataclass(frozen=True, eq=False)
class BinnedReports:
    """Reports plus Laplace noise of ``scale``, as `report_summaries.binned` on ``nodes`` nodes."""

    nodes: int
    scale: float

    @property
    def size(self) -> int:
        """One weight a node."""
        return self.nodes

    def log_likelihood(self, law: Law, phi: Any, numbers: Any, _: Any) -> Any:
        """The weights times the log density at the nodes."""
        return numbers @ law.log_report(phi, np.linspace(law.low, law.high, self.nodes), self.scale)

    def information(self, law: Law, phi: Any, numbers: Any, _: Any) -> Any:
        """The weighted sum of outer products of the slopes at the nodes."""
        nodes = np.linspace(law.low, law.high, self.nodes)
        slopes = jax.jacfwd(lambda p: law.log_report(p, nodes, self.scale))(phi)
        return slopes.T @ (numbers[:, None] * slopes)


@dataclass(frozen=True, eq=False)
class ResponseReports:
    """Randomized response with ``epsilon`` on ``items`` categories, as counts of each."""

    items: int
    epsilon: float

    @property
    def size(self) -> int:
        """One count an item."""
        return self.items

    def log_likelihood(self, theta: Any, numbers: Any, _: Any) -> Any:
        """Reports are multinomial."""
        return numbers @ response_report(theta, self.epsilon)


@dataclass(frozen=True, eq=False)
class PatternReports:
    """Unary encoding with ``epsilon`` of ``items`` items, as counts of patterns.

    ``bits`` (rows, items) are the patterns counted; None means all 2^items in the order of `unary_shares`.
    """

    items: int
    epsilon: float
    bits: Any = None

    @property
    def size(self) -> int:
        """One count a pattern."""
        return 2**self.items if self.bits is None else len(self.bits)

    def log_likelihood(self, theta: Any, numbers: Any, _: Any) -> Any:
        """Up to a constant: only theta . bits matters (see `unary_report`)."""
        shares = unary_shares(theta) if self.bits is None else jnp.asarray(self.bits, theta.dtype) @ theta
        a = math.exp(-self.epsilon)
        return numbers @ jnp.log(a + (1 - a) * shares)


@dataclass(frozen=True, eq=False)
class ExpandedReports:
    """Unary encoding of ``items`` items, as the ``numbers`` of a `report_summaries.UnaryExpansion`."""

    items: int

    @property
    def size(self) -> int:
        """Centre, slope, curvature and third order."""
        return 2 * self.items + self.items**2 + self.items**3

    def log_likelihood(self, theta: Any, numbers: Any, _: Any) -> Any:
        """slope . d + d'C d / 2 + T[d, d, d] / 6."""
        k = self.items
        slope, curvature = numbers[k : 2 * k], numbers[2 * k : 2 * k + k * k].reshape(k, k)
        away = theta - numbers[:k]
        third = (numbers[2 * k + k * k :].reshape(k * k, k) @ away).reshape(k, k)
        return away @ (slope + (curvature / 2 + third / 6) @ away)


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """The counts of the items ``counted`` among ``n`` rows, plus noise of ``scales``: normal sds, or Laplace.

    With theta_S the shares of those items and D = n theta_S + variances, the counts have covariance
    diag(D) - n theta_S theta_S', whose determinant is prod D times 1 - sum theta_S + sum theta_S variances / D.
    """

    n: int
    counted: tuple[int, ...]
    scales: tuple[float, ...]
    laplace: bool

    @property
    def size(self) -> int:
        """One number a counted item."""
        return len(self.counted)

    def log_likelihood(self, theta: Any, numbers: Any, variances: Any) -> Any:
        """N(numbers; n theta_S, covariance)."""
        shares = theta[np.array(self.counted)]
        diagonal = self.n * shares + variances
        rest = jnp.sum(shares * variances / diagonal) + (0.0 if self.size == theta.size else 1 - jnp.sum(shares))
        residual = numbers - self.n * shares
        form = jnp.sum(residual**2 / diagonal) + self.n * jnp.sum(shares * residual / diagonal) ** 2 / rest
        return -0.5 * (form + jnp.sum(jnp.log(diagonal)) + jnp.log(rest))

    def residual(self, theta: Any, numbers: Any) -> Any:
        """How far the counts are from what is expected."""
        return numbers - self.n * theta[np.array(self.counted)]


def evidence_chain(law: Law, evidence: Sequence[Sums | BinnedReports], settings: Settings) -> Chain:
    """NUTS on the parameters of ``law``. Draws: its parameters by name."""

    def residual(piece: Any, phi: Any, numbers: Any) -> Any:
        return piece.residual(law, phi, numbers)

    def target(phi: Any, parts: Any, variances: Any) -> Any:
        pieces = zip(evidence, parts, variances, strict=True)
        return law.log_prior(phi) + sum(piece.log_likelihood(law, phi, x, v) for piece, x, v in pieces)

    def information(phi: Any, parts: Any, variances: Any) -> Any:
        pieces = zip(evidence, parts, variances, strict=True)
        return jnp.eye(law.size) + sum(piece.information(law, phi, x, v) for piece, x, v in pieces)

    def start(parts: Any, variances: Any) -> Any:
        axis = np.linspace(-_REACH, _REACH, 9 if law.size > 1 else 29)
        grid = jnp.asarray(np.stack(np.meshgrid(*[axis] * law.size), axis=-1).reshape(-1, law.size))
        values = jax.lax.map(lambda phi: target(phi, parts, variances), grid)
        return grid[jnp.argmax(jnp.where(jnp.isfinite(values), values, -jnp.inf))]

    return _chain(evidence, target, information, start, residual, law.parameters, settings)


def simplex_chain(
    concentration: Sequence[float],
    evidence: Sequence[ResponseReports | PatternReports | ExpandedReports | NoisyCounts],
    settings: Settings,
) -> Chain:
    """NUTS on the shares of k items, theta ~ Dirichlet(``concentration``). Draws: theta (k,)."""
    alpha = np.asarray(concentration, np.float64)
    items = len(alpha)
    if items < 2 or alpha.min() <= 0:
        raise expected("concentration", list(concentration), "to be two or more positive numbers")
    contrasts = np.linalg.qr(np.column_stack([np.ones(items), np.eye(items)[:, 1:]]))[0][:, 1:]
    flattest = 0.1 * min(1.0, alpha.min())

    def theta(t: Any) -> Any:
        return jax.nn.softmax(contrasts @ t)

    def residual(piece: Any, t: Any, numbers: Any) -> Any:
        return piece.residual(theta(t), numbers)

    def target(t: Any, parts: Any, variances: Any) -> Any:
        log_theta = jax.nn.log_softmax(contrasts @ t)
        pieces = zip(evidence, parts, variances, strict=True)
        likelihoods = sum(piece.log_likelihood(jnp.exp(log_theta), x, v) for piece, x, v in pieces)
        return alpha @ log_theta + likelihoods

    def information(t: Any, parts: Any, variances: Any) -> Any:
        values, vectors = jnp.linalg.eigh(-jax.hessian(target)(t, parts, variances))
        return (vectors * jnp.maximum(jnp.abs(values), flattest)) @ vectors.T

    def start(parts: Any, _: Any) -> Any:
        pairs = zip(evidence, parts, strict=True)
        centres = [x[:items] for piece, x in pairs if isinstance(piece, ExpandedReports)]
        return contrasts.T @ jnp.log(sum(centres) / len(centres)) if centres else jnp.zeros(items - 1)

    return _chain(evidence, target, information, start, residual, lambda t: {"theta": theta(t)}, settings)


def _chain(
    evidence: Sequence[Any],
    target: Callable[[Any, Any, Any], Any],
    information: Callable[[Any, Any, Any], Any],
    start: Callable[[Any, Any], Any],
    residual: Callable[[Any, Any, Any], Any],
    parameters: Callable[[Any], Arrays],
    settings: Settings,
) -> Chain:
    """NUTS on t and the mixing variables of Laplace noise, in coordinates whitened at the peak.

    ``target``, ``information`` and ``start`` take the numbers of each piece and the variances of its noise.
    """
    if not evidence:
        raise expected("evidence", list(evidence), "to hold at least one piece")
    ends = np.cumsum([piece.size for piece in evidence])
    scales = [np.asarray(getattr(piece, "scales", ()), np.float64) for piece in evidence]
    mixed = [getattr(piece, "laplace", False) for piece in evidence]
    lengths = [len(scale) if mix else 0 for scale, mix in zip(scales, mixed, strict=True)]

    def variances_of(mixing: Any) -> list[Any]:
        parts = jnp.split(mixing, np.cumsum(lengths)[:-1])
        pairs = zip(scales, parts, mixed, strict=True)
        return [-2 * scale**2 * log_ndtr(-t) if mix else scale**2 for scale, t, mix in pairs]

    def renewed(t: Any, parts: Any, variances: Any) -> list[Any]:
        """For Laplace noise the mean of omega^2 given the residual r: b |r| + b^2."""
        found: list[Any] = []
        for piece, x, scale, mix, now in zip(evidence, parts, scales, mixed, variances, strict=True):
            found.append(scale * jnp.abs(residual(piece, t, x)) + scale**2 if mix else now)
        return found

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = jnp.split(released, ends[:-1])
        variances = [2 * scale**2 if mix else scale**2 for scale, mix in zip(scales, mixed, strict=True)]
        peak = start(parts, variances)
        for _ in range(_ROUNDS if any(mixed) else 1):
            variances = renewed(peak, parts, variances)
            peak = _climb(target, information, peak, parts, variances)
        root = jnp.linalg.cholesky(information(peak, parts, variances))
        size = peak.shape[0]

        def unwhitened(position: Any) -> Any:
            return peak + solve_triangular(root, position[:size], lower=True, trans=1)

        def log_density(position: Any) -> Any:
            mixing = position[size:]
            value = target(unwhitened(position), parts, variances_of(mixing)) - jnp.sum(mixing**2) / 2
            return jnp.where(jnp.isfinite(value), value, -jnp.inf)

        for_start, for_chain = jax.random.split(key)
        quantiles = [jnp.exp(-v / (2 * s**2)) for v, s, mix in zip(variances, scales, mixed, strict=True) if mix]
        mixing = -ndtri(jnp.clip(jnp.concatenate(quantiles), 1e-6, 1 - 1e-6)) if quantiles else jnp.zeros(0)
        first = jnp.concatenate([0.5 * jax.random.normal(for_start, (size,)), mixing])
        positions, info = nuts(for_chain, log_density, first, warmup=settings.warmup, draws=settings.draws)
        return jax.vmap(lambda position: parameters(unwhitened(position)))(positions), info

    return chain


def _climb(target: Any, information: Any, start: Any, parts: Any, variances: Any) -> Any:
    """Damped Newton steps (Levenberg and Marquardt): a step that does not rise is not taken and the damping grows."""

    def step(_: int, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        t, best, damping = state
        slope, bend = jax.grad(target)(t, parts, variances), information(t, parts, variances)
        damped = bend + jnp.diag(damping * jnp.diagonal(bend))
        moved = t + cho_solve((jnp.linalg.cholesky(damped), True), slope)
        value = target(moved, parts, variances)
        better = value > best
        return jnp.where(better, moved, t), jnp.where(better, value, best), jnp.where(better, damping / 5, damping * 5)

    first = (start, target(start, parts, variances), jnp.asarray(1e-2, start.dtype))
    return jax.lax.fori_loop(0, _STEPS, step, first)[0]


def _log_normal(residual: Any, covariance: Any) -> Any:
    """log N(residual; 0, covariance) up to a constant, for one or a few entries: Cholesky's method written out."""
    rows: list[list[Any]] = []
    total = 0.0
    solved: list[Any] = []
    for i in range(residual.shape[0]):
        row: list[Any] = []
        for j in range(i):
            row.append((covariance[i, j] - sum(row[k] * rows[j][k] for k in range(j))) / rows[j][j])
        pivot = jnp.sqrt(covariance[i, i] - sum(value**2 for value in row))
        value = (residual[i] - sum(row[k] * solved[k] for k in range(i))) / pivot
        rows.append([*row, pivot])
        solved.append(value)
        total = total - value**2 / 2 - jnp.log(pivot)
    return total
