"""Logistic regression from reports of x plus normal noise and of y by randomized response, the shape of x learned.

With x on the grid of `LearnedCovariates`, x_k with the share w_k, and noise of standard deviations s the density of a
report (z, label) is a finite sum,

    p(z, label) = sum_k w_k P(label | x_k) prod_a exp(-(z_a - x_ka)^2 / (2 s_a^2)) / (s_a sqrt(2 pi)),
    P(1 | x) = (expit(eta) + b expit(-eta)) / (1 + b),    b = e^-epsilon, eta the linear predictor.

Its logarithm is summed over reports on the Chebyshev grid of `LabelledReports`, which also bounds the error of that.
Surveys share theta; each has its own distribution of x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid

from tacit.likelihoods.coefficient_prior import CoefficientPrior
from tacit.likelihoods.learned_covariates import GridShares, LearnedCovariates
from tacit.numerics.chebyshev_grid import axis_nodes
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.input_chain import input_chain
from tacit.samplers.logistic_inputs import LabelledReports

_FLOOR = 1e-300


def grid_log_likelihood(reports: LabelledReports, numbers: Any, slopes: Any, intercept: Any, grid: GridShares) -> Any:
    """Of all reports: x on ``grid``, P(y = 1) = expit(``intercept`` + ``slopes``'x)."""
    d = len(reports.noise)
    total = numbers[0]
    axes, shares = grid
    eta = intercept
    for a in range(d):
        eta = eta + (slopes[a] * axes[a]).reshape([-1 if b == a else 1 for b in range(d)])
    yes, no, b = sigmoid(eta), sigmoid(-eta), math.exp(-reports.epsilon)
    joint = jnp.stack([shares * (no + b * yes), shares * (yes + b * no)])  # by label, 0 first
    highest = jnp.zeros(())
    sds = np.sqrt(np.asarray(reports.noise))
    for a, half in enumerate(reports.half_widths):
        exponents = -(((axis_nodes(half, reports.nodes)[:, None] - axes[a]) / sds[a]) ** 2) / 2
        most = jnp.max(exponents, axis=1)
        # The first axis of x that is left becomes the last one of the nodes, so that all end in order.
        joint = jnp.tensordot(joint, jnp.exp(exponents - most[:, None]), axes=([1], [1]))
        highest = highest[..., None] + most
    logs = jnp.log(joint + _FLOOR) + highest
    constant = math.log1p(b) + float(np.sum(np.log(sds))) + d * math.log(2 * math.pi) / 2
    return numbers[(d + 1) ** 2 :] @ logs.reshape(-1) - total * constant


class LearnedCoordinates:
    """Between t and theta, and for each survey the distribution of its x.

    The first number of t is kappa / 2.5, theta_0 = kappa sqrt(1 + 0.346 theta_1'V theta_1) - theta_1'mu with the means
    mu and the variances V of x: about the logit of the share of y = 1, which reports fix before all else. The next one
    is the covariance of x_j and y, another such number, rather than the slope: t_j times (v + 0.1) / (V_j + v) is that
    of `CoefficientPrior.place`, ``known`` = v (d,) about the standard deviation that reports leave to V_j.
    """

    def __init__(self, covariates: LearnedCovariates, surveys: int, prior: CoefficientPrior, known: Any) -> None:
        self.covariates, self.surveys, self.prior, self.known = covariates, surveys, prior, known
        self.p = covariates.d + 1
        self.size = self.p + surveys * covariates.size

    def own(self, t: Any, survey: int) -> Any:
        """The part of t that is one survey's distribution of x."""
        return t[self.p + survey * self.covariates.size :][: self.covariates.size]

    def theta(self, t: Any) -> Any:
        """The coefficients."""
        return self._place(t)[0]

    def log_prior(self, t: Any) -> Any:
        """The density of the prior with respect to t, up to a constant."""
        theta, stretch, centre, squares = self._place(t)
        value = jnp.log(stretch) + jnp.log(self.prior.precisions(squares)[0]) / 2
        value = value + jnp.sum(jnp.log(self._factors(squares[1:])))
        value = value - jnp.sum(self.prior.unplace(theta, centre, squares) ** 2) / 2
        return value + sum(self.covariates.log_prior(self.own(t, survey)) for survey in range(self.surveys))

    def draws(self, t: Any) -> Arrays:
        """theta, and mean and covariance of x in each survey."""
        found = [self.covariates.distribution(self.own(t, survey)) for survey in range(self.surveys)]
        means = jnp.stack([one.means for one in found])
        return {"theta": self.theta(t), "m_x": means, "S_x": jnp.stack([one.root @ one.root.T for one in found])}

    def _factors(self, variances: Any) -> Any:
        return (self.known + 0.1) / (variances + self.known)

    def _place(self, t: Any) -> tuple[Any, Any, Any, Any]:
        moments = [self.covariates.moments(self.own(t, survey)) for survey in range(self.surveys)]
        means = sum(mean for mean, _ in moments) / self.surveys
        variances = sum(variance for _, variance in moments) / self.surveys
        centre, squares = jnp.append(1.0, means), jnp.append(1.0, variances)
        standard = jnp.append(0.0, t[1 : self.p] * self._factors(variances))
        slopes = self.prior.place(standard, centre, squares)[1:]
        stretch = jnp.sqrt(1 + 0.346 * jnp.sum(slopes**2 * variances))
        first = 2.5 * t[0] * stretch - slopes @ means
        return jnp.append(first, slopes), stretch, centre, squares


@dataclass(frozen=True, eq=False)
class _Reports:
    coordinates: LearnedCoordinates
    reports: LabelledReports

    @property
    def size(self) -> int:
        return self.reports.size

    def log_likelihood(self, t: Any, survey: int, numbers: Any) -> Any:
        theta = self.coordinates.theta(t)
        grid = self.coordinates.covariates.grid(self.coordinates.own(t, survey))
        return grid_log_likelihood(self.reports, numbers, theta[1:], theta[0], grid)


def learned_inputs_chain(
    surveys: Sequence[LabelledReports], n: Sequence[int], prior: CoefficientPrior, settings: SamplerSettings
) -> Chain:
    """The chain for one or more surveys of ``n`` reports each.

    Draws: theta (p,), and mean and covariance of x, m_x (surveys, 1, d) and S_x (surveys, d, d).
    """
    noises = np.array([survey.noise for survey in surveys])
    known = np.min(noises * np.sqrt(2 / np.asarray(n, np.float64))[:, None], axis=0)
    coordinates = LearnedCoordinates(LearnedCovariates(noises.shape[1]), len(surveys), prior, known)
    pieces = [_Reports(coordinates, survey) for survey in surveys]
    return input_chain(coordinates.size, coordinates.log_prior, pieces, coordinates.draws, settings)
