"""Penalised logistic regression: the minimiser that the perturbation methods start from."""

from __future__ import annotations

from typing import Any


def minimiser(x: Any, y: Any, ridge: float, tilt: Any = None) -> Any:
    """The minimiser of (1/n) sum_i ln(1 + exp(-y_i theta'x_i)) + ridge/2 |theta|^2 + tilt'theta, y_i in {-1, 1}.

    Newton's method with halved steps. The objective is ridge-strongly convex, so where the gradient is g the minimiser
    is within |g| / ridge. An intercept is a column of ones, penalised like the others: without that the objective is
    not strongly convex in it, and no bound on how far a record moves it would hold.
    """
    import numpy as np

    x, y = np.asarray(x, float), np.asarray(y, float)
    n, p = x.shape
    tilt = np.zeros(p) if tilt is None else np.asarray(tilt, float)
    theta = np.zeros(p)

    def value(at: Any) -> float:
        return float(np.logaddexp(0, -y * (x @ at)).sum() / n + ridge / 2 * at @ at + tilt @ at)

    for _ in range(100):
        chance = 1 / (1 + np.exp(np.clip(y * (x @ theta), -700, 700)))
        gradient = -x.T @ (y * chance) / n + ridge * theta + tilt
        if np.linalg.norm(gradient) <= 1e-12 * max(1.0, ridge):
            break
        hessian = (x * (chance * (1 - chance))[:, None]).T @ x / n + ridge * np.eye(p)
        step = np.linalg.solve(hessian, gradient)
        size, here = 1.0, value(theta)
        while size > 1e-10 and value(theta - size * step) > here:
            size /= 2
        theta = theta - size * step
    return theta
