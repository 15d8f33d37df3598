"""A baseline to compare posteriors with: stochastic gradient descent where every person sends one noisy gradient.

Groups of people answer one after the other. Everybody in a group gets the current coefficients, and sends the gradient
of their own loss there, cut to norm 1, plus normal noise of standard deviation s in every entry (Wang et al. 2019;
Kulkarni et al. 2022, section 4.2). N rows, in an order that is public, make T = N // G groups of G (what is left over
joins the last). With p coefficients:

    G = ceil(p max(1, ln p) / epsilon^2), at most N          the paper's rule
    s = 2 sigma(epsilon, delta)                              sigma of `privacy.gaussian`
    step = radius / sqrt(T (1 + p s^2 / G))                  the same for every group
    theta <- the point of the ball of ``radius`` that is nearest to theta - step * (mean of the group's reports)

and the mean of the coefficients after each of the T groups is the answer. Nothing here was tuned on data: the step is
the one with the least guaranteed error for convex losses whose gradients have a mean square of at most 1 + p s^2 / G.

Proof: of (epsilon, delta)-LDP, replace-one on one person's row. Whatever coefficients a person is sent, they are a
function of the reports of earlier groups. Two cut gradients at the same coefficients differ by at most 2 in the L2
norm, so that normal noise of standard deviation 2 sigma keeps the promise (Balle and Wang 2018, Theorem 8). Everybody
sends one report. []

It is for simulations: noise is drawn in floating point from a generator that the caller brings.
"""

from __future__ import annotations

import math
from typing import Any

from tacit import ApproxDP
from tacit.studies import expected, sigma_over_sensitivity

_FAMILIES = ("linear", "logistic")


def noise_sd(budget: ApproxDP) -> float:
    """The standard deviation s of the noise in every entry of one person's gradient: 2 sigma(epsilon, delta)."""
    return 2 * sigma_over_sensitivity(budget.epsilon, budget.delta)


def group_size(budget: ApproxDP, coefficients: int, n: int) -> int:
    """How many people answer at the same coefficients."""
    return min(n, math.ceil(coefficients * max(1.0, math.log(coefficients)) / budget.epsilon**2))


def local_sgd(
    design: Any, response: Any, *, family: str, budget: ApproxDP, radius: float, rng: Any, noiseless: bool = False
) -> Any:
    """Coefficients (p,) of ``response`` (N,) on ``design`` (N, p), each row used once.

    ``family`` is "linear", with the loss (y - x'theta)^2 / 2, or "logistic", with responses -1 and 1. ``radius`` bounds
    the coefficients and is public. ``noiseless`` leaves the noise out, to show what it costs.
    """
    import numpy as np

    x, y = np.asarray(design, np.float64), np.asarray(response, np.float64)
    if family not in _FAMILIES:
        raise expected("family", family, f"to be one of {', '.join(_FAMILIES)}")
    if x.ndim != 2 or y.shape != x.shape[:1] or not len(x):
        raise expected("design", x.shape, f"to have a row for each of the {y.size} responses")
    if not (math.isfinite(radius) and radius > 0):
        raise expected("radius", radius, "to be a finite number above 0")
    n, p = x.shape
    sd, size = noise_sd(budget), group_size(budget, p, n)
    groups = n // size
    step = radius / math.sqrt(groups * (1 + p * sd**2 / size))
    theta, total = np.zeros(p), np.zeros(p)
    for g in range(groups):
        own = slice(g * size, n if g == groups - 1 else (g + 1) * size)
        reports = gradients(x[own], y[own], theta, family)
        if not noiseless:
            reports = reports + sd * rng.standard_normal(reports.shape)
        theta = theta - step * reports.mean(axis=0)
        theta = theta / max(1.0, float(np.linalg.norm(theta)) / radius)
        total += theta
    return total / groups


def gradients(x: Any, y: Any, theta: Any, family: str) -> Any:
    """Everybody's gradient at ``theta``, cut to norm 1: (N, p)."""
    import numpy as np

    u = x @ theta
    # 1 / (1 + e^(yu)) by tanh, which overflows nowhere
    slope = u - y if family == "linear" else -y * (1 - np.tanh(y * u / 2)) / 2
    raw = slope[:, None] * x
    return raw / np.maximum(1.0, np.linalg.norm(raw, axis=1))[:, None]
