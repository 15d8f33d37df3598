"""Logistic and Poisson regression record by record: a cell c, numbers x ~ N(m_c, S) and a response given u = theta'w.

What `record_augmentation` must know of these families. A record is what the model draws; what it adds to the release is
taken from its numbers clamped to their bounds and moved into the ball, if there is one, and from its count clamped to
the largest, exactly as the statistic does it. So clamped data are no approximation here; only the rounding to the
lattice is left out. The predictor belongs to the record as it was before clamping.

Where the prior of theta depends on the distribution of the rows, each of these is a proposal, taken or not by what
theta says.

Given the records, probabilities and means are drawn from their Dirichlet and normal distributions, theta as in
`glm_coefficients`, and S by Metropolis and Hastings: with scatter A of n records around their means, T_j the standard
deviations and C the correlations of S, a proposal from the inverse Wishart distribution with n - 1 degrees of freedom
and scale A, whose kernel is that of the likelihood times |S|^(-d/2), is weighed by

    prod_j exp(-T_j^2 / (2 scale_j^2)) |C|^(shape - 1 + d/2),

the prior over |S|^(-d/2). (The prior's density of S has T_j^-d from dS = 2^d prod_j T_j^d dT dC.) It is bounded.

A release with much noise says little on means and S, which n records still hold to within 1/sqrt(n) of themselves. So
both move together as well: with a matrix A that is the identity but for one entry, and a shift b of one cell's mean,

    m' = m + b,     S' = A S A',     x' = m' + A (x - m)     for every record, with its cell's m and b,

b being 0 in all cells but one. What the records say of m and S cancels: N(x'; m', S') = N(x; m, S) / |A|, and dx' =
|A| dx. Left are the prior, where dS' = |A|^(d + 1) dS and |S'| = |A|^2 |S|, and the responses, which stay as they are:
log(|A|) plus the change of the weight above, of the prior of m and of log p(y | x). The way back has the inverse of A,
which is drawn as often: A has exp(a) at one place of its diagonal or a anywhere else, with a and -a alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular

from tacit.likelihoods.coefficient_prior import NumberColumns
from tacit.likelihoods.design_moments import CellDesign
from tacit.likelihoods.glm_response import GlmResponse
from tacit.runtime.chain import Arrays
from tacit.samplers.glm_coefficients import move_coefficients
from tacit.samplers.marginal_likelihood_glm import GlmPriorParameters
from tacit.samplers.record_augmentation import Records, Together

STEPS = (0.05, 0.2, 0.8)
"""Sizes of moves of parameters and records together, in units of the prior's spread: one of them will suit."""

SHIFTS = 0.25
"""The share of them that move a mean; S has more numbers."""


@dataclass(frozen=True, eq=False)
class GlmRecords:
    """n records: their ``design`` and ``response``, and the bounds of their numbers.

    ``low`` and ``high`` (d,) are the ends of each number, ``radius`` is that of the ball or None.
    """

    n: int
    design: CellDesign
    response: GlmResponse
    low: Any
    high: Any
    radius: float | None

    def entries(self, record: Any) -> Any:
        """What a record adds to the release."""
        cell, x, y = _apart(record)
        x = jnp.clip(x, self.low, self.high)
        if self.radius is not None:
            x = x * jnp.minimum(1.0, self.radius / jnp.maximum(jnp.sqrt(jnp.sum(x**2)), 1e-300))
        w = jnp.append(self.vector(cell, x), 1.0)  # an index of -1 finds the last
        products = w[np.asarray(self.design.first)] * w[np.asarray(self.design.second)]
        return products * jnp.where(np.asarray(self.design.power) == 1, y / self.response.link.unit, 1.0)

    def vector(self, cell: Any, x: Any) -> Any:
        """The design vector w."""
        constants, slopes = (jnp.asarray(a, jnp.float64) for a in (self.design.constants, self.design.slopes))
        return constants[cell] + slopes[cell] @ x if self.design.sizes[2] else constants[cell]


def _apart(record: Any) -> tuple[Any, Any, Any]:
    """Cell, numbers and response of records (..., 1 + d + 1)."""
    return record[..., 0].astype(jnp.int32), record[..., 1:-1], record[..., -1]


def glm_records(rows: GlmRecords, prior: GlmPriorParameters) -> Records:
    """The family of `record_augmentation`.

    Parameters: theta (p,), the logs of pi (cells,) and, where there are numbers, m_x (cells, d) and S_x (d, d).
    """
    moves = _Moves(rows, prior)
    together = Together(moves.with_records, moves.log_density) if moves.d else None
    return Records(rows.entries, moves.draw_record, moves.given_records, moves.start, together)


class _Moves:
    def __init__(self, rows: GlmRecords, prior: GlmPriorParameters) -> None:
        self.rows, self.prior = rows, prior
        self.cells, self.p, self.d = rows.design.sizes
        self.constant = self.p > 0 and bool(np.all(np.asarray(rows.design.constants)[:, 0] == 1))

    def draw_record(self, key: Any, parameters: Arrays) -> Any:
        """One record from the model."""
        for_cell, for_numbers, for_response = jax.random.split(key, 3)
        cell = jnp.zeros((), jnp.int32)
        if self.cells > 1:
            cell = jax.random.categorical(for_cell, parameters["log_pi"])
        x = jnp.zeros(0)
        if self.d:
            x = parameters["m_x"][cell] + jnp.linalg.cholesky(parameters["S_x"]) @ jax.random.normal(
                for_numbers, (self.d,)
            )
        y = self.rows.response.draw(for_response, self.rows.vector(cell, x) @ parameters["theta"])
        return jnp.concatenate([1.0 * cell[None], x, y[None]])

    def start(self, key: Any, released: Any) -> tuple[Arrays, Any]:
        """The middle of the prior, and records drawn from it."""
        parameters = {
            "theta": jnp.zeros(self.p),
            "log_pi": jnp.log(self.prior.alpha / jnp.sum(self.prior.alpha)),
        }
        if self.d:
            parameters["m_x"] = jnp.asarray(self.prior.mean)
            parameters["S_x"] = jnp.diag(jnp.asarray(self.prior.scale) ** 2)
        return parameters, jax.vmap(self.draw_record, (0, None))(jax.random.split(key, self.rows.n), parameters)

    def given_records(self, key: Any, parameters: Arrays, records: Any) -> Arrays:
        """The parameters given all records."""
        keys = jax.random.split(key, 4)
        cell, x, y = _apart(records)
        response, prior = self.rows.response, self.prior
        theta, _ = move_coefficients(
            keys[0],
            parameters["theta"],
            jax.vmap(self.rows.vector)(cell, x),
            lambda u: response.log_likelihood(u, y),
            response.guess(y),
            *prior.said.normal(*self.column_moments(parameters))[:2],
            prior.radius,
        )
        members = 1.0 * (cell[:, None] == jnp.arange(self.cells))
        counts = jnp.sum(members, axis=0)
        moved = {**parameters, "theta": theta}
        if self.cells > 1:
            proposed = jax.nn.log_softmax(jax.random.loggamma(keys[1], prior.alpha + counts))
            moved = self.taken(keys[1], moved, {**moved, "log_pi": proposed})
        if self.d:
            proposed = self.means_given(keys[2], parameters["S_x"], counts, members.T @ x)
            moved = self.taken(keys[2], moved, {**moved, "m_x": proposed})
            proposed = self.covariance_given(keys[3], parameters["S_x"], x - moved["m_x"][cell])
            moved = self.taken(keys[3], moved, {**moved, "S_x": proposed})
        return moved

    def column_moments(self, parameters: Arrays) -> tuple[Any, Any]:
        """What the prior of theta knows of the distribution of the rows."""
        if not self.d:
            return jnp.eye(self.p)[0], jnp.ones(self.p)
        columns = NumberColumns.of(self.rows.design.slopes, intercept=self.constant)
        return columns.moments(jnp.exp(parameters["log_pi"]), parameters["m_x"], jnp.diagonal(parameters["S_x"]))

    def log_theta(self, parameters: Arrays) -> Any:
        """The prior of theta given the distribution of the rows, up to a constant."""
        mean, precision, log_det = self.prior.said.normal(*self.column_moments(parameters))
        apart = parameters["theta"] - mean
        return (log_det - apart @ precision @ apart) / 2

    def taken(self, key: Any, parameters: Arrays, moved: Arrays) -> Arrays:
        """``moved``, drawn from what records say of the distribution of the rows, if what theta says of it lets it."""
        if self.prior.said.plain:
            return moved
        accepted = -jax.random.exponential(jax.random.fold_in(key, 1)) < self.log_theta(moved) - self.log_theta(
            parameters
        )
        return jax.tree.map(lambda new, old: jnp.where(accepted, new, old), moved, parameters)

    def means_given(self, key: Any, covariance: Any, counts: Any, sums: Any) -> Any:
        """m_c given the ``counts`` of records in cells (cells,), the ``sums`` of their numbers and S."""
        inverse = cho_solve((jnp.linalg.cholesky(covariance), True), jnp.eye(self.d))

        def one(count: Any, total: Any, mean: Any, sd: Any, normal: Any) -> Any:
            factor = jnp.linalg.cholesky(count * inverse + jnp.diag(1 / sd**2))
            centre = cho_solve((factor, True), inverse @ total + mean / sd**2)
            return centre + solve_triangular(factor, normal, lower=True, trans=1)

        normals = jax.random.normal(key, (self.cells, self.d))
        return jax.vmap(one)(counts, sums, self.prior.mean, self.prior.mean_sd, normals)

    def covariance_given(self, key: Any, covariance: Any, apart: Any) -> Any:
        """S given the records' distances from their means."""
        d = self.d
        for_squares, for_below, for_choice = jax.random.split(key, 3)
        degrees = jnp.asarray(self.rows.n - 1.0 - np.arange(d))
        diagonal = jnp.sqrt(2 * jax.random.gamma(for_squares, degrees / 2))
        bartlett = jnp.diag(diagonal) + jnp.tril(jax.random.normal(for_below, (d, d)), -1)
        half = solve_triangular(bartlett, jnp.linalg.cholesky(apart.T @ apart).T, lower=True)
        proposed = half.T @ half
        accepted = -jax.random.exponential(for_choice) < self.log_weight(proposed) - self.log_weight(covariance)
        return jnp.where(accepted, proposed, covariance)

    def log_weight(self, covariance: Any) -> Any:
        """The logarithm of the prior of S over |S|^(-d/2)."""
        squares = jnp.diagonal(covariance)
        log_correlation = jnp.linalg.slogdet(covariance)[1] - jnp.sum(jnp.log(squares))
        return -jnp.sum(squares / self.prior.scale**2) / 2 + (self.prior.shape - 1 + self.d / 2) * log_correlation

    def with_records(self, key: Any, parameters: Arrays, records: Any) -> tuple[Arrays, Any, Any]:
        """Means and S with the numbers of all records, see above; |A| is what is left of the stretch."""
        for_kind, for_size, for_step, for_cell, for_row, for_column = jax.random.split(key, 6)
        step = jax.random.choice(for_size, jnp.asarray(STEPS)) * jax.random.normal(for_step)
        shifting = jax.random.bernoulli(for_kind, SHIFTS)
        row, column = (jax.random.randint(one, (), 0, self.d) for one in (for_row, for_column))
        mean, covariance = parameters["m_x"], parameters["S_x"]
        scale, mean_sd = (jnp.asarray(a, jnp.float64) for a in (self.prior.scale, self.prior.mean_sd))

        at = (jax.random.randint(for_cell, (), 0, self.cells), row)
        moved = mean.at[at].add(jnp.where(shifting, step, 0.0) * mean_sd[at])
        stretch = jnp.where(shifting, 0.0, step)
        change = jnp.where(row == column, jnp.expm1(stretch), stretch * scale[row] / scale[column])
        matrix = jnp.eye(self.d).at[row, column].add(change)

        cell, x, _ = _apart(records)
        new = moved[cell] + (x - mean[cell]) @ matrix.T
        both = {**parameters, "m_x": moved, "S_x": matrix @ covariance @ matrix.T}
        return both, records.at[:, 1:-1].set(new), jnp.where(row == column, stretch, 0.0)

    def log_density(self, parameters: Arrays, records: Any) -> Any:
        """The prior of m, the weight of S and the responses: what `with_records` changes beside |A|."""
        cell, x, y = _apart(records)
        far = (parameters["m_x"] - self.prior.mean) / self.prior.mean_sd
        predictor = jax.vmap(self.rows.vector)(cell, x) @ parameters["theta"]
        responses = jnp.sum(self.rows.response.log_likelihood(predictor, y))
        value = responses - jnp.sum(far**2) / 2 + self.log_weight(parameters["S_x"])
        return value if self.prior.said.plain else value + self.log_theta(parameters)
