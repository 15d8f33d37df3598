"""Logistic regression from reports of x plus normal noise and of y by randomized response.

A report's density is that of x, normal, times the chance of its label given the report of x
(`report_densities.logistic_report`; kulkarni2022, equation (43)). N of them cost no more than a few:

* the first parts count through the sum of v v' alone, v = (1, report of x);
* a label's part is a smooth function of the report of x, one for each label, and is summed on a Chebyshev grid
  (`chebyshev_grid`) over the bounds of x widened by 6.5 standard deviations of the noise.

Error. The label's part is g(eta) = log(E[expit(u)] + a E[expit(-u)]), u ~ N(eta, a variance that all share), eta linear
in the report, a = e^-epsilon. The nearest singularities of g are pi away from the real line (without any spread of u; a
spread smooths it). Over a box in which coordinate j moves eta by at most r_j a grid of m nodes an axis is off by about
rho^-m a report, rho = (pi + sqrt(pi^2 + r^2)) / r with r the largest r_j (Trefethen 2013, theorem 8.2). Noise of
variance s^2 shrinks r: for one covariate of variance S and slope theta, r = S theta (1 + 6.5 s) / (S + s^2). At
epsilon = 2, delta = 1e-5, S = 0.1 and theta = 4 it is 0.36, 0.25, 0.21 and 0.18 with 1 to 4 covariates, and rho^-m is
2e-25, 6e-23, 2e-15 and 2e-11.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid
from jax.scipy.linalg import solve_triangular

from tacit.likelihoods.design_moments import Design
from tacit.likelihoods.report_summaries import moment_sums
from tacit.numerics.chebyshev_grid import grid_nodes, grid_weights
from tacit.runtime.chain import Chain, Settings
from tacit.samplers.input_chain import input_chain
from tacit.samplers.marginal_likelihood_glm import Coordinates, Numbers

NODES = {1: 20, 2: 16, 3: 10, 4: 7}  # on each axis, by the number of covariates
_SPREAD = 6.5
_NORMAL = np.linspace(-8.0, 8.0, 41)
_NORMAL_WEIGHTS = np.exp(-(_NORMAL**2) / 2) / np.exp(-(_NORMAL**2) / 2).sum()


@dataclass(frozen=True)
class LabelledReports:
    """Reports with noise of variances ``noise`` (d,) on x in [-1, 1], and labels randomised with ``epsilon``."""

    noise: tuple[float, ...]
    epsilon: float

    @property
    def half_widths(self) -> Any:
        """Of the box of the grid."""
        return 1 + _SPREAD * np.sqrt(np.asarray(self.noise))

    @property
    def nodes(self) -> int:
        """Of the grid, on each axis."""
        return NODES[len(self.noise)]

    @property
    def size(self) -> int:
        """How many numbers a summary has."""
        d = len(self.noise)
        return (d + 1) ** 2 + 2 * self.nodes**d

    def summary(self, labels: Any, x: Any) -> Any:
        """The sum of v v', and the weights of the grid for ``labels`` 0 and 1."""
        weights = [grid_weights(x[labels == label], self.half_widths, self.nodes) for label in (0, 1)]
        return np.concatenate([moment_sums(x).reshape(-1), *weights])

    def log_likelihood(self, numbers: Any, slopes: Any, intercept: Any, mean: Any, covariance: Any) -> Any:
        """Of all reports: x ~ N(``mean``, ``covariance``), P(y = 1) = expit(``intercept`` + ``slopes``'x)."""
        d = len(self.noise)
        total = numbers[: (d + 1) ** 2].reshape(d + 1, d + 1)
        no_weights, yes_weights = numbers[(d + 1) ** 2 :].reshape(2, -1)
        n, sums = total[0, 0], total[0, 1:]
        root = jnp.linalg.cholesky(covariance + jnp.diag(jnp.asarray(self.noise)))
        moved = jnp.outer(sums, mean)
        scatter = total[1:, 1:] - moved - moved.T + n * jnp.outer(mean, mean)
        half = solve_triangular(root, jnp.eye(d), lower=True)
        log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(root)))
        normal = -0.5 * (n * (log_det + d * math.log(2 * math.pi)) + jnp.sum((half.T @ half) * scatter))
        gain = half @ (covariance @ slopes)
        spread = jnp.sqrt(jnp.maximum(slopes @ (covariance @ slopes) - gain @ gain, 1e-12))
        nodes = grid_nodes(self.half_widths, self.nodes)
        predictors = intercept + slopes @ mean + (nodes - mean) @ (half.T @ gain)
        yes, no = _chances(predictors, spread)
        a = math.exp(-self.epsilon)
        labels = yes_weights @ jnp.log(yes + a * no) + no_weights @ jnp.log(no + a * yes)
        return normal + labels - n * math.log1p(a)


def _chances(mean: Any, sd: Any) -> tuple[Any, Any]:
    """E[expit(u)] and E[expit(-u)], u ~ N(mean, sd^2), by the trapezoid rule: off by 2e-10 at sd = 2, 2e-7 at 3."""
    u = mean[:, None] + sd * _NORMAL
    return sigmoid(u) @ _NORMAL_WEIGHTS, sigmoid(-u) @ _NORMAL_WEIGHTS


@dataclass(frozen=True, eq=False)
class _Reports:
    coordinates: Coordinates
    design: Design
    reports: LabelledReports

    @property
    def size(self) -> int:
        return self.reports.size

    def log_likelihood(self, t: Any, survey: int, numbers: Any) -> Any:
        theta, laws = self.coordinates.theta(t), self.coordinates.laws(t)
        root = laws.root[survey]
        slopes, intercept = self.design.slopes[0].T @ theta, self.design.constants[0] @ theta
        return self.reports.log_likelihood(numbers, slopes, intercept, laws.means[survey, 0], root @ root.T)


def logistic_inputs_chain(
    design: Design, surveys: Sequence[LabelledReports], prior: Numbers, settings: Settings
) -> Chain:
    """The chain for one or more surveys. Draws: theta (p,), m_x (surveys, 1, d), S_x (surveys, d, d)."""
    coordinates = Coordinates(design, len(surveys), prior)
    pieces = [_Reports(coordinates, design, survey) for survey in surveys]
    return input_chain(coordinates.size, coordinates.log_prior, pieces, coordinates.draws, settings)
