"""Linear regression from reports of (x, y) plus normal noise.

With x ~ N(mu_x, Sigma_x) and y | x normal a report is normal, and N of them count through the sum of v v' alone, v the
report with a 1 before it: the cost does not grow with N (`report_densities.linear_reports`).

Coordinates t, standard normal under the prior or nearly so: with g ~ Gamma(a0) and c_i ~ Gamma((nu0 - i)/2), each
written as the exponential of mean plus sd times t of its logarithm,

    sigma^2 = b0 / g, or tau^2 / (1 + W) with W = exp(2 h) as in `response`,
    theta as in `coefficient_prior`, with the means and the variances of mu_x and Sigma_x,
    Sigma_x = H H', H = Psi0^(1/2) A^-T, A lower triangular with sqrt(2 c_i) on its diagonal and t below (Bartlett),
    mu_x = m0 + H t / sqrt(kappa0).

Surveys share theta and sigma; each has its own distribution of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from scipy.special import digamma, polygamma

from tacit.likelihoods.conjugate_gram import GramPriorParameters
from tacit.likelihoods.report_densities import linear_reports
from tacit.likelihoods.response import ratio_of
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.input_chain import input_chain


class LinearCoordinates:
    """Between a vector t and the parameters: theta, sigma^2 and, for each survey, mu_x and Sigma_x."""

    def __init__(self, surveys: int, prior: GramPriorParameters) -> None:
        self.prior, self.surveys = prior, surveys
        self.p, self.d = len(prior.mu0), len(prior.m0)
        self.below = np.tril_indices(self.d, -1)
        self.own = 2 * self.d + len(self.below[0])  # unknowns of one survey
        self.own_size = self.p + 1 + surveys * self.own
        self.share = prior.share
        self.size = self.own_size + (self.share is not None)  # h comes last
        shapes = (float(prior.nu0) - np.arange(self.d)) / 2
        self.shapes = np.concatenate([[float(prior.a0)], np.tile(shapes, surveys)])
        starts = self.p + 1 + self.own * np.arange(surveys)
        self.gammas = np.concatenate([[self.p], (starts[:, None] + self.d + np.arange(self.d)).reshape(-1)]).astype(int)
        self.normals = np.setdiff1d(np.arange(self.own_size), self.gammas)
        if self.share is not None:  # the place of g is that of tau
            self.shapes, self.gammas = self.shapes[1:], self.gammas[1:]

    def _logs(self, t: Any) -> Any:
        """The logarithms of g and of all c."""
        return digamma(self.shapes) + np.sqrt(polygamma(1, self.shapes)) * t[self.gammas]

    def log_prior(self, t: Any) -> Any:
        """The density of the prior with respect to t, up to a constant."""
        logs = self._logs(t)
        found = jnp.sum(self.shapes * logs - jnp.exp(logs)) - jnp.sum(t[self.normals] ** 2) / 2
        if self.share is None:
            return found
        variance, h = self._shared(t)
        return found + self.share.log_density(variance, h) + jnp.log(variance) / 2

    def _shared(self, t: Any) -> tuple[Any, Any]:
        """sigma^2 and h."""
        assert self.share is not None
        tau, h = self.share.total * jnp.exp(t[self.p] - 0.6), 1.5 * t[-1]
        return tau**2 / (1 + ratio_of(h)), h

    def response(self, t: Any) -> tuple[Any, Any]:
        """theta and sigma^2."""
        if self.share is None:
            variance, ratio = self.prior.b0 * jnp.exp(-self._logs(t)[0]), 1.0
        else:
            variance, h = self._shared(t)
            ratio = ratio_of(h)
        distributions = [self.covariates(t, survey) for survey in range(self.surveys)]
        means = sum(mean for mean, _ in distributions) / self.surveys
        squares = sum(jnp.diagonal(covariance) for _, covariance in distributions) / self.surveys
        centre, squares = jnp.append(1.0, means), jnp.append(1.0, squares)
        return self.prior.response.coefficients.place(t[: self.p], centre, squares, variance, ratio), variance

    def covariates(self, t: Any, survey: int) -> tuple[Any, Any]:
        """mu_x and Sigma_x of one survey."""
        first = int(self.share is None)
        logs = self._logs(t)[first + survey * self.d :][: self.d]
        own = t[self.p + 1 + survey * self.own :][: self.own]
        factor = jnp.diag(jnp.sqrt(2 * jnp.exp(logs))).at[self.below].set(own[2 * self.d :])
        half = solve_triangular(factor, jnp.linalg.cholesky(self.prior.psi0).T, lower=True).T
        return self.prior.m0 + half @ own[: self.d] / jnp.sqrt(self.prior.kappa0), half @ half.T

    def draws(self, t: Any) -> Arrays:
        """The parameters by name; the covariates' distribution only where there is one survey."""
        theta, variance = self.response(t)
        found = {"theta": theta, "sigma": jnp.sqrt(variance)}
        if self.surveys == 1:
            found["mu_x"], found["Sigma_x"] = self.covariates(t, 0)
        return found


@dataclass(frozen=True, eq=False)
class _Reports:
    """Reports whose noise has the variances ``noise`` (d + 1,) on (x, y), as the sum of v v'."""

    coordinates: LinearCoordinates
    noise: Any

    @property
    def size(self) -> int:
        """The entries of a square matrix."""
        return (len(self.noise) + 1) ** 2

    def log_likelihood(self, t: Any, survey: int, numbers: Any) -> Any:
        """See `linear_reports`."""
        theta, variance = self.coordinates.response(t)
        mean, covariance = self.coordinates.covariates(t, survey)
        side = len(self.noise) + 1
        total = numbers.reshape(side, side)
        return linear_reports(total, theta[1:], theta[0], mean, covariance, variance, jnp.diag(jnp.asarray(self.noise)))


def linear_inputs_chain(noises: Sequence[Any], prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """The chain for one or more surveys; ``noises`` are the variances of the noise on (x, y) in each."""
    coordinates = LinearCoordinates(len(noises), prior)
    surveys = [_Reports(coordinates, np.asarray(noise, np.float64)) for noise in noises]
    return input_chain(coordinates.size, coordinates.log_prior, surveys, coordinates.draws, settings)
