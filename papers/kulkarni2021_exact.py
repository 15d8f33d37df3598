"""Posteriors of regressions whose rows are seen, for comparison, and distances between samples; for kulkarni2021.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Likelihood:
    """Rows that were seen: a design (n, p) and a response, -1 or 1 for the logistic family, else a count."""

    family: str
    design: Any
    response: Any

    def value(self, theta: Any) -> Any:
        """The log likelihood at theta (..., p)."""
        u = np.asarray(theta) @ self.design.T
        if self.family == "logistic":
            return -np.logaddexp(0, -self.response * u).sum(axis=-1)
        rate = np.logaddexp(0, u)
        return (self.response * np.log(rate) - rate).sum(axis=-1)


def newton(design: Any, response: Any, ridge: Any = 0.0) -> tuple[Any, Any]:
    """The mode of logistic regression by Newton's method, and the negative Hessian there; ``ridge`` is 1/sd^2."""
    theta = np.zeros(design.shape[1])
    hessian = np.eye(len(theta))
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ theta))
        gradient = design.T @ ((response + 1) / 2 - p) - ridge * theta
        hessian = (design * (p * (1 - p))[:, None]).T @ design + np.diag(np.broadcast_to(ridge + 1e-9, len(theta)))
        step = np.linalg.solve(hessian, gradient)
        theta = theta + step
        if np.max(np.abs(step)) < 1e-10:
            break
    return theta, hessian


def non_private(seen: Likelihood, theta_sd: float, radius: float | None, draws: int, rng: Any) -> Any:
    """Draws (draws, p) of the posterior of theta, by Metropolis with proposals from a t distribution around the
    mode.
    """

    def smooth(theta: Any) -> Any:
        return seen.value(theta) - np.sum(np.square(theta), axis=-1) / (2 * theta_sd**2)

    def target(theta: Any) -> Any:
        inside = radius is None or np.linalg.norm(theta, axis=-1) <= radius
        return np.where(inside, smooth(theta), -np.inf)

    p = seen.design.shape[1]
    if seen.family == "logistic":
        mode, hessian = newton(seen.design, seen.response, 1 / theta_sd**2)
        root = np.linalg.cholesky(np.linalg.inv(hessian))
    else:
        from scipy.optimize import minimize

        found = minimize(lambda theta: -float(smooth(theta)), np.zeros(p), method="BFGS")  # the ball has an edge
        mode, root = found.x, np.linalg.cholesky(found.hess_inv)
    degrees = 8
    places = rng.standard_normal((draws, p)) * np.sqrt(degrees / rng.chisquare(degrees, (draws, 1)))
    proposals = mode + places @ root.T
    weights = np.concatenate([target(part) for part in np.array_split(proposals, max(1, draws // 100))])
    weights = weights + (degrees + p) / 2 * np.log1p(np.sum(places**2, axis=1) / degrees)
    kept = np.empty((draws, p))
    at = int(np.argmax(weights))
    for i, coin in enumerate(np.log(rng.random(draws))):
        at = i if coin < weights[i] - weights[at] else at
        kept[i] = proposals[at]
    return kept


def distance(a: Any, b: Any) -> float:
    """The largest gap between two empirical distribution functions."""
    both = np.sort(np.concatenate([a, b]))
    gaps = np.searchsorted(np.sort(a), both, "right") / len(a) - np.searchsorted(np.sort(b), both, "right") / len(b)
    return float(np.max(np.abs(gaps)))
