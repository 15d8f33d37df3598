"""From one definition of privacy to another, for a single event: the proved ones only.

P and Q are the distributions of a release on two neighbouring data sets (replace-one, n public), in either order, and
D_a is the Renyi divergence of order a. Each function returns an upper bound on a divergence, so a larger value is
always safe. Results are floats with a relative error below 1e-12 (an epsilon near 0: an absolute one); whoever
compares one with a budget rounds it up first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

from tacit.errors import expected

Real = int | float | Fraction


def renyi_to_epsilon(order: float, tau: float, delta: float) -> float:
    """The epsilon that D_order <= tau gives at ``delta``: tau + ln(1 - 1/a) - (ln delta + ln a) / (a - 1), a = order.

    Proof: it solves `renyi_to_delta` for epsilon (Canonne, Kamath, Steinke 2020, section 2.3). A negative value means
    that epsilon = 0 already holds, so it is clamped.
    """
    _check(order=order, tau=tau, delta=delta)
    a = float(order)
    # -log1p(1 / (a - 1)) is ln(1 - 1/a), accurate both for a near 1 and for large a.
    return max(0.0, tau - math.log1p(1 / (a - 1)) - (math.log(delta) + math.log(a)) / (a - 1))


def renyi_to_delta(order: float, tau: Real, epsilon: Real) -> float:
    """The delta that D_order <= tau gives at ``epsilon``: e^{(a-1)(tau-epsilon)} (1 - 1/a)^a / (a - 1), a = order.

    Proof (Canonne, Kamath, Steinke 2020, section 2.3): with L = ln(P/Q) under P, delta = E[max(0, 1 - e^{epsilon-L})].
    For every real y, max(0, 1 - e^{-y}) <= c e^{(a-1) y} with c = (1 - 1/a)^{a-1} / a: (1 - v) v^{a-1}, v = e^{-y}, is
    largest at v = 1 - 1/a. Put y = L - epsilon and use E[e^{(a-1) L}] = e^{(a-1) D_a} <= e^{(a-1) tau}. Last,
    (1 - 1/a)^{a-1} / a = (1 - 1/a)^a / (a - 1). No delta exceeds 1. The gap tau - epsilon is taken in rationals.
    """
    _check(order=order, tau=tau, epsilon=epsilon)
    if tau == math.inf:
        return 1.0
    a = float(order)
    gap = float(Fraction(tau) - Fraction(epsilon))
    return math.exp(min(0.0, (a - 1) * gap - (a - 1) * math.log1p(1 / (a - 1)) - math.log(a)))


def zcdp_to_epsilon(rho: float, delta: float) -> float:
    """The least epsilon over all orders that rho-zCDP gives at ``delta``.

    Proof: zCDP says D_a <= a rho for every a > 1, and `renyi_to_epsilon` holds at each, so the search over the order
    can end anywhere: a worse order is a looser bound, never a wrong one.
    """
    _check(rho=rho, delta=delta)
    return _least(lambda order: renyi_to_epsilon(order, order * rho, delta))


def zcdp_to_delta(rho: Real, epsilon: Real) -> float:
    """The least delta over all orders that rho-zCDP gives at ``epsilon``. Proof: as for `zcdp_to_epsilon`.

    order * rho is a product of rationals: as floats, its rounding at 1e12 would be 1e-9 of delta.
    """
    _check(rho=rho, epsilon=epsilon)
    exact = Fraction(rho)
    return _least(lambda order: renyi_to_delta(order, Fraction(order) * exact, epsilon))


def renyi_point_to_delta(order: float, tau: Real, epsilon: Real) -> float:
    """The least delta at ``epsilon`` when D_order <= tau is all that is known.

    Proof: D_a grows with a (van Erven and Harremoes 2014, Theorem 3), so D_a <= tau for every a <= order too.
    """
    _check(order=order, tau=tau, epsilon=epsilon)
    smaller = _least(lambda a: renyi_to_delta(a, tau, epsilon), largest=order)
    return min(smaller, renyi_to_delta(order, tau, epsilon))


def pure_to_delta(epsilon: Real, target: Real) -> float:
    """The delta at epsilon = ``target`` of an ``epsilon``-DP mechanism: (e^epsilon - e^target) / (1 + e^epsilon), or 0.

    Proof: a pair with |ln(P/Q)| <= epsilon is a randomisation of the pair of randomised response, p = e^epsilon / (1 +
    e^epsilon) against q = 1 - p: this is the two-point lemma of `bounded_range` on the interval [-epsilon, epsilon]
    (Kairouz, Oh, Viswanath 2015). Randomisation raises no divergence, and for the two-point pair delta =
    max(0, p - e^target q). The gap epsilon - target is taken in rationals, so that it cannot vanish by rounding.
    """
    _check(epsilon=epsilon, target=target)
    gap = Fraction(epsilon) - Fraction(target)
    return -math.expm1(-float(gap)) / (1 + math.exp(-float(epsilon))) if gap > 0 else 0.0


def pure_to_renyi(epsilon: float, order: float) -> float:
    """D_order of an ``epsilon``-DP mechanism at most: ln[cosh((a - 1/2) epsilon) / cosh(epsilon / 2)] / (a - 1).

    Proof: by the reduction of `pure_to_delta` randomised response is the worst pair, and sum_i p_i^a q_i^{1-a} =
    (e^{a epsilon} + e^{(1-a) epsilon}) / (1 + e^epsilon). The code uses cosh x - cosh y =
    2 sinh((x+y)/2) sinh((x-y)/2), which has no cancellation for small epsilon or order near 1.
    """
    _check(epsilon=epsilon, order=order)
    e, a = float(epsilon), float(order)
    if a * e < 600:
        return math.log1p(2 * math.sinh(a * e / 2) * math.sinh((a - 1) * e / 2) / math.cosh(e / 2)) / (a - 1)
    return e + (math.log1p(math.exp(-(2 * a - 1) * e)) - math.log1p(math.exp(-e))) / (a - 1)


def pure_to_zcdp(epsilon: float) -> float:
    """rho of an ``epsilon``-DP mechanism at most: epsilon tanh(epsilon / 2), below the usual epsilon^2 / 2 and tight.

    Proof: put w = epsilon / 2, b = 2a - 1 and g(v) = ln cosh(w sqrt(v)). `pure_to_renyi` is [g(b^2) - g(1)] / (a - 1).
    g'(v) = (w^2 / 2) tanh(z) / z at z = w sqrt(v), and tanh(z) / z falls, so g is concave and g(b^2) - g(1) <=
    (b^2 - 1) g'(1) = 4 a (a - 1) (w / 2) tanh(w) = a (a - 1) epsilon tanh(epsilon / 2). Hence D_a <= a rho. It is tight
    because D_a tends to epsilon tanh(epsilon / 2) as a tends to 1.
    """
    _check(epsilon=epsilon)
    return float(epsilon) * math.tanh(float(epsilon) / 2)


def pure_to_gdp(epsilon: float) -> float:
    """mu of an ``epsilon``-DP mechanism at most: -2 Phi^{-1}(1 / (1 + e^epsilon)).

    Proof: the trade-off curve of an epsilon-DP mechanism lies above the polygon through (0, 1), (c, c), (1, 0) with
    c = 1 / (1 + e^epsilon) (Wasserman and Zhou 2010). The curve of N(0, 1) against N(mu, 1) is convex, passes through
    (0, 1) and (1, 0), and passes through (c, c) for this mu, so it lies below the polygon's sides. Above epsilon = 700
    the bound 2 sqrt(2 epsilon) is used: Phi(-sqrt(2 epsilon)) <= e^{-epsilon} / 2 <= c.
    """
    _check(epsilon=epsilon)
    e = float(epsilon)
    if e > 700:
        return 2 * math.sqrt(2 * e)
    if e > 1:
        return -2 * NormalDist().inv_cdf(1 / (1 + math.exp(e)))
    # Phi(-v sqrt 2) = c is erf(v) = tanh(epsilon / 2); Newton from below keeps the digits that 1/2 - c would lose.
    target = math.tanh(e / 2)
    v = target * math.sqrt(math.pi) / 2
    for _ in range(6):
        v += (target - math.erf(v)) * math.sqrt(math.pi) / 2 * math.exp(v * v)
    return 2 * math.sqrt(2) * v


def gdp_to_renyi(mu: float, order: float) -> float:
    """D_order of a mu-GDP mechanism at most: order * mu^2 / 2.

    Proof: D_a(N(0, 1) || N(mu, 1)) = a mu^2 / 2, and a trade-off curve above another one means a randomisation of the
    other pair (Blackwell; Dong, Roth, Su 2022, section 2).
    """
    _check(mu=mu, order=order)
    return order * gdp_to_zcdp(mu)


def gdp_to_zcdp(mu: float) -> float:
    """rho of a mu-GDP mechanism at most: mu^2 / 2. Proof: `gdp_to_renyi` is rho * order for every order."""
    _check(mu=mu)
    return mu * mu / 2


def laplace_renyi(epsilon: float, order: float) -> float:
    """D_order of continuous Laplace noise whose shift is ``epsilon`` scales, a = order:

        ln[ a/(2a-1) e^{(a-1) epsilon} + (a-1)/(2a-1) e^{-a epsilon} ] / (a - 1)

    Proof: Mironov 2017, Proposition 6 (the integral over the three pieces of the density). It is not a bound for
    discrete noise, whose curve `discrete_laplace_renyi` is larger.
    """
    _check(epsilon=epsilon, order=order)
    a = float(order)
    return _two_exponentials(float(epsilon), a, (a - 1) / (2 * a - 1), 0.0)


def discrete_laplace_renyi(epsilon: float, order: float, grain: int) -> float:
    """D_order at most, for discrete Laplace noise on an integer vector, a = order:

        ln[ A e^{(a-1) epsilon} + (1 - A) e^{-a epsilon} ] / (a - 1),    A = (1 + tanh(h/2) / tanh((2a-1) h/2)) / 2

    with ``epsilon`` = max over pairs of sum_i |D_i| / s_i, s_i the scale of entry i, ``grain`` = min s_i, h = 1/grain.

    Proof: one entry has mass proportional to r^|k|, r = e^{-1/s}; let the pair differ by an integer m > 0. In
    sum_k p_k^a q_k^{1-a} = (1-r)/(1+r) sum_k r^{a|k| + (1-a)|k-m|} the terms k <= 0 give r^{(1-a)m} / (1-r), the terms
    k >= m give r^{am} / (1-r) and those between give r^{(1-a)m} (x - x^m) / (1-x) with x = r^{2a-1}. As
    r^{(1-a)m} x^m = r^{am}, the sum is A e^{(a-1)u} + (1-A) e^{-au} with u = m/s and A = (1 - r x) / ((1-x)(1+r)),
    which is the A above at h = 1/s. Call its logarithm F_A(u).
    (1) A grows with h: z / sinh z falls, so the logarithm of tanh(y) / tanh(cy), c = 2a - 1 > 1, has derivative
    2/sinh(2y) - 2c/sinh(2cy) > 0 in y = h/2. Its limit at h = 0 is a/(2a-1), the continuous distribution; so A >=
    a/(2a-1). (2) F_A(u) grows with A, since e^{(a-1)u} >= e^{-au}.
    (3) F_A is convex in u (log-sum-exp), F_A(0) = 0 and F_A'(0) = A(2a-1) - a >= 0 by (1). So F_A grows on u >= 0 and
    is superadditive: F_A(u) + F_A(v) <= F_A(u + v).
    Entries are independent, so their divergences add: sum_i F_{A_i}(u_i) <= sum_i F_A(u_i) <= F_A(sum_i u_i) <=
    F_A(epsilon), with A taken at the smallest scale.
    """
    _check(epsilon=epsilon, order=order)
    if grain < 1:
        raise expected("grain", grain, "to be a whole number of at least 1")
    a, h = float(order), 1 / grain
    c, d = 2 * a - 1, 2 * (a - 1)
    r = math.exp(-h)
    rest = r * math.expm1(-d * h) / (math.expm1(-c * h) * (1 + r))  # 1 - A, without subtracting
    return _two_exponentials(float(epsilon), a, rest, _derivative(c, d, h / 2))


def _two_exponentials(u: float, a: float, rest: float, derivative: float) -> float:
    """ln[A e^{(a-1)u} + (1-A) e^{-au}] / (a-1), given rest = 1 - A and derivative = A(2a-1) - a, both accurate."""
    if (2 * a - 1) * u > 1:
        return u + math.log1p(rest * math.expm1(-(2 * a - 1) * u)) / (a - 1)
    # e^z = 1 + z + g(z): the three terms left are all positive, so a small u or an order near 1 loses no digits.
    return math.log1p(derivative * u + (1 - rest) * _second_order((a - 1) * u) + rest * _second_order(-a * u)) / (a - 1)


def _second_order(z: float) -> float:
    """e^z - 1 - z."""
    if abs(z) > 0.5:
        return math.expm1(z) - z
    term = total = z * z / 2
    for n in range(3, 18):
        term *= z / n
        total += term
    return total


_TANH_SERIES = (  # tanh z = z + sum over these of coefficient * z^power
    (3, -1 / 3),
    (5, 2 / 15),
    (7, -17 / 315),
    (9, 62 / 2835),
    (11, -1382 / 155925),
    (13, 21844 / 6081075),
    (15, -929569 / 638512875),
)


def _derivative(c: float, d: float, y: float) -> float:
    """(c tanh(y) / tanh(cy) - 1) / 2 with c = 1 + d, without cancellation."""
    if c * y < 0.1:
        # c t(y) - t(cy) = sum of coefficient * y^n (c - c^n), and c - c^n = -c (c^{n-1} - 1)
        numerator = -sum(k * y**n * c * math.expm1((n - 1) * math.log1p(d)) for n, k in _TANH_SERIES)
    else:
        # tanh(cy) - tanh(y) = sinh(dy) / (cosh(cy) cosh(y)), written with falling exponentials only
        fall = math.exp(-2 * y)
        step = -2 * fall * math.expm1(-2 * d * y) / ((1 + math.exp(-2 * c * y)) * (1 + fall))
        numerator = d * math.tanh(y) - step
    return numerator / (2 * math.tanh(c * y))


def approximate_sampler_delta(epsilon: float, delta: float, total_variation: Real) -> float:
    """delta' = delta + (1 + e^epsilon) * total_variation, when the sampler is that far from the distribution that was
    priced.

    Proof: with |P' - P| and |Q' - Q| at most t in total variation, P'(S) <= P(S) + t <= e^epsilon Q(S) + delta + t <=
    e^epsilon Q'(S) + delta + (1 + e^epsilon) t.
    """
    _check(epsilon=epsilon)
    if not 0 <= delta <= 1:
        raise expected("delta", delta, "to lie between 0 and 1")
    if not 0 <= total_variation <= 1:
        raise expected("total_variation", total_variation, "to lie between 0 and 1")
    if total_variation == 0:
        return float(delta)
    exact = Fraction(total_variation)
    # In logarithms: a distance below the smallest float times a large e^epsilon still counts.
    log_distance = math.log(exact.numerator) - math.log(exact.denominator)
    return min(1.0, delta + math.exp(log_distance) + math.exp(min(1.0, epsilon + log_distance)))


def _least(bound: Callable[[float], float], largest: float = math.inf) -> float:
    """The least value of ``bound`` that a search over orders in (1, largest] finds; it may end anywhere."""
    top = min(30.0, math.log(largest - 1))
    low = min(-20.0, top - 10)

    def at(t: float) -> float:
        return bound(min(largest, 1 + max(math.exp(t), 2**-52)))

    steps = 100
    grid = [top - (top - low) * i / steps for i in range(steps + 1)]
    values = [at(t) for t in grid]
    best = min(range(steps + 1), key=values.__getitem__)
    left, right = grid[min(steps, best + 1)], grid[max(0, best - 1)]
    golden = (math.sqrt(5) - 1) / 2
    found = values[best]
    inner, outer = right - golden * (right - left), left + golden * (right - left)
    at_inner, at_outer = at(inner), at(outer)
    for _ in range(60):
        found = min(found, at_inner, at_outer)
        if at_inner <= at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - golden * (right - left)
            at_inner = at(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + golden * (right - left)
            at_outer = at(outer)
    return found


def _check(**values: Real) -> None:
    for name, value in values.items():
        if name == "order":
            if not (math.isfinite(value) and value > 1):
                raise expected("order", value, "to be a finite number above 1")
        elif name == "delta":
            if not 0 < value < 1:
                raise expected("delta", value, "to lie strictly between 0 and 1")
        elif not value >= 0 or (value == math.inf and name != "tau"):
            raise expected(name, value, "to be a finite number of at least 0")
