"""What noisy sums will tell about a linear regression: the normal equations, with noise on both sides.

G = X'X and g = X'y are released with noise E and e. Where G + E and g + e stand for them, theta solves
(G + E) theta = g + e, so that with epsilon the residuals the error is, to first order,

    G^-1 (X'epsilon + e - E theta),    covariance    sigma^2 G^-1 + G^-1 Cov(e - E theta) G^-1.

theta in the second part is not known better than its own covariance V, so E theta has the covariance that
theta theta' + V gives it, and V is iterated. Where n is not public it is one more noisy entry, in the constant's place.
The posterior has the precision of the prior beside it. No distribution of the covariates enters but their second
moments. sigma^2 = (y'y - 2 theta'g + theta'G theta) / n likewise: its error has
the variance 2 sigma^4 / n from the rows, and that of the same form in the noise; noise on n divides it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.calibration.plausible_tables import PlausibleTable
from tacit.design.table_widths import WIDTH, TableWidths
from tacit.models.linear import LinearRegression
from tacit.models.linear_prior import LinearPrior
from tacit.plan import Plan
from tacit.statistics.gram import Gram

_ITERATIONS = 30


def normal_equations(
    plan: Plan, sds: Any, prior: LinearPrior, tables: Sequence[PlausibleTable], n: int, known: Any = None
) -> dict[str, TableWidths]:
    """Widths of every coefficient and of sigma, for n rows whose sums have noise with these standard deviations.

    Where n is not public, ``known`` are those that a public n would have.
    """
    model = plan.model
    assert isinstance(model, LinearRegression)
    design = model.design(plan.schema)
    statistic = model.statistic(plan.schema)
    assert isinstance(statistic, Gram)
    latent = known is not None
    places, response, sds = _places(statistic, latent=latent), design.number_response, np.asarray(sds)
    p = len(design.columns)
    units = (design.original_units(np.eye(p), response) - design.original_units(np.zeros((1, p)), response)).T
    found: list[Any] = []
    sigma_before = _prior_sd_of_sigma(prior)
    for table in tables:
        before = _prior_precision(model, plan, prior, table)
        spreads = [
            _spread(table, n, places, noise, before, sigma_before, latent=latent)
            for noise in (sds, np.zeros(len(places)), sds if known is None else np.asarray(known))
        ]
        spreads.append((np.linalg.inv(before), sigma_before))
        sides = [[*np.sqrt(np.diag(units @ v @ units.T)), response.scale * s] for v, s in spreads]
        found.append([*(WIDTH * np.array(side) for side in sides), np.append(units @ table.theta, table.sigma or 0.0)])
    width, exact, if_known, before, truth = (np.array(one).T for one in zip(*found, strict=True))
    names = [*design.names, "sigma"]
    every = {name: TableWidths.of_normal(*own) for name, *own in zip(names, width, exact, before, truth, strict=True)}
    every["sigma"] = replace(every["sigma"], sign=None)
    if not latent:
        return every
    return {name: replace(one, known=own) for (name, one), own in zip(every.items(), if_known, strict=True)}


def _places(statistic: Gram, *, latent: bool) -> Any:
    """(entries, p + 1, p + 1): where each released entry stands in the Gram matrix of design and response.

    Where n is ``latent``, it is the last entry.
    """
    entries, products = statistic.layout
    found = np.zeros((len(entries) + latent, len(statistic.vector), len(statistic.vector)))
    order = {product: i for i, product in enumerate(entries)}
    for (j, k), product in products.items():
        place = None if product is None else order.get(product, len(entries) if latent else None)
        if place is not None:
            found[place, j, k] = found[place, k, j] = 1.0
    return found


def _spread(
    table: PlausibleTable, n: int, places: Any, sds: Any, before: Any, sigma_before: float, *, latent: bool
) -> tuple[Any, float]:
    """The posterior covariance of theta and the sd of sigma, in mapped units."""
    p, sigma = len(table.theta), float(table.sigma or 0.0)
    gram = n * table.moments()
    inverse = np.linalg.inv(gram + 1e-9 * n * np.eye(p))
    direction = np.append(-table.theta, 1.0)
    covariance = np.zeros((p, p))
    noise = np.square(sds)
    for _ in range(_ITERATIONS if noise.any() else 1):
        second = np.outer(direction, direction)
        second[:p, :p] += covariance
        moved = np.einsum("e,eij,jk,elk->il", noise, places[:, :p], second, places[:, :p], optimize=True)
        data = sigma**2 * inverse + inverse @ moved @ inverse
        covariance = np.linalg.inv(np.linalg.inv(data) + before)
    along = np.einsum("i,eij,j->e", direction, places, direction)
    along[-1:] -= latent * sigma**2
    on_sum = float(np.sum(noise * along**2))
    variance = 2 * sigma**4 / n + on_sum / n**2  # of sigma^2
    return covariance, float((4 * sigma**2 / variance + sigma_before**-2) ** -0.5)


def _prior_precision(model: LinearRegression, plan: Plan, prior: LinearPrior, table: PlausibleTable) -> Any:
    """The precision matrix of theta under the prior, given sigma and the moments of the columns."""
    design = model.design(plan.schema)
    said = prior.of_coefficients(design)
    centre = table.matrix.mean(axis=0) if design.formula.intercept else np.zeros(len(table.theta))
    statements = said.statements(centre)
    variance = float(table.sigma or 1.0) ** 2
    # where the prior learns which share is explained, that of the table
    explained = float(np.var(table.matrix @ table.theta)) / variance
    squares = np.mean((table.matrix - centre) ** 2, axis=0)
    precisions = said.precisions(squares, variance, max(explained, 1e-3))
    return (statements.T * precisions) @ statements


def _prior_sd_of_sigma(prior: LinearPrior) -> float:
    """Half of the range between the quantiles of sigma at 2.5% and 97.5%, over 1.96."""
    from scipy.special import gammaincinv

    if prior.explained is not None:
        rng = np.random.default_rng(0)
        drawn = prior.total * np.abs(rng.standard_normal(10_000)) * np.sqrt(1 - rng.beta(*prior.explained, 10_000))
        low, high = np.quantile(drawn, [0.025, 0.975])
        return float(high - low) / WIDTH
    low, high = (np.sqrt(prior.b0 / max(gammaincinv(prior.a0, q), 1e-200)) for q in (0.975, 0.025))
    return float(high - low) / WIDTH
