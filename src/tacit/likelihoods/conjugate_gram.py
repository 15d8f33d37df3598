"""The normal-Wishart distribution of a Gram matrix with every parameter integrated out, and the parameters given the
matrix.

Rows (1, x, y) with x ~ N(mu_x, Sigma_x), y | x ~ N(theta'(1, x), sigma^2) and the priors

    Sigma_x ~ IW(Psi0, nu0),  mu_x | Sigma_x ~ N(m0, Sigma_x / kappa0),
    sigma^2 ~ IG(a0, b0),     theta | sigma^2 ~ N(mu0, sigma^2 Lambda0^-1).

The Gram matrix B of (1, x, y) is sufficient. With d covariates, p = d + 1, S the centred scatter of x, G the block of
(1, x) in B and RSS the residual sum of squares, its density with respect to the distinct entries is, up to a constant,

    (n-d-2)/2 log|S| - (nu0+n)/2 log|Psi_n| - 1/2 log|S| + ((n-p)/2 - 1) log RSS - 1/2 log|G + Lambda0| - a_n log b_n

The first two terms are the distribution of (sum x, S): normal-Wishart, mixed over the normal-inverse-Wishart prior.
The others are the distribution of (X'y, y'y) given X: least-squares estimate and RSS, mixed over the
normal-inverse-gamma prior; log|S| enters through |G| = n |S|. Given B, (theta, sigma^2) and (mu_x, Sigma_x) are
independent and conjugate.

Several sites have their own rows and their own distribution of x, and share theta and sigma. Then the first terms, to
log RSS, are added up over sites, and the last two are those of all sites together (`response`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.likelihoods.coefficient_prior import CoefficientPrior
from tacit.likelihoods.response import ExplainedShare, Fit, ResponsePrior, Update, draw, log_evidence, update


class GramPriorParameters(NamedTuple):
    """The numbers of both priors; ``coefficients``, if given, is that of theta, and mu0 and lambda0 are near it."""

    m0: Any
    kappa0: Any
    nu0: Any
    psi0: Any
    mu0: Any
    lambda0: Any
    a0: Any
    b0: Any
    coefficients: CoefficientPrior | None = None
    share: ExplainedShare | None = None

    @property
    def response(self) -> ResponsePrior:
        """The prior of theta and sigma alone; without ``coefficients`` that of mu0 and lambda0."""
        said = self.coefficients
        if said is None:
            rows, nothing = np.linalg.cholesky(np.asarray(self.lambda0, float)).T, np.zeros(len(self.mu0))
            said = CoefficientPrior(rows, nothing, rows @ self.mu0, nothing, nothing + 1, nothing)
        return ResponsePrior(said, self.a0, self.b0, intercept=True, share=self.share)


class Centred(NamedTuple):
    """A Gram matrix of (1, w), w = (x, y), as the sums of w and the Cholesky factor of the centred scatter of w."""

    sums: Any
    factor: Any

    def block(self, n: Any) -> Any:
        """The sums of products of w, not centred."""
        return self.factor @ self.factor.T + jnp.outer(self.sums, self.sums) / n


def fit(centred: Centred, n: Any) -> Fit:
    """G, the least-squares estimate and RSS of one site, read off its Cholesky factor (no axis over sites)."""
    sums, factor = centred
    x_sums, x_factor = sums[:-1], factor[:-1, :-1]
    slopes = solve_triangular(x_factor, factor[-1, :-1], lower=True, trans=1)
    estimate = jnp.concatenate([((sums[-1] - slopes @ x_sums) / n)[None], slopes])
    x_block = x_factor @ x_factor.T + jnp.outer(x_sums, x_sums) / n
    top = jnp.concatenate([jnp.asarray(n * 1.0)[None], x_sums])
    gram = jnp.concatenate([top[None, :], jnp.concatenate([x_sums[:, None], x_block], axis=1)], axis=0)
    return Fit(gram, estimate, factor[-1, -1] ** 2)


def regression(centred: Centred, n: Any, prior: GramPriorParameters) -> Update:
    """The conjugate update of theta and sigma from the rows of one site."""
    return update(Fit(*(part[None] for part in fit(centred, n))), n, prior.response)


def covariates(centred: Centred, n: Any, prior: GramPriorParameters) -> tuple[Any, Any, Any]:
    """The Cholesky factor of Psi_n, m_n and nu_n."""
    sums, factor = centred.sums[:-1], centred.factor[:-1, :-1]
    apart = sums / n - prior.m0
    psi = prior.psi0 + factor @ factor.T + prior.kappa0 * n / (prior.kappa0 + n) * jnp.outer(apart, apart)
    return jnp.linalg.cholesky(psi), (prior.kappa0 * prior.m0 + sums) / (prior.kappa0 + n), prior.nu0 + n


def log_density(centred: Centred, n: Any, prior: GramPriorParameters) -> Any:
    """The log density above, up to a constant."""
    return log_site(centred, n, prior) + log_evidence(regression(centred, n, prior))


def log_site(centred: Centred, n: Any, prior: GramPriorParameters) -> Any:
    """The part of the log density that belongs to one site alone: all but the last two terms."""
    diagonal = jnp.diagonal(centred.factor)
    d = centred.sums.shape[0] - 1
    log_s = 2 * jnp.sum(jnp.log(diagonal[:-1]))
    log_rss = 2 * jnp.log(diagonal[-1])
    psi_root, _, nu = covariates(centred, n, prior)
    return (n - d - 3) / 2 * log_s - nu * jnp.sum(jnp.log(jnp.diagonal(psi_root))) + ((n - d - 1) / 2 - 1) * log_rss


def draw_parameters(key: Any, centred: Centred, n: Any, prior: GramPriorParameters) -> dict[str, Any]:
    """theta, sigma, mu_x and Sigma_x given the Gram matrix of one site, exactly."""
    for_response, for_covariates = jax.random.split(key)
    return {
        **draw(for_response, regression(centred, n, prior)),
        **draw_covariates(for_covariates, centred, n, prior),
    }


def draw_covariates(key: Any, centred: Centred, n: Any, prior: GramPriorParameters) -> dict[str, Any]:
    """mu_x and Sigma_x given the Gram matrix, exactly."""
    for_diagonal, for_normal = jax.random.split(key)
    d = centred.sums.shape[0] - 1
    gammas = jax.random.gamma(for_diagonal, (prior.nu0 + n - jnp.arange(d)) / 2)
    return placed_covariates(centred, n, prior, gammas, jax.random.normal(for_normal, (d + 1, d)))


def placed_covariates(centred: Centred, n: Any, prior: GramPriorParameters, gammas: Any, noise: Any) -> dict[str, Any]:
    """mu_x and Sigma_x made of d ``gammas`` of shapes (nu_n - i) / 2, i from 0, and (d + 1, d) standard normals."""
    psi_root, m, _ = covariates(centred, n, prior)
    # Bartlett: with A lower triangular, A_ii^2 ~ chi2(nu - i), the matrix (L A^-T)(L A^-T)' is inverse Wishart.
    a_matrix = jnp.tril(noise[1:], -1) + jnp.diag(jnp.sqrt(2 * gammas))
    half = solve_triangular(a_matrix, psi_root.T, lower=True).T
    mu = m + half @ noise[0] / jnp.sqrt(prior.kappa0 + n)
    return {"mu_x": mu, "Sigma_x": half @ half.T}
