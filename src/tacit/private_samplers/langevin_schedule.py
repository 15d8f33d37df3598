"""How long unadjusted Langevin steps take to come within a proved distance of the posterior.

For a potential U on R^p that is m-strongly convex and M-smooth, start at N(theta*, I/M), theta* its minimum, and take K
steps theta <- theta - h grad U(theta) + sqrt(2h) z with z standard normal. With h <= 1/M and T = K h,

    total variation to exp(-U)  <=  1/2 exp(p/4 log(M/m) - T m / 2) + sqrt(p M^2 T h / (4 (2 - h M)))

(Dalalyan 2017, Theorem 2, with its alpha = 1/(h M); this is the bound that Minami, Arai, Sato and Nakagawa 2016,
section 4.2, use for tempered posteriors of Lipschitz losses). `schedule` solves it for half of gamma in each term.
K grows like p (M/m)^2 / gamma^2: the price of a proof for so plain a chain.
"""

from __future__ import annotations

import math


def distance(size: int, strong: float, smooth: float, step: float, steps: int) -> float:
    """The bound above."""
    if step * smooth >= 2:
        return 1.0
    time = step * steps
    start = 0.5 * math.exp(min(1.0, size / 4 * math.log(smooth / strong) - time * strong / 2))
    drift = math.sqrt(size * smooth**2 * time * step / (4 * (2 - step * smooth)))
    return min(1.0, start + drift)


def schedule(size: int, strong: float, smooth: float, gamma: float) -> tuple[float, int]:
    """The step and the number of steps with which the distance is at most ``gamma``."""
    time = 2 / strong * (size / 4 * math.log(smooth / strong) + math.log(1 / gamma))
    # p M^2 T h / (4 (2 - h M)) = gamma^2 / 4 is linear in h; a little less, so that rounding K up cannot exceed it.
    step = min(0.999 * 2 * gamma**2 / (size * smooth**2 * time + gamma**2 * smooth), 1 / smooth)
    steps = math.ceil(time / step)
    if distance(size, strong, smooth, step, steps) > gamma:
        raise ArithmeticError("the schedule does not keep its promise")
    return step, steps
