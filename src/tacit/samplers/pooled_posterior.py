"""Posteriors from several pieces of evidence about the same law: noisy sums of sites and local reports of groups.

`evidence_chain` is for the one-column laws of `clamped_laws`, `simplex_chain` for the shares theta of k items under a
Dirichlet prior. The log target is the log prior plus one log likelihood a piece: pieces share no rows. ``released`` is
the numbers of all pieces, one piece after the other.

A sum over n rows is normal by the central limit theorem, with the exact moments of one row; so are noisy counts. Normal
noise adds its variance. Laplace noise of scale b is normal given omega^2 ~ Exp(mean 2 b^2), which is sampled along as
omega^2 = -2 b^2 log Phi(-v) with v standard normal (as in `moment_marginal`). Reports need no approximation.

Sampling is done by `peak_chain` on phi, which has spreads near 1 under the prior, or on isometric log-ratios t of the
shares: theta = softmax(V t), V orthonormal columns that sum to 0, where the prior is sum_j concentration_j log theta_j.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.errors import expected
from tacit.likelihoods.clamped_laws import Law, power_moments
from tacit.likelihoods.report_densities import response_report, unary_shares
from tacit.runtime.backend import argument
from tacit.runtime.chain import Chain, Settings
from tacit.samplers.laplace_preconditioned_nuts import Geometry, at_least, peak_chain

_REACH = 3.5  # how far from the prior's mean the search may start, in its standard deviations


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over ``n`` rows of the ``powers`` of the clamped value, plus noise of ``scales``: normal sds, or Laplace.

    Several releases of the same sums stand one after the other, each with noise of its own; ``laplace`` says for all
    numbers, or for each, which noise it is. ``n`` and ``scales`` become arguments of compiled programs.
    """

    n: Any
    powers: tuple[int, ...]
    scales: Any
    laplace: bool | tuple[bool, ...]

    def __post_init__(self) -> None:
        _as_arguments(self)

    @property
    def size(self) -> int:
        """One number a power and release."""
        return len(self.scales)

    def moments(self, law: Law, phi: Any) -> tuple[Any, Any]:
        """Mean and covariance of the exact sums, repeated for each release."""
        mean, covariance = power_moments(law, phi, self.powers)
        times = self.size // len(self.powers)
        return self.n * jnp.tile(mean, times), self.n * jnp.tile(covariance, (times, times))

    def log_likelihood(self, law: Law, phi: Any, numbers: Any, variances: Any) -> Any:
        """N(numbers; n mean, n covariance + variances)."""
        mean, covariance = self.moments(law, phi)
        return _log_normal(numbers - mean, covariance + jnp.diag(variances))

    def information(self, law: Law, phi: Any, _: Any, variances: Any) -> Any:
        """J'WJ, J the slopes of the expected sums and W their precision."""
        slopes = jax.jacfwd(lambda p: self.moments(law, p)[0])(phi)
        return slopes.T @ jnp.linalg.solve(self.moments(law, phi)[1] + jnp.diag(variances), slopes)


@dataclass(frozen=True, eq=False)
class BinnedReports:
    """Reports plus noise of ``scale``, as `report_summaries.binned` on ``nodes`` nodes over ``span``.

    The noise is Laplace, or normal if ``gaussian``; ``span`` None means the bounds of the law.
    """

    nodes: int
    scale: float
    gaussian: bool = False
    span: tuple[float, float] | None = None

    @property
    def size(self) -> int:
        """One weight a node."""
        return self.nodes

    def _log_densities(self, law: Law, phi: Any) -> Any:
        nodes = np.linspace(*(self.span or (law.low, law.high)), self.nodes)
        return (law.log_gaussian_report if self.gaussian else law.log_report)(phi, nodes, self.scale)

    def log_likelihood(self, law: Law, phi: Any, numbers: Any, _: Any) -> Any:
        """The weights times the log density at the nodes."""
        return numbers @ self._log_densities(law, phi)

    def information(self, law: Law, phi: Any, numbers: Any, _: Any) -> Any:
        """The weighted sum of outer products of the slopes at the nodes."""
        slopes = jax.jacfwd(lambda p: self._log_densities(law, p))(phi)
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


HELD = 0.35
"""The largest share of the second order that the third order of `ExpandedReports` may reach."""


@dataclass(frozen=True, eq=False)
class ExpandedReports:
    """Unary encoding of ``items`` items, as the ``numbers`` of a `report_summaries.UnaryExpansion`."""

    items: int

    @property
    def size(self) -> int:
        """Centre, slope, curvature and third order."""
        return 2 * self.items + self.items**2 + self.items**3

    def log_likelihood(self, theta: Any, numbers: Any, _: Any) -> Any:
        """slope . d - q / 2 + c held below q `HELD`, with q = -d'C d and c = T[d, d, d] / 6.

        Far from the centre c would outgrow q, and the series would rise without end where the log likelihood falls.
        It is the series of log(1 + x), with c / q about x / 3, so that c is held where x is about 1; nearer it is as
        good as untouched: to 4e-4 of itself at x = 0.2.
        """
        k = self.items
        slope, curvature = numbers[k : 2 * k], numbers[2 * k : 2 * k + k * k].reshape(k, k)
        away = theta - numbers[:k]
        third = (numbers[2 * k + k * k :].reshape(k * k, k) @ away).reshape(k, k)
        square, cube = -away @ curvature @ away, away @ third @ away / 6
        share = cube / (square + 1e-30) / HELD
        return away @ slope - square / 2 + cube / (1 + share**4) ** 0.25


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """The counts of the items ``counted`` among ``n`` rows, plus noise of ``scales``: normal sds, or Laplace.

    With theta_S the shares of those items and D = n theta_S + variances, the counts have covariance
    diag(D) - n theta_S theta_S', whose determinant is prod D times 1 - sum theta_S + sum theta_S variances / D.
    ``n`` and ``scales`` become arguments of compiled programs.
    """

    n: Any
    counted: tuple[int, ...]
    scales: Any
    laplace: bool

    def __post_init__(self) -> None:
        _as_arguments(self)

    @property
    def size(self) -> int:
        """One number a counted item."""
        return len(self.counted)

    def moments(self, theta: Any) -> tuple[Any, Any]:
        """Mean and covariance of the exact counts."""
        shares = theta[np.array(self.counted)]
        return self.n * shares, self.n * (jnp.diag(shares) - jnp.outer(shares, shares))

    def log_likelihood(self, theta: Any, numbers: Any, variances: Any) -> Any:
        """N(numbers; n theta_S, covariance + variances)."""
        n, shares = self.n[0], theta[np.array(self.counted)]
        diagonal = n * shares + variances
        rest = jnp.sum(shares * variances / diagonal) + (0.0 if self.size == theta.size else 1 - jnp.sum(shares))
        residual = numbers - n * shares
        form = jnp.sum(residual**2 / diagonal) + n * jnp.sum(shares * residual / diagonal) ** 2 / rest
        return -0.5 * (form + jnp.sum(jnp.log(diagonal)) + jnp.log(rest))


def law_geometry(law: Law, evidence: Sequence[Sums | BinnedReports]) -> Geometry:
    """The posterior of the parameters of ``law`` given the variances of noise, and where to look for its peak."""

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

    def moments(piece: Any, phi: Any) -> Any:
        return piece.moments(law, phi)

    return Geometry(target, information, start, 1.0, moments)


def evidence_chain(law: Law, evidence: Sequence[Sums | BinnedReports], settings: Settings) -> Chain:
    """NUTS on the parameters of ``law``. Draws: its parameters by name."""
    return peak_chain(evidence, law_geometry(law, evidence), law.parameters, settings)


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
    flattest = 0.1 * min(1.0, float(alpha.min()))

    def theta(t: Any) -> Any:
        return jax.nn.softmax(contrasts @ t)

    def target(t: Any, parts: Any, variances: Any) -> Any:
        log_theta = jax.nn.log_softmax(contrasts @ t)
        pieces = zip(evidence, parts, variances, strict=True)
        likelihoods = sum(piece.log_likelihood(jnp.exp(log_theta), x, v) for piece, x, v in pieces)
        return alpha @ log_theta + likelihoods

    def information(t: Any, parts: Any, variances: Any) -> Any:
        return at_least(-jax.hessian(target)(t, parts, variances), flattest)

    def start(parts: Any, _: Any) -> Any:
        pairs = zip(evidence, parts, strict=True)
        centres = [x[:items] for piece, x in pairs if isinstance(piece, ExpandedReports)]
        return contrasts.T @ jnp.log(sum(centres) / len(centres)) if centres else jnp.zeros(items - 1)

    def moments(piece: Any, t: Any) -> Any:
        return piece.moments(theta(t))

    geometry = Geometry(target, information, start, flattest, moments)
    return peak_chain(evidence, geometry, lambda t: {"theta": theta(t)}, settings)


def _as_arguments(piece: Sums | NoisyCounts) -> None:
    """A program that is compiled for some n and scales then serves all others: see `tacit.runtime.arguments`."""
    for name in ("n", "scales"):
        object.__setattr__(piece, name, argument(getattr(piece, name)))


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
