"""Posteriors from several pieces of evidence about the same distribution: noisy sums of sites and local reports of
groups.

`pooled_posterior_chain` is for the one-column distributions of `clamped_distributions`, `simplex_chain` for the shares
theta of k items under a Dirichlet prior. The log target is the log prior plus one log likelihood a piece: pieces share
no rows. ``released`` is the numbers of all pieces, one piece after the other.

The pieces are those of `tacit.likelihoods.evidence`. Laplace noise of scale b is normal given omega^2 ~ Exp(mean
2 b^2), which is sampled along as omega^2 = -2 b^2 log Phi(-v) with v standard normal (as in `marginal_likelihood_glm`).

Sampling is done by `laplace_preconditioned_nuts` on phi, which has spreads near 1 under the prior, or on isometric
log-ratios t of the shares: theta = softmax(V t), V orthonormal columns that sum to 0, where the prior is sum_j
concentration_j log theta_j, or a mixture of such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, logsumexp

from tacit.errors import expected
from tacit.likelihoods.clamped_distributions import ClampedDistribution
from tacit.likelihoods.counted_cells import CountedCells
from tacit.likelihoods.counted_sums import CountedPowerSums
from tacit.likelihoods.evidence import (
    BinnedReports,
    ExpandedReports,
    NoisyCounts,
    NoisyPowerSums,
    PatternReports,
    ResponseReports,
)
from tacit.runtime.chain import Chain, SamplerSettings
from tacit.samplers.laplace_preconditioned_nuts import Geometry, at_least, laplace_preconditioned_nuts

_REACH = 3.5  # how far from the prior's mean the search may start, in its standard deviations


def distribution_geometry(
    distribution: ClampedDistribution, evidence: Sequence[NoisyPowerSums | CountedPowerSums | BinnedReports]
) -> Geometry:
    """The posterior of the parameters of ``distribution`` given the variances of noise, and where to look for its
    peak.
    """

    def target(phi: Any, parts: Any, variances: Any) -> Any:
        pieces = zip(evidence, parts, variances, strict=True)
        return distribution.log_prior(phi) + sum(
            piece.log_likelihood(distribution, phi, x, v) for piece, x, v in pieces
        )

    def information(phi: Any, parts: Any, variances: Any) -> Any:
        pieces = zip(evidence, parts, variances, strict=True)
        return jnp.eye(distribution.size) + sum(piece.information(distribution, phi, x, v) for piece, x, v in pieces)

    def start(parts: Any, variances: Any) -> Any:
        axis = np.linspace(-_REACH, _REACH, 9 if distribution.size > 1 else 29)
        grid = jnp.asarray(np.stack(np.meshgrid(*[axis] * distribution.size), axis=-1).reshape(-1, distribution.size))
        values = jax.lax.map(lambda phi: target(phi, parts, variances), grid)
        return grid[jnp.argmax(jnp.where(jnp.isfinite(values), values, -jnp.inf))]

    def moments(piece: Any, phi: Any) -> Any:
        return piece.moments(distribution, phi)

    return Geometry(target, information, start, 1.0, moments)


def pooled_posterior_chain(
    distribution: ClampedDistribution, evidence: Sequence[NoisyPowerSums | BinnedReports], settings: SamplerSettings
) -> Chain:
    """NUTS on the parameters of ``distribution``. Draws: its parameters by name."""
    return laplace_preconditioned_nuts(
        evidence, distribution_geometry(distribution, evidence), distribution.parameters, settings
    )


def simplex_chain(
    concentrations: Any,
    evidence: Sequence[ResponseReports | PatternReports | ExpandedReports | NoisyCounts | CountedCells],
    settings: SamplerSettings,
) -> Chain:
    """NUTS on the shares of k items. Draws: log_theta (k,), as a share may be below any float.

    theta ~ Dirichlet of one of the rows of ``concentrations`` (or of the only one), which are equally likely. Where the
    number of rows is not public (`CountedCells`), the log of lambda is one more unknown, of every such piece.
    """
    alphas = np.atleast_2d(np.asarray(concentrations, np.float64))
    items = alphas.shape[1]
    if items < 2 or alphas.min() <= 0:
        raise expected("concentration", alphas.tolist(), "to be two or more positive numbers")
    contrasts = np.linalg.qr(np.column_stack([np.ones(items), np.eye(items)[:, 1:]]))[0][:, 1:]
    flattest = 0.1 * min(1.0, float(alphas.min()))
    counted = [piece for piece in evidence if isinstance(piece, CountedCells)]

    def log_theta(t: Any) -> Any:
        return jax.nn.log_softmax(contrasts @ t[: items - 1])

    def rate(t: Any, piece: CountedCells) -> Any:
        return jnp.exp(t[items - 1 + counted.index(piece)])

    def target(t: Any, parts: Any, variances: Any) -> Any:
        logs = log_theta(t)
        theta, likelihoods = jnp.exp(logs), jnp.sum(t[items - 1 :])  # lambda is flat, its logarithm is not
        for piece, x, v in zip(evidence, parts, variances, strict=True):
            latent = (rate(t, piece),) if isinstance(piece, CountedCells) else ()
            likelihoods = likelihoods + piece.log_likelihood(theta, *latent, x, v)  # pyright: ignore[reportCallIssue]
        volumes = gammaln(alphas.sum(axis=1)) - gammaln(alphas).sum(axis=1)
        return logsumexp(alphas @ logs + volumes) + likelihoods

    def information(t: Any, parts: Any, variances: Any) -> Any:
        return at_least(-jax.hessian(target)(t, parts, variances), flattest)

    def start(parts: Any, _: Any) -> Any:
        pairs = list(zip(evidence, parts, strict=True))
        centres = [x[:items] for piece, x in pairs if isinstance(piece, ExpandedReports)]
        first = contrasts.T @ jnp.log(sum(centres) / len(centres)) if centres else jnp.zeros(items - 1)
        rates = [jnp.log(piece.rate_near(x)) for piece, x in pairs if isinstance(piece, CountedCells)]
        return jnp.concatenate([first, jnp.array(rates)]) if rates else first

    def moments(piece: Any, t: Any) -> Any:
        latent = (rate(t, piece),) if isinstance(piece, CountedCells) else ()
        return piece.moments(jnp.exp(log_theta(t)), *latent)

    geometry = Geometry(target, information, start, flattest, moments)
    return laplace_preconditioned_nuts(evidence, geometry, lambda t: {"log_theta": log_theta(t)}, settings)
