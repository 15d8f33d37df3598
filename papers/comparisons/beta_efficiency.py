"""What beta and weight mean for one draw: its asymptotic variance, and the steepest that the loss can be.

For n rows from the model itself, sqrt(n) (draw - truth) tends to a normal distribution with variance (jewson2023,
Proposition 1, with K as the mean of the product of gradients; as printed it is 0, Errata J12)

    V = H^-1 K H^-1 + (weight H)^-1,      H = E[Hessian of the loss],  K = E[gradient gradient']

The first term is that of the best point estimate with this loss, the second what privacy adds.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.studies import check_beta


def logistic_matrices(x: Any, shares: Any, theta: Any, beta: float) -> tuple[Any, Any]:
    """H and K of logistic regression for covariates x (points, d) with probabilities ``shares`` (points,).

    With p = 1 / (1 + e^(-theta'x)): H = E xx' [p^beta (1-p)^2 + (1-p)^beta p^2] and
    K = E xx' [p^(2 beta - 1) (1-p)^2 + (1-p)^(2 beta - 1) p^2 - (p^beta (1-p) - (1-p)^beta p)^2].
    """
    import numpy as np

    check_beta(beta)
    x, shares = np.atleast_2d(np.asarray(x, float)), np.asarray(shares, float)
    p = 1 / (1 + np.exp(-(x @ np.asarray(theta, float))))
    q = 1 - p
    bend = p**beta * q**2 + q**beta * p**2
    push = p ** (2 * beta - 1) * q**2 + q ** (2 * beta - 1) * p**2 - (p**beta * q - q**beta * p) ** 2
    return (x * (shares * bend)[:, None]).T @ x, (x * (shares * push)[:, None]).T @ x


def draw_variance(bend: Any, push: Any, weight: float) -> Any:
    """V from H = ``bend`` and K = ``push``."""
    import numpy as np

    inverse = np.linalg.inv(bend)
    return inverse @ push @ inverse + inverse / weight


def normal_mean_variance(beta: float, epsilon: float, ratio: float = 1.0) -> float:
    """V / sigma^2 for the mean of a normal distribution whose standard deviation is ``ratio`` times the smallest
    allowed one.

    beta^3 / (2 beta - 1)^1.5 + 2 beta^1.5 ratio^b / (epsilon b), at the largest weight that epsilon allows.
    """
    check_beta(beta)
    b = beta - 1
    return beta**3 / (2 * beta - 1) ** 1.5 + 2 * beta**1.5 * ratio**b / (epsilon * b)


def best_beta_of_normal_mean(epsilon: float, ratio: float = 1.0) -> float:
    """The beta with the least `normal_mean_variance`; a public choice as long as ``ratio`` is a public guess."""
    from scipy.optimize import minimize_scalar

    found: Any = minimize_scalar(
        lambda log_b: math.log(normal_mean_variance(1 + math.exp(log_b), epsilon, ratio)),
        bounds=(math.log(1e-3), math.log(30.0)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return 1 + math.exp(float(found.x))


def logistic_slope(beta: float) -> float:
    """The largest |dl/du| of the logistic beta-divergence loss, u = theta'x: per |x|, the longest gradient in theta.

    It is the largest p (1-p) (p^(beta-2) (1-p) + (1-p)^(beta-1)) over p: dl/du = -(2y-1) p_y (1-p_y) times the bracket
    at p = p_y. jewson2023 bounds a record's gradient by max(G, GM), which is too small (Errata J6). For large beta
    there is more than one peak, so a grid comes first. It is a number found by search, to be shown, not charged.
    """
    import numpy as np
    from scipy.optimize import minimize_scalar

    check_beta(beta)

    def slope(p: Any) -> Any:
        return p * (1 - p) * (p ** (beta - 2) * (1 - p) + (1 - p) ** (beta - 1))

    grid = np.linspace(0, 1, 4002)[1:-1]
    at = int(np.argmax(slope(grid)))
    step = grid[1] - grid[0]
    ends = max(grid[at] - step, 1e-9), min(grid[at] + step, 1 - 1e-9)
    found: Any = minimize_scalar(lambda p: -slope(p), bounds=ends, method="bounded", options={"xatol": 1e-13})
    return max(float(slope(found.x)), float(slope(grid[at])))
