"""Pieces of evidence about one distribution, each with its log likelihood: noisy sums and counts of sites, reports of
groups.

A sum over n rows is normal by the central limit theorem, with the exact moments of one row; so are noisy counts. Normal
noise adds its variance; Laplace noise is normal given its variance, which whoever samples draws along. Reports need no
approximation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.likelihoods.clamped_distributions import ClampedDistribution, power_moments
from tacit.likelihoods.report_densities import response_report, unary_shares
from tacit.runtime.backend import argument


@dataclass(frozen=True, eq=False)
class NoisyPowerSums:
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

    def moments(self, distribution: ClampedDistribution, phi: Any) -> tuple[Any, Any]:
        """Mean and covariance of the exact sums, repeated for each release."""
        mean, covariance = power_moments(distribution, phi, self.powers)
        times = self.size // len(self.powers)
        return self.n * jnp.tile(mean, times), self.n * jnp.tile(covariance, (times, times))

    def log_likelihood(self, distribution: ClampedDistribution, phi: Any, numbers: Any, variances: Any) -> Any:
        """N(numbers; n mean, n covariance + variances)."""
        mean, covariance = self.moments(distribution, phi)
        return log_normal(numbers - mean, covariance + jnp.diag(variances))

    def information(self, distribution: ClampedDistribution, phi: Any, _: Any, variances: Any) -> Any:
        """J'WJ, J the Jacobian of the expected sums and W their precision."""
        jacobians = jax.jacfwd(lambda p: self.moments(distribution, p)[0])(phi)
        return jacobians.T @ jnp.linalg.solve(self.moments(distribution, phi)[1] + jnp.diag(variances), jacobians)


@dataclass(frozen=True, eq=False)
class BinnedReports:
    """Reports plus noise of ``scale``, as `report_summaries.binned` on ``nodes`` nodes over ``span``.

    The noise is Laplace, or normal if ``gaussian``; ``span`` None means the bounds of the distribution.
    """

    nodes: int
    scale: float
    gaussian: bool = False
    span: tuple[float, float] | None = None

    @property
    def size(self) -> int:
        """One weight a node."""
        return self.nodes

    def _log_densities(self, distribution: ClampedDistribution, phi: Any) -> Any:
        nodes = np.linspace(*(self.span or (distribution.low, distribution.high)), self.nodes)
        return (distribution.log_gaussian_report if self.gaussian else distribution.log_report)(phi, nodes, self.scale)

    def log_likelihood(self, distribution: ClampedDistribution, phi: Any, numbers: Any, _: Any) -> Any:
        """The weights times the log density at the nodes."""
        return numbers @ self._log_densities(distribution, phi)

    def information(self, distribution: ClampedDistribution, phi: Any, numbers: Any, _: Any) -> Any:
        """The weighted sum of outer products of the derivatives at the nodes."""
        jacobians = jax.jacfwd(lambda p: self._log_densities(distribution, p))(phi)
        return jacobians.T @ (numbers[:, None] * jacobians)


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
        """Centre, derivative, curvature and third order."""
        return 2 * self.items + self.items**2 + self.items**3

    def log_likelihood(self, theta: Any, numbers: Any, _: Any) -> Any:
        """derivative . d - q / 2 + c held below q `HELD`, with q = -d'C d and c = T[d, d, d] / 6.

        Far from the centre c would outgrow q, and the series would rise without end where the log likelihood falls.
        It is the series of log(1 + x), with c / q about x / 3, so that c is held where x is about 1; nearer it is as
        good as untouched: to 4e-4 of itself at x = 0.2.
        """
        k = self.items
        derivative, curvature = numbers[k : 2 * k], numbers[2 * k : 2 * k + k * k].reshape(k, k)
        away = theta - numbers[:k]
        third = (numbers[2 * k + k * k :].reshape(k * k, k) @ away).reshape(k, k)
        square, cube = -away @ curvature @ away, away @ third @ away / 6
        share = cube / (square + 1e-30) / HELD
        return away @ derivative - square / 2 + cube / (1 + share**4) ** 0.25


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


def _as_arguments(piece: NoisyPowerSums | NoisyCounts) -> None:
    """A program that is compiled for some n and scales then serves all others: see `tacit.runtime.backend`."""
    for name in ("n", "scales"):
        object.__setattr__(piece, name, argument(getattr(piece, name)))


def log_normal(residual: Any, covariance: Any) -> Any:
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
