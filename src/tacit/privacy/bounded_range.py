"""Prices of a bounded-range draw: for each pair of neighbours ln(P/Q) lies in some interval of length ``epsilon``.

A draw from exp(-loss) whose loss changes by a function of bounded range when one record is replaced (replace-one) is
such a draw: the normalising constant moves the interval but not its length (Durfee and Rogers 2019; Dong, Durfee,
Rogers 2020). The interval holds 0, because neither P/Q > 1 nor P/Q < 1 is possible everywhere; so epsilon-DP follows.

Two-point lemma. Let ln(P/Q) lie in [t - e, t]. Then (P, Q) is a randomisation of the pair that puts p, q on one outcome
and 1 - p, 1 - q on the other, with q = (e^{-t} - e^{-e}) / (1 - e^{-e}) and p = q e^t.
Proof: write the ratio r(x) = P(x) / Q(x) as lam e^t + (1 - lam) e^{t-e} with 0 <= lam(x) <= 1. Since E_Q[r] = 1,
E_Q[lam] = q. Send the first outcome to x with density Q(x) lam(x) / q and the second with Q(x) (1 - lam(x)) / (1 - q).
Under (q, 1 - q) this gives Q; under (p, 1 - p) it gives Q (lam e^t + (1 - lam) e^{t-e}) = P. So no divergence of (P, Q)
exceeds that of the two-point pair, and a price is the largest value over 0 <= t <= e.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.errors import expected
from tacit.privacy.conversions import Real, pure_to_gdp


def delta(epsilon: Real, target: Real) -> float:
    """The delta at epsilon = ``target``: (1 - e^{-(e - target)/2})^2 / (1 - e^{-e}), e = ``epsilon``; 0 from e on.

    Proof: at target = g >= 0 the two-point pair has delta(t) = q (e^t - e^g), which in y = e^{-t}, k = e^{-e} is
    (1 + k e^g - y e^g - k / y) / (1 - k), largest at y = sqrt(k e^{-g}). The gap e - g is taken in rationals.
    """
    _check(epsilon)
    if target < 0:
        raise expected("target", target, "to be at least 0")
    gap = Fraction(epsilon) - Fraction(target)
    if gap <= 0:
        return 0.0
    return math.expm1(-float(gap) / 2) ** 2 / -math.expm1(-float(epsilon))


def renyi(epsilon: float, order: float) -> float:
    """D_order at most, with e = ``epsilon``, a = ``order``, S(z) = ln(sinh(z/2) / (z/2)):

        [a S(a e) - (a - 1) S((a - 1) e) - S(e)] / (a - 1)

    Proof: in y = e^{-t}, k = e^{-e}, x = e^{-ae} the two-point pair has sum p^a q^{1-a} = y^{-a} (A + B y) with
    B = (1-x) / (1-k) and A = x - k B < 0. It is 1 at y = k and y = 1 and has one stationary point, y = a A / ((1-a) B),
    so that is the maximum over [k, 1]. There its logarithm is a ln(B/a) - (a-1) ln(-A / (a-1)), and
    -A = (k - x) / (1 - k); collecting the factors gives the formula.

    Evaluated as an integral of positive terms where the formula would cancel: with M(z) = z S(z) it is
    [M(ae) - M((a-1)e) - M(e)] / ((a-1) e) = 1/((a-1) e) times the integral over 0 <= v <= min(e, (a-1) e) of
    M'(v + max(e, (a-1) e)) - M'(v).
    """
    _check(epsilon)
    if not (math.isfinite(order) and order > 1):
        raise expected("order", order, "to be a finite number above 1")
    e, a = float(epsilon), float(order)
    rest = (a - 1) * e
    short, long = min(e, rest), max(e, rest)
    if short > 2:
        logs = a * _log1mexp(a * e) - _log1mexp(e) - (a - 1) * _log1mexp(rest)
        return e - math.log1p(1 / (a - 1)) + (logs - math.log(a)) / (a - 1)
    total = 0.0
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        for v in (short * (1 - node) / 2, short * (1 + node) / 2):
            total += weight / 2 * (_derivative(long + v) - _derivative(v))
    return total * (short / rest)


def zcdp(epsilon: Fraction) -> Fraction:
    """rho = epsilon^2 / 8, exact.

    Proof: K(s) = ln E_Q[e^{s ln(P/Q)}] has K(0) = K(1) = 0, and K''(s) is the variance of ln(P/Q) under a tilted
    distribution, at most e^2 / 4 on an interval of length e (Popoviciu). So K(a) <= (e^2 / 4) a (a - 1) / 2, and D_a =
    K(a) / (a - 1) <= a e^2 / 8.
    """
    _check(epsilon)
    return Fraction(epsilon) ** 2 / 8


def zcdp_unproved(epsilon: float) -> float:
    """The least rho: ln((e^e - 1) / e) - 1 + e / (e^e - 1), e = ``epsilon``. May be shown, never charged.

    It is sup over orders of D_order / order, found numerically to be reached as the order tends to 1. The argument
    below is ours and has had no second reader; charge `zcdp` until it has.

    Argument: the value is f(e), f = M' in `renyi`, and D_a is the mean over 0 <= w <= (a-1) e of f(e + w) - f(w). In
    y = z/2, f' = coth y - 1/(2y) - y / (2 sinh^2 y), with second derivative -G(y) / (y^3 sinh^4 y), G = sinh^4 y +
    y^4 (2 + cosh 2y) - 2 y^3 sinh 2y. The coefficient of y^2n in G is 0 for n < 4 and (4^n / (2n)!) [(4^n - 4) / 8 +
    2n (2n-1) (2n-2) (2n-7) / 16] > 0 from there, so f' is concave; f'(0) = 0. Hence f'(e + w) - f'(w) <= f'(e) <=
    2 f(e) / e, so f(e + w) - f(w) <= (1 + 2w/e) f(e), whose mean over w is a f(e).
    """
    _check(epsilon)
    return _derivative(float(epsilon))


def gdp_mu_unproved(epsilon: float) -> float:
    """The mu of Gaussian DP: 2 Phi^{-1}(1 / (1 + e^{-epsilon/2})). May be shown, never charged.

    It is the mu of an (epsilon/2)-DP mechanism, found numerically to be the largest over t, at t = epsilon / 2. The
    argument below is ours and has had no second reader; charge `pure_to_gdp` of epsilon until it has.

    Argument: as in `pure_to_gdp` a two-point pair needs mu = Phi^{-1}(p) - Phi^{-1}(q). For every t, logit p - logit q
    = e, so mu = h(x + e/2) - h(x - e/2) for some x, with h(x) = Phi^{-1}(logistic(x)) odd. This is largest at x = 0 if
    h' falls on x > 0. With u = h(x), h' = Phi(u) Phi(-u) / phi(u), and it falls where c phi(u) >= u (1 - c^2) / 4,
    c = 2 Phi(u) - 1. For u <= 1: 1 - c^2 <= e^{-u^2/2} (a disc in a square) and c / u >= 0.68 > sqrt(2 pi) / 4. For
    u >= 1: from Phi(-u) <= phi(u) (u^2 + 2) / (u^3 + 3u) and phi(u) (u + 3/u) < 1.
    """
    _check(epsilon)
    return pure_to_gdp(epsilon / 2)


def k_draws_delta_unproved(epsilon: float, draws: int, target: float) -> float:
    """The delta at ``target`` of ``draws`` independent draws from one posterior. May be shown, never charged.

    With the two-point pair at offset t, k = draws and e = epsilon,

        delta(t) = sum_i C(k, i) p^{k-i} (1-p)^i max(0, 1 - exp(target - (k t - i e)))

    and the value is the largest over t in {(target + (l+1) e) / (k+1), l = 0..k, 0 < t < e}. That the same t serves all
    draws is proved (two-point lemma); that the largest value over t lies in this list was found numerically, and a
    maximum over a list is only a lower bound on the maximum over all t.
    """
    _check(epsilon)
    if isinstance(draws, bool) or draws < 1:
        raise expected("draws", draws, "to be a whole number of at least 1")
    if target < 0:
        raise expected("target", target, "to be at least 0")
    offsets = ((target + (i + 1) * epsilon) / (draws + 1) for i in range(draws + 1))
    return max((_k_draws_at(epsilon, draws, target, t) for t in offsets if 0 < t < epsilon), default=0.0)


def _k_draws_at(e: float, k: int, target: float, t: float) -> float:
    log_p = _log1mexp(e - t) - _log1mexp(e)  # p = (1 - e^{-(e-t)}) / (1 - e^{-e})
    log_rest = t - e + _log1mexp(t) - _log1mexp(e)  # 1 - p = e^{-(e-t)} (1 - e^{-t}) / (1 - e^{-e})
    total = 0.0
    for i in range(k + 1):
        loss = k * t - i * e
        if loss <= target:
            break
        ways = math.lgamma(k + 1) - math.lgamma(i + 1) - math.lgamma(k - i + 1)
        total -= math.exp(ways + (k - i) * log_p + i * log_rest) * math.expm1(target - loss)
    return total


def _log1mexp(z: float) -> float:
    """ln(1 - e^{-z}), z > 0."""
    return math.log(-math.expm1(-z)) if z < 0.7 else math.log1p(-math.exp(-z))


# M'(z) = sum over n of (2n + 1) B_2n z^2n / (2n (2n)!), B_2n the Bernoulli numbers, here for n = 1, 2, ...
_DERIVATIVE_SERIES = tuple(
    (2 * n + 1) * bernoulli / (2 * n * math.factorial(2 * n))
    for n, bernoulli in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330), start=1
    )
)


def _derivative(z: float) -> float:
    """M'(z) = S(z) + z S'(z) = ln(sinh(z/2) / (z/2)) + (z/2) coth(z/2) - 1."""
    if z < 1:
        total = 0.0
        for coefficient in reversed(_DERIVATIVE_SERIES):
            total = (total + coefficient) * z * z
        return total
    fall = math.exp(-z)
    return z / 2 + math.log1p(-fall) - math.log(z) + z / 2 * (1 + fall) / (1 - fall) - 1


# Gauss-Legendre on [-1, 1], 16 points; the nearest singularity of M' is 2 pi i away and the interval is at most 2 long.
_NODES = (
    0.09501250983763744,
    0.28160355077925891,
    0.45801677765722739,
    0.61787624440264375,
    0.75540440835500303,
    0.86563120238783174,
    0.94457502307323258,
    0.98940093499164993,
)
_WEIGHTS = (
    0.18945061045506850,
    0.18260341504492359,
    0.16915651939500254,
    0.14959598881657673,
    0.12462897125553387,
    0.09515851168249278,
    0.06225352393864789,
    0.02715245941175409,
)


def _check(epsilon: Real) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise expected("epsilon", epsilon, "to be a finite number above 0")
