"""What the sum over n rows tells about the parameters, for any family: simulated, with common random numbers.

Let t be what one row adds to the statistic, with mean m(v) and covariance S(v) in standard coordinates v of the
parameters. By the central limit theorem the released sums are about N(n m(v), n S(v) + D), D the covariance of the
noise. Their Fisher information about v, but for a part that does not grow with n, is

    I(v) = n^2 J' (n S + D)^-1 J,    J = dm/dv.

m and S come from rows that the family itself draws: nothing is asked of a family that calibration does not need. J is a
central difference of the means of the same rows, that is rows made of the same random numbers, at v + h and v - h. The
error of an estimate of J would be counted as information, however little there is. So J is estimated twice, from
independent rows, and I is built from the product of the two, which is unbiased.

Where n is not public it is one more parameter, flat beforehand, whose derivative of the mean is m: with W = (n S +
D)^-1 it takes n^2 J'W m (m'W m)^-1 m'W J from I.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.design.coordinates import Coordinates
from tacit.models.statistic_reports import RowStatistic
from tacit.plan import Plan
from tacit.runtime.chain import Arrays
from tacit.sources.open import open_source
from tacit.statistics.statistic import Statistic

STEP = 0.25  # of a standard coordinate: small against the prior, large against the granularity of rows
_ROWS = 3_000  # that each of the two estimates of J is made of
_SINGULAR = 1e-9  # of the largest eigenvalue: a combination of sums that does not vary


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Of one row, at one value of the parameters: the two estimates (entries, size) of J, and S (entries, entries).

    ``rows`` is the number of rows that S was estimated from. ``mean`` is m where n is not public.
    """

    jacobians: tuple[Any, Any]
    covariance: Any
    rows: int
    mean: Any = None

    def of_known_n(self) -> RowMoments:
        """The same if n were public."""
        return replace(self, mean=None)

    def information(self, n: int, noise: Any) -> Any:
        """I for ``n`` rows and noise with these standard deviations, none for exact sums; never below 0."""
        values, vectors = np.linalg.eigh(n * self.covariance + np.diag(np.square(noise)))
        varies = values > _SINGULAR * values[-1]
        if not varies.any():  # all rows that were made up are in one cell, and there is no noise
            return np.zeros((self.jacobians[0].shape[1],) * 2)
        left, right = ((vectors[:, varies].T @ j) * n for j in self.jacobians)
        product = left.T @ (right / values[varies, None])
        if self.mean is not None and np.any(noise):
            along = vectors[:, varies].T @ self.mean
            weighed = along / values[varies]
            product -= np.outer(weighed @ left, weighed @ right) / (weighed @ along)
        # The inverse of a covariance that was estimated is too large, by this factor where there is no noise
        # (Kaufman 1967), and by less the more there is.
        sampled = n * np.einsum("ij,ij->j", vectors[:, varies], self.covariance @ vectors[:, varies]) / values[varies]
        product *= 1 - float(np.mean(sampled)) * (int(varies.sum()) + 1) / (self.rows - 1)
        return at_least_zero(product)


def row_moments(plan: Plan, statistic: Statistic, coordinates: Coordinates, at: Any, seed: int) -> RowMoments:
    """The moments of one row at the standard coordinates ``at``."""
    rows = max(2_000, 20 * len(statistic.entries))
    base = one_of(coordinates.parameters(at[None]))
    parsed = parsed_rows(plan, statistic.columns, base, rows, [seed, 2])
    each = RowStatistic(statistic).encode(parsed) / statistic.unit

    def mean(moved: Any, half: int) -> Any:
        return _mean(plan, statistic, one_of(coordinates.parameters(moved[None])), [seed, half])

    latent = each.mean(axis=0) if statistic.row_entries else None
    return RowMoments(jacobians_by_halves(mean, at), np.atleast_2d(np.cov(each.T)), rows, latent)


def jacobians_by_halves(value: Callable[[Any, int], Any], at: Any) -> tuple[Any, Any]:
    """The derivative of ``value`` in each coordinate, twice: ``value(at, half)`` draws other rows for each half.

    Central differences with the same rows at both ends.
    """

    def jacobians(half: int) -> Any:
        steps = STEP * np.eye(len(at))
        return np.stack([(value(at + step, half) - value(at - step, half)) / (2 * STEP) for step in steps], axis=1)

    return jacobians(0), jacobians(1)


def _mean(plan: Plan, statistic: Statistic, parameters: Arrays, seed: list[int]) -> Any:
    sums = statistic.batch_sum(parsed_rows(plan, statistic.columns, parameters, _ROWS, seed))
    return np.array([value / statistic.unit for value in sums]) / _ROWS


def parsed_rows(plan: Plan, columns: tuple[str, ...], parameters: Arrays, rows: int, seed: list[int]) -> Any:
    """The parsed cells of made-up rows, through the path that real ones take."""
    cells = plan.model.draw_rows(parameters, plan.schema, rows, np.random.default_rng(seed))
    source = open_source(cells, columns, plan.schema)
    (batch,) = source.batches(plan.schema, columns, rows)
    return batch.columns


def one_of(draws: Arrays) -> Arrays:
    """The first of some draws."""
    return {name: values[0] for name, values in draws.items()}


def at_least_zero(information: Any) -> Any:
    """The symmetric part of an estimated information, its negative eigenvalues raised to 0."""
    values, axes = np.linalg.eigh((information + information.T) / 2)
    return (axes * np.maximum(values, 0)) @ axes.T
