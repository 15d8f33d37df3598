"""Coordinates for how rows arise in which what a Gram matrix says of them is straight.

Where all cells share one covariance S, the sums of a design with indicators depend on the shares s_c of cells, on the
regression of the numbers' means m_c on the indicators, and on the scatter E around it, and on nothing else. With U a
basis of the indicators over cells, N one of what is orthogonal to them, D = diag(s), and k the columns of N,

    m = U g + D^-1 N R^-T phi,    R R' = N'D^-1 N,    E = S + phi'phi

so that U'D D^-1 N = 0 and the scatter is E. Means and S in place of g and E are right as well, but a release that fixes
E to three digits leaves phi free on curved surfaces, S = E - phi'phi, where trajectories need tiny steps: 255 leapfrog
steps for each draw of a regression on a number and two factors.

phi lies where S is positive definite. With E = L L' and phi = psi L', S = L (I - psi'psi) L', so psi'psi < I. Column j
of psi is F_j times a vector w tanh|w| / |w| of length below 1, F_j F_j' = I less the squares of the columns before.

The prior is that of `RowDistributionCoordinates`. Proof that the volume is right: m depends on g and rho = R phi as
U (g - B rho) + N rho, a shear, whose determinant is constant; (S, rho) to (E, rho) is a shift; d rho = det(R)^d d phi,
d phi = det(L)^k d psi; the columns of psi depend on those before them, which makes a triangular matrix of blocks, each
det F_j times that of w tanh|w| / |w|, (tanh|w| / |w|)^(k-1) sech^2 |w|, with det F_j^2 the product of sech^2 of the
columns before; and dE = const prod L_jj^(d+1-j) dL. []
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.likelihoods.design_moments import RowDistribution
from tacit.likelihoods.row_distributions import RowDistributionCoordinates, RowDistributionPrior, log_cosh


class ScatterCoordinates:
    """Between t and the distribution of a site's rows; ``indicators`` (K, p) of cells. See the top of this file."""

    def __init__(self, prior: RowDistributionPrior, indicators: Any) -> None:
        self.prior, (self.cells, self.d) = prior, np.shape(prior.mean)
        left, sizes, _ = np.linalg.svd(np.asarray(indicators, float))
        rank = int(np.sum(sizes > 1e-9 * max(sizes[0], 1e-300)))
        self.spanned, self.rest = left[:, :rank], left[:, rank:]
        self.k = self.rest.shape[1]
        self.lengths = (self.cells - 1, rank * self.d, self.d * (self.d + 1) // 2, self.k * self.d)
        self.size = sum(self.lengths)
        self.shares = RowDistributionCoordinates(prior)  # which has them first
        self.below = np.tril_indices(self.d, -1)

    def distribution(self, t: Any) -> RowDistribution:
        """Shares, means and a root of the covariance."""
        return self._all(t)[0]

    def log_prior(self, t: Any) -> Any:
        """The density of the prior with respect to t, up to a constant."""
        rows, volume = self._all(t)
        prior, d = self.prior, self.d
        log_shares = jnp.log(rows.probabilities)
        log_scales = jnp.log(jnp.sum(rows.root**2, axis=1)) / 2
        log_correlations = 2 * (jnp.sum(jnp.log(jnp.diagonal(rows.root))) - jnp.sum(log_scales))
        value = jnp.sum(prior.alpha * log_shares) - jnp.sum(((rows.means - prior.mean) / prior.mean_sd) ** 2) / 2
        value -= jnp.sum(jnp.exp(2 * log_scales) / prior.scale**2) / 2 + d * jnp.sum(log_scales)
        return value + (prior.shape - 1) * log_correlations + volume

    def information(self, t: Any) -> Any:
        """About what the prior says of t, there."""
        standard = jax.jacfwd(lambda t: ((self.distribution(t).means - self.prior.mean) / self.prior.mean_sd).ravel())
        return jnp.eye(self.size) + standard(t).T @ standard(t)

    def _all(self, t: Any) -> tuple[RowDistribution, Any]:
        """The distribution, and the log of the volume of means and covariance that a unit of t has."""
        ratios, fitted, scatter, free = jnp.split(t, np.cumsum(self.lengths)[:-1])
        log_shares = self.shares.log_shares(ratios)
        logs = scatter[: self.d]
        factor = jnp.diag(jnp.exp(logs)).at[self.below].set(scatter[self.d :])
        L = jnp.asarray(self.prior.scale)[:, None] * factor
        psi, volume = self._inside(free.reshape(self.k, self.d))
        inverse = self.rest * jnp.exp(-log_shares)[:, None]
        R = jnp.linalg.cholesky(self.rest.T @ inverse)
        means = self.spanned @ (self.spanned.T @ self.prior.mean + self.prior.mean_sd[0] * fitted.reshape(-1, self.d))
        means = means + inverse @ solve_triangular(R, psi @ L.T, lower=True, trans=1)
        volume += self.d * jnp.sum(jnp.log(jnp.diagonal(R))) + self.k * jnp.sum(logs)
        volume += jnp.sum((self.d + 1 - np.arange(self.d)) * logs)  # of E, and of the logarithms
        root = L @ jnp.linalg.cholesky(jnp.eye(self.d) - psi.T @ psi)
        return RowDistribution(probabilities=jnp.exp(log_shares), means=means, root=root), volume

    def _inside(self, w: Any) -> tuple[Any, Any]:
        """psi (k, d) with psi'psi < I, and the log of its volume."""
        left, before, volume = jnp.eye(self.k), 0.0, 0.0
        columns: list[Any] = []
        for j in range(self.d):
            length = jnp.sqrt(jnp.sum(w[:, j] ** 2) + 1e-30)
            shrunk, narrower = jnp.tanh(length) / length, log_cosh(length)
            columns.append(jnp.linalg.cholesky(left) @ (shrunk * w[:, j]))
            volume += (self.k - 1) * jnp.log(shrunk) - 2 * narrower - before
            left, before = left - jnp.outer(columns[-1], columns[-1]), before + narrower
        return jnp.stack(columns, axis=1), volume
