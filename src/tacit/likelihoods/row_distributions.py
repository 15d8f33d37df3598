"""Coordinates for how the rows of a design arise: shares of cells, means of numbers within them, their covariance.

Prior: shares ~ Dirichlet(alpha), means ~ N(mean, mean_sd^2), covariance S = T C T with T_j ~ half-normal(scale_j) and
C ~ LKJ(shape). A vector t, in which the prior is about standard normal, stands for (shares, means, S): isometric
log-ratios of the shares; standardised means; T_j = scale_j softplus(t); and the canonical partial correlations of C
(Lewandowski, Kurowicka and Joe 2009) as tanh(width t).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import polygamma

from tacit.likelihoods.design_moments import RowDistribution


class RowDistributionPrior(NamedTuple):
    """``mean`` and ``mean_sd`` (K, d), ``scale`` (d,), ``shape`` a number, ``alpha`` (K,)."""

    mean: Any
    mean_sd: Any
    scale: Any
    shape: Any
    alpha: Any


class RowDistributionCoordinates:
    """Between t and the distribution of a site's rows. With ``own`` every cell has its own covariance, else all share
    one.
    """

    def __init__(self, prior: RowDistributionPrior, *, own: bool = False) -> None:
        self.cells, self.d = np.shape(prior.mean)
        self.prior, self.own = prior, own
        spreads = self.cells if own else 1
        self.lengths = (
            self.cells - 1,
            self.cells * self.d,
            spreads * self.d,
            spreads * (self.d * (self.d - 1) // 2),
        )
        self.size = sum(self.lengths)
        self.spread = np.sqrt(np.mean(polygamma(1, np.asarray(prior.alpha, float))))  # of a log-ratio
        basis = np.linalg.qr(np.concatenate([np.ones((self.cells, 1)), np.eye(self.cells)[:, 1:]], axis=1))[0]
        self.contrasts = basis[:, 1:]
        self.below = np.tril_indices(self.d, -1)
        self.exponents = float(prior.shape) + (self.d - 2 - self.below[1]) / 2  # b of each partial correlation
        self.widths = np.sqrt(polygamma(1, self.exponents) / 2)

    def distribution(self, t: Any) -> RowDistribution:
        """Shares, means and a root of the covariance, (K, d, d) where every cell has its own."""
        ratios, means, scales, partials = self._split(t)
        roots = jax.vmap(self._root)(scales, partials)
        return RowDistribution(
            probabilities=jnp.exp(self.log_shares(ratios)),
            means=self.prior.mean + self.prior.mean_sd * means.reshape(self.cells, self.d),
            root=roots if self.own else roots[0],
        )

    def log_prior(self, t: Any) -> Any:
        """The density of the prior with respect to t, up to a constant."""
        ratios, means, scales, partials = self._split(t)
        return (
            jnp.sum(self.prior.alpha * self.log_shares(ratios))
            - jnp.sum(means**2) / 2
            - jnp.sum(jax.nn.softplus(scales) ** 2) / 2
            + jnp.sum(jax.nn.log_sigmoid(scales))
            - jnp.sum(2 * self.exponents * log_cosh(self.widths * partials))
        )

    def information(self, t: Any) -> Any:
        """About what the prior says of t."""
        return jnp.eye(len(t))

    def _split(self, t: Any) -> tuple[Any, Any, Any, Any]:
        ratios, means, scales, partials = jnp.split(t, np.cumsum(self.lengths)[:-1])
        spreads = self.cells if self.own else 1
        return ratios, means, scales.reshape(spreads, self.d), partials.reshape(spreads, len(self.exponents))

    def log_shares(self, ratios: Any) -> Any:
        """The logarithms of the shares of cells, of the first numbers of t."""
        return jax.nn.log_softmax(self.spread * (self.contrasts @ ratios))

    def _root(self, scales: Any, partials: Any) -> Any:
        chosen = jnp.zeros((self.d, self.d)).at[self.below].set(jnp.tanh(self.widths * partials))
        rest = jnp.cumprod(jnp.sqrt(1 - chosen**2), axis=1)
        before = jnp.concatenate([jnp.ones((self.d, 1)), rest], axis=1)[:, : self.d]
        factor = (chosen + jnp.eye(self.d)) * before  # Cholesky factor of the correlations
        return (self.prior.scale * jax.nn.softplus(scales))[:, None] * factor


def log_cosh(value: Any) -> Any:
    """log cosh, for values of any size."""
    return jnp.logaddexp(value, -value) - np.log(2)
