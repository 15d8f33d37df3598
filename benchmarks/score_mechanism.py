"""Noisy scores and information of a table, simulated in floating point with Gaussian noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.models.score_round import Round
from tacit.models.score_steps import Schedule, next_point


def row_values(kind: str, clamp: float, eta: Any, y: Any) -> tuple[Any, Any]:
    """Score and expected information of each row with respect to its linear predictor, weighted as a release has them:
    with the log link a row whose mean lies beyond ``clamp`` counts by clamp / mean.
    """
    if kind == "logistic":
        mean = 1 / (1 + np.exp(-eta))
        return y - mean, mean * (1 - mean)
    from scipy.special import gammainc, gammaln, pdtr

    C = int(clamp)
    eta = np.minimum(eta, 20.0)
    mu = np.exp(eta) if kind == "log" else np.logaddexp(0, eta)
    slope = mu if kind == "log" else 1 / (1 + np.exp(-eta))
    mu = np.maximum(mu, 1e-300)
    mass = np.exp((C - 1) * np.log(mu) - mu - gammaln(C))
    tail = gammainc(C, mu)  # P(count >= C): mass * mu / C where the mean is small
    top = np.where(tail < 1e-280, C / mu, mass / np.maximum(tail, 1e-280))
    below = slope * (y / mu - 1)
    u = np.where(y >= C, slope * top, below)
    # E[u^2] = slope^2 (E[(y/mu - 1)^2; y < C] + top^2 P(y >= C)); E[(y - mu)^2; y < C] by partial sums
    p0, p1, p2 = pdtr(C - 1, mu), pdtr(C - 2, mu) if C > 1 else 0 * mu, pdtr(C - 3, mu) if C > 2 else 0 * mu
    second = mu**2 * (p0 - 2 * p1 + p2) + mu * p1
    w = slope**2 * (np.maximum(second, 0) / mu**2 + np.where(tail < 1e-280, 0, top * mass))
    down = np.minimum(1.0, C / mu) if kind == "log" else 1.0
    return down * u, down * w


def sensitivity(kind: str, clamp: float, theta: Any, alpha: float, beta: float) -> float:
    """D of (alpha S, beta J) for entries in [-1, 1], on a grid of the rows' values."""
    p = len(theta)
    reach = float(np.abs(theta[1:]).sum())
    eta = np.linspace(theta[0] - reach, theta[0] + reach, 61)
    ys = [0.0, 1.0] if kind == "logistic" else [0.0, clamp / 2, clamp]
    pairs = [row_values(kind, clamp, eta, np.full_like(eta, y)) for y in ys]
    rho = np.concatenate([u for u, _ in pairs])
    omega = np.concatenate([w for _, w in pairs])
    S, low = float(p), float(2 - p)
    r, rr, o, oo = rho[:, None], rho[None], omega[:, None], omega[None]
    a, b = alpha**2 * r * rr, beta**2 * o * oo
    with np.errstate(over="ignore"):
        c = np.where(b > 0, np.clip(-a / np.maximum(2 * b, 1e-300), low, S), np.where(a > 0, low, S))
    D2 = alpha**2 * S * (r * r + rr * rr) - 2 * a * c + beta**2 * S * S * (o * o + oo * oo) - 2 * b * c * c
    return float(np.sqrt(D2.max()))


def release(
    x: Any, y: Any, link: Any, mu: float, schedule: Schedule, rng: Any, step: Any = next_point
) -> tuple[list[Round], list[Any]]:
    """K rounds: points, noise scales and values."""
    n, p = x.shape
    clamp = float(link.clamp or 1.0)
    upper = np.triu_indices(p)
    rounds: list[Round] = []
    values: list[Any] = []
    point = (0.0,) * p
    for share, matrix in zip(schedule.shares, schedule.matrix, strict=True):
        theta = np.array(point)
        alpha, beta = np.sqrt(1 - matrix), np.sqrt(matrix)
        D = sensitivity(link.kind, clamp, theta, alpha, beta) / (mu * np.sqrt(share))
        u, w = row_values(link.kind, clamp, x @ theta, y)
        own = [u @ x + D / alpha * rng.standard_normal(p)]
        if matrix:
            full = (x * w[:, None]).T @ x
            noise = rng.standard_normal((p, p)) / np.sqrt(2)
            noise[np.diag_indices(p)] *= np.sqrt(2)
            own.append((full + D / beta * noise)[upper])
        rounds.append(Round(point, matrix > 0, D / alpha, D / beta if matrix else 0.0, False))
        values.append(np.concatenate(own))
        point = step(rounds, values, n, link)
    return rounds, values
