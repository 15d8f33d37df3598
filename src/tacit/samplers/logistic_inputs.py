"""Logistic regression from reports of x plus normal noise and of y by randomized response.

A report's density is that of x, normal, times the probability of its label given the report of x
(`report_densities.logistic_report`; kulkarni2022, equation (43)). N of them cost no more than a few:

* the first parts count through the sum of v v' alone, v = (1, report of x);
* a label's part is a smooth function of the report of x, one for each label, and is summed on a Chebyshev grid
  (`chebyshev_grid`) over the bounds of x widened by 6.5 standard deviations of the noise.

Error. On each axis a grid of m nodes is off by about rho^-m a report (Trefethen 2013, theorem 8.2), with rho = c +
sqrt(c^2 + 1), where no singularity is nearer to the real axis than c times half the box. Whatever the distribution of x
in [-1, 1] is, the density of a report is exp(-z^2 / (2 s^2)) E[weight exp(z x / s^2)], s the noise and the weight
positive. While |Im z| < pi s^2 / 2 all exp(z x / s^2) lie in one half plane and cannot cancel. So c = pi s^2 / 2 / (1 +
6.5 s) will do for `learned_inputs`, and m follows from s alone: rho^-m < 1e-8, unless `NODES` allows fewer. It does for
s below 0.24 with one covariate, 1.35 with two, 6.0 with three and 16 with four. With x normal singularities are farther
away: those of the label's part are pi away from the real line of the predictor.
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

from tacit.likelihoods.design_moments import CellDesign
from tacit.likelihoods.report_summaries import moment_sums
from tacit.numerics.chebyshev_grid import grid_nodes, grid_weights
from tacit.runtime.chain import Chain, SamplerSettings
from tacit.samplers.input_chain import input_chain
from tacit.samplers.marginal_likelihood_glm import GlmCoordinates, GlmPriorParameters

NODES = {1: (20, 512), 2: (16, 64), 3: (10, 16), 4: (7, 9)}  # least and most on an axis, by the number of covariates
_ERROR = 1e-8
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
        """Of the grid, on each axis: so many that rho^-nodes is below 1e-8, if they are allowed."""
        least, most = NODES[len(self.noise)]
        strip = math.pi * np.asarray(self.noise) / 2 / self.half_widths  # half its width over that of the box
        rho = float(np.min(strip + np.sqrt(strip**2 + 1)))
        return min(max(least, math.ceil(-math.log(_ERROR) / math.log(rho))), most)

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
        yes, no = _probabilities(predictors, spread)
        a = math.exp(-self.epsilon)
        labels = yes_weights @ jnp.log(yes + a * no) + no_weights @ jnp.log(no + a * yes)
        return normal + labels - n * math.log1p(a)


def _probabilities(mean: Any, sd: Any) -> tuple[Any, Any]:
    """E[expit(u)] and E[expit(-u)], u ~ N(mean, sd^2), by the trapezoid rule: off by 2e-10 at sd = 2, 2e-7 at 3."""
    u = mean[:, None] + sd * _NORMAL
    return sigmoid(u) @ _NORMAL_WEIGHTS, sigmoid(-u) @ _NORMAL_WEIGHTS


@dataclass(frozen=True, eq=False)
class _Reports:
    coordinates: GlmCoordinates
    design: CellDesign
    reports: LabelledReports

    @property
    def size(self) -> int:
        return self.reports.size

    def log_likelihood(self, t: Any, survey: int, numbers: Any) -> Any:
        theta, distributions = self.coordinates.theta(t), self.coordinates.distributions(t)
        root = distributions.root[survey]
        slopes, intercept = self.design.slopes[0].T @ theta, self.design.constants[0] @ theta
        return self.reports.log_likelihood(numbers, slopes, intercept, distributions.means[survey, 0], root @ root.T)


def logistic_inputs_chain(
    design: CellDesign, surveys: Sequence[LabelledReports], prior: GlmPriorParameters, settings: SamplerSettings
) -> Chain:
    """The chain for one or more surveys. Draws: theta (p,), m_x (surveys, 1, d), S_x (surveys, d, d)."""
    coordinates = GlmCoordinates(design, len(surveys), prior)
    pieces = [_Reports(coordinates, design, survey) for survey in surveys]
    return input_chain(coordinates.size, coordinates.log_prior, pieces, coordinates.draws, settings)
