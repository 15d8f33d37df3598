"""The weight that a likelihood may have in a private posterior draw, by three proofs.

A draw from the density proportional to prior(theta) exp(weight * log likelihood) is priced by how far one record moves
the log likelihood. G is the Lipschitz constant, in theta, of the difference of two records' log likelihoods, and m the
strong convexity of -log prior: for N(0, sd^2) it is 1 / sd^2. Neighbours are replace-one throughout.
"""

from __future__ import annotations

import math

from tacit.studies import expected, log_delta, mu_for

LOGISTIC_SLOPE = 2.0  # G of logistic regression, for |x| <= 1 in two dimensions or more
# The same in one dimension: the largest of p(t) + s p(-s t) over 0 <= s <= 1 and t >= 0, p the logistic function.
LOGISTIC_SLOPE_ONE = 1.0516339915453223
_ROUNDING = 1e-12


def gibbs_weight(epsilon: float, *, low: float, high: float) -> float:
    """weight = epsilon / (2 (high - low)) where the log likelihood of a record lies in [``low``, ``high``].

    Proof: a record's term moves over theta by at most weight (high - low), so the log ratio of two posteriors that
    differ in one record lies in an interval of length 2 weight (high - low) = epsilon: bounded range. []
    jewson2023 (section 2) has epsilon / (4 B), B = sup |log f|, which is right but up to twice as careful as needed
    (Errata J8).
    """
    _check("epsilon", epsilon)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise expected("bounds", (low, high), "of the log likelihood to be two finite numbers, the smaller one first")
    return epsilon / (2 * (high - low)) * (1 - _ROUNDING)


def logistic_range(reach: float) -> tuple[float, float]:
    """Where the logistic log likelihood lies while |theta'x| <= ``reach``: its length is ``reach`` exactly.

    Proof: -ln(1 + e^-u) at u = reach less its value at u = -reach is ln((1 + e^reach) / (1 + e^-reach)) = reach. []
    """
    _check("reach", reach)
    return -math.log1p(math.exp(-reach)) - reach, -math.log1p(math.exp(-reach))


def gaussian_weight(epsilon: float, delta: float, *, slope: float, precision: float) -> float:
    """weight = mu sqrt(precision) / slope, mu the largest with Gaussian-DP mu inside (epsilon, delta).

    Proof: both potentials are m-strongly convex, m = ``precision``, and differ by a function with Lipschitz constant
    weight * G, G = ``slope``. So a draw is Gaussian-DP with mu = weight G / sqrt(m) (Gopi, Lee, Liu 2022, Theorem 4),
    and `mu_for` inverts the exact curve, on the safe side. []
    """
    return _from_mu(mu_for(epsilon, delta), slope, precision)


def minami_weight(epsilon: float, delta: float, *, slope: float, precision: float) -> float:
    """weight = (epsilon / G) sqrt(m / (1 + 2 ln(1/delta))) (Minami et al. 2016), where that is safe.

    Proof: it is the weight of `gaussian_weight` at mu = epsilon / sqrt(1 + 2 ln(1/delta)). What that mu costs is known
    exactly; a weight that would cost more than ``delta`` is refused. []
    The printed formula, with 2L for G, has no such limit. At delta = 1e-5 it breaks its promise from epsilon = 8.99 on,
    as a linear loss with a Gaussian prior shows (Errata J4).
    """
    _check("epsilon", epsilon)
    if not 0 < delta < 1:
        raise expected("delta", delta, "to lie strictly between 0 and 1")
    mu = epsilon / math.sqrt(1 + 2 * math.log(1 / delta))
    if log_delta(epsilon, mu) > math.log(delta):
        raise expected(
            "epsilon", epsilon, f"to be smaller for Minami's weight at delta = {delta:g}: its bound fails here"
        )
    return _from_mu(mu, slope, precision)


def _from_mu(mu: float, slope: float, precision: float) -> float:
    _check("slope", slope)
    _check("precision", precision)
    return mu * math.sqrt(precision) / slope * (1 - _ROUNDING)


def _check(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        raise expected(name, value, "to be a finite number above 0")
