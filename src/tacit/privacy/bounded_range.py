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
    half = math.expm1(-float(gap) / 2)
    return half * (half / -math.expm1(-float(epsilon)))  # a square of a tiny number would be 0


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
        logs = a * log1mexp(a * e) - log1mexp(e) - (a - 1) * log1mexp(rest)
        return e - math.log1p(1 / (a - 1)) + (logs - math.log(a)) / (a - 1)
    total = 0.0
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        for v in (short * (1 - node) / 2, short * (1 + node) / 2):
            total += weight / 2 * (_derivative(long + v) - _derivative(v))
    return total * (short / rest)


def zcdp(epsilon: Real) -> float:
    """The least rho: f(e) = ln((e^e - 1) / e) - 1 + e / (e^e - 1), e = ``epsilon``.

    Proof: f is M' of `renyi`, f(z) = ln(sinh(z/2) / (z/2)) + (z/2) coth(z/2) - 1. With M(0) = 0 the formula there says
    that D_a, a the order, is at most the mean over 0 <= w <= (a-1) e of f(e + w) - f(w).
    (1) f' is concave and f(0) = f'(0) = 0. In y = z/2, f' = coth y - 1/(2y) - y / (2 sinh^2 y), y/2 near 0, and its
    second derivative in y is -G(y) / (y^3 sinh^4 y), G = sinh^4 y + y^4 (2 + cosh 2y) - 2 y^3 sinh 2y. The
    coefficient of y^2n in G is (4^n / (2n)!) [(4^n - 4) / 8 + 2n (2n-1) (2n-2) (2n-7) / 16], and 2 more at n = 2. It
    is 0 at n = 1, 2, 3: (0 + 0), 16/24 (3/2 - 9/2) + 2 and (15/2 - 15/2); from n = 4 on both terms are positive.
    (2) So f'(e + v) - f'(v) <= f'(e), and f(e) >= (e/2) f'(e), as f' lies above its chord from 0 to e. Integrating,
    f(e + w) - f(w) <= f(e) + w f'(e) <= f(e) (1 + 2w/e), whose mean over 0 <= w <= (a-1) e is a f(e).
    (3) It is the least: the mean tends to f(e) as a tends to 1, and `renyi` is reached by a two-point pair. []
    """
    _check(epsilon)
    return _derivative(float(epsilon))


def simple_zcdp(epsilon: Fraction) -> Fraction:
    """A rho without logarithms: epsilon^2 / 8, exact; `zcdp` is less by a part of about epsilon^2 / 72.

    Proof: K(s) = ln E_Q[e^{s ln(P/Q)}] has K(0) = K(1) = 0, and K''(s) is the variance of ln(P/Q) under a tilted
    distribution, at most e^2 / 4 on an interval of length e (Popoviciu). So K(a) <= (e^2 / 4) a (a - 1) / 2, and D_a =
    K(a) / (a - 1) <= a e^2 / 8. []
    """
    _check(epsilon)
    return Fraction(epsilon) ** 2 / 8


def gdp_mu(epsilon: Real) -> float:
    """The least mu of Gaussian DP: 2 Phi^{-1}(1 / (1 + e^{-epsilon/2})), that of an (epsilon/2)-DP mechanism.

    Proof: by the lemma a two-point pair is the worst, p against q, and logit p - logit q = t - (t - e) = e at every t.
    (1) Its trade-off curve is the polygon through (0, 1), (q, 1 - p), (1, 0). That of N(0, 1) against N(mu, 1) is
    convex and passes through the same points if mu = Phi^{-1}(p) - Phi^{-1}(q), so it lies below. With
    h(x) = Phi^{-1}(logistic(x)), which is odd, this is mu = h(x + e/2) - h(x - e/2) for some x.
    (2) h' is even and falls on x > 0. With u = h(x) > 0, h' = Phi(u) Phi(-u) / phi(u), and the derivative of its
    logarithm in u is phi(u) / Phi(u) - phi(u) / Phi(-u) + u. With c = 2 Phi(u) - 1 this is at most 0 if c phi(u) >=
    u (1 - c^2) / 4. For u <= 1: 1 - c^2 <= e^{-u^2/2}, as the disc of radius u lies in the square of side 2u, and
    c / u falls with u and is above 0.68 at u = 1, more than sqrt(2 pi) / 4. For u >= 1 put T = Phi(-u): 1 - 2T >= u
    (T / phi(u)) (1 - T) is asked. T <= phi(u) (u^2 + 2) / (u^3 + 3u) (the difference tends to 0 at infinity and has
    derivative -6 phi(u) / (u (u^2 + 3))^2), so the right side is at most (1 - T) (1 - 1 / (u^2 + 3)), which is less if
    T (u^2 + 4) <= 1; and T (u^2 + 4) <= phi(u) (u^2 + 2) (u^2 + 4) / (u (u^2 + 3)) <= phi(u) (u + 3/u), which falls
    with u and is below 0.97 at u = 1.
    (3) So mu falls as |x| grows and is largest at x = 0, where it is 2 h(e/2). That pair has range e, so no less mu
    holds. []
    """
    _check(epsilon)
    return pure_to_gdp(float(epsilon) / 2)


def log1mexp(z: float) -> float:
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
