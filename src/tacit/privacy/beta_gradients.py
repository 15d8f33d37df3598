"""How steep the beta-divergence loss of one record can be in the parameters: what gradient chains and tests need.

For b = beta - 1 > 0 the loss of a record is l = -f^b / b + I / beta, I the sum or integral of f^beta. Its gradient is
A - E A with A = -f^b grad log f and the mean over f, so that a bound |A| <= G gives 2G by the triangle inequality,
not max(G, G M) as Proposition 3 of jewson2023 prints (Errata J6). Below are bounds on |dl / d predictor| for the models
where one exists; the chain rule multiplies them by the length of the covariates. Each is the Euclidean norm of one
record's gradient. Under replace-one two records' gradients differ by twice as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tacit.privacy.beta_divergence import check_beta, gaussian

_ROUNDING = 1e-12  # relative; more than the few float operations behind a gradient can be wrong by
_CLOSE = 1e-7  # relative: where the search for the largest gradient of a Bernoulli model stops


@lru_cache(maxsize=256)
def bernoulli_gradient_bound(beta: float) -> float:
    """kappa = max over p in [0, 1] of k(p), k(p) = p^b (1 - p)^2 + p (1 - p)^beta: the most of |dl / du|, u the logit.

    1 as beta -> 1, 0.4454 at 1.5, 8/27 at 2, 4/27 at 3.

    Proof: with p the probability of the observed label, dl/dp = -p^(b-1) + p^b - (1-p)^b, which is minus
    p^(b-1) (1 - p) + (1 - p)^b, and |dp/du| = p (1 - p). The product is k(p), and p takes every value in (0, 1). On a
    cell [a, c] k is at most c^b (1 - a)^2 + c (1 - a)^beta, as each factor is monotone. Cells whose bound is below a
    value of k that was seen cannot hold the maximum; the others are split until bound and value agree to 1e-7, and the
    bound is returned. []
    """
    b = check_beta(beta) - 1

    def most(low: Any, high: Any) -> Any:
        return high**b * (1 - low) ** 2 + high * (1 - low) ** (b + 1)

    return _largest(most)


@lru_cache(maxsize=256)
def softmax_gradient_bound(beta: float) -> float:
    """sqrt(2) max over t in [0, 1] of F(t): at least the norm of the gradient in the logits of all classes.

    F(t) = (1 - t) (t (1 - t)^b + g(t)), g(t) = max over p <= t of p^b (1 - p). For two classes it is attained wherever
    the maximum is that of `bernoulli_gradient_bound`, as it is for all beta above 1.3.

    Proof: write p for the probabilities, S = sum p^beta and y for the observed class. The gradient is v with
    v_y = -p_y^b (1 - 2 p_y) - p_y S and v_j = p_j (p_y^b + p_j^b - S) for the others. Its entries sum to 0; so if its
    negative ones sum to -N, its norm is at most sqrt(2) N. Let J be the classes other than y with v_j < 0, p_J their
    probability. (1) v_y < 0: put t = p_y + p_J, and S_J = the sum of p_j^beta over J. The rest has probability 1 - t,
    so S <= p_y^beta + S_J + (1 - t)^beta. Then N = p_y^b (1 - 2 p_y) + p_y S + sum over J of p_j (S - p_y^b - p_j^b)
    <= t (1 - t)^beta + p_y^b (1 - p_y) (1 - t) - (1 - t) S_J <= F(t). (2) v_y >= 0: N is the sum over J alone, and in
    the same way at most p_J (1 - p_J)^beta <= F(p_J). F is at most (1 - a) (c (1 - a)^b + g(c)) on a cell [a, c], and
    its maximum is found as that of `bernoulli_gradient_bound`. []
    """
    b = check_beta(beta) - 1

    def most(low: Any, high: Any) -> Any:
        import numpy as np

        top = np.minimum(high, b / beta)  # where p^b (1 - p) turns
        return (1 - low) * (high * (1 - low) ** b + top**b * (1 - top))

    return math.sqrt(2) * _largest(most) * (1 + _ROUNDING)


def _largest(most: Callable[[Any, Any], Any]) -> float:
    """The largest most(t, t) over t in [0, 1], from above: most(a, c) bounds it on [a, c] and shrinks with the cell."""
    import numpy as np

    edges = np.linspace(0.0, 1.0, 65)
    low, high = edges[:-1], edges[1:]
    seen = 0.0
    while True:
        with np.errstate(under="ignore"):
            seen = max(seen, float(np.max(most(high, high))))
            bounds = most(low, high)
        largest = float(bounds.max())
        if largest <= seen * (1 + _CLOSE):
            return largest * (1 + _ROUNDING)
        kept = bounds >= seen
        low, high = low[kept], high[kept]
        cuts = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 5)
        low, high = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()


def normal_mean_gradient_bound(beta: float, scale: float) -> float:
    """M^b e^(-1/2) / (scale sqrt(b)), M = 1 / (sqrt(2 pi) scale): the most of |dl / dm|, m the mean, sigma >= scale.

    Proof: the integral does not depend on m, so |dl/dm| = f^b |z| / sigma with z = (y - m) / sigma and
    f^b = (sqrt(2 pi) sigma)^-b exp(-b z^2 / 2). Over z it is largest at |z| = b^(-1/2), over sigma at the smallest. []
    """
    b = check_beta(beta) - 1
    return _power(scale, b) * math.exp(-0.5) / (scale * math.sqrt(b)) * (1 + _ROUNDING)


def normal_scale_gradient_bound(beta: float, scale: float) -> float:
    """The most of |dl / dv| where sigma = scale + e^v: M^b (1/b) (b / beta)^beta max(1 - bJ, (2/b) e^(-1 - b/2) + bJ).

    J = beta^(-3/2).

    Proof: l = (2 pi)^(-b/2) sigma^-b (J - h/b) with h = exp(-b z^2 / 2), and dh/dsigma = h b z^2 / sigma. So dl/dsigma
    = (2 pi)^(-b/2) sigma^(-b-1) (h (1 - z^2) - bJ). h (1 - z^2) is largest at z = 0, where it is 1, and least at
    z^2 = 1 + 2/b, where it is -(2/b) e^(-1 - b/2). bJ < 1, so the bracket is at most the maximum above in size.
    dsigma/dv = sigma - scale, and (sigma - scale) sigma^(-b-1) is largest at sigma = scale beta / b, where it is
    scale^-b (1/b) (b / beta)^beta. []
    """
    b = check_beta(beta) - 1
    integral = beta**-1.5
    bracket = max(1 - b * integral, 2 / b * math.exp(-1 - b / 2) + b * integral)
    return _power(scale, b) / b * (b / beta) ** beta * bracket * (1 + _ROUNDING)


def _power(scale: float, b: float) -> float:
    """M^b, infinite where a float ends."""
    exponent = b * math.log(gaussian(scale).peak)
    return math.exp(exponent) * (1 + abs(exponent) * 1e-15) if exponent < 700 else math.inf
