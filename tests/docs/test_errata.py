"""The errata page: every pair of numbers "printed → right" in its tables, and every number in its text, computed again.

Where it can, a check starts from a definition (a search over pairs of records, an integral, a sum) and not from the
corrected formula.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import erf, expit, gamma, gammaln, polygamma
from scipy.stats import poisson

import tacit
from tacit.audit.empirical import Attack, epsilon_lower_bound
from tacit.privacy import gaussian


def largest_difference(contributions, norm):
    """The largest L1 norm, or squared L2 norm, of a difference of two of these vectors."""
    vectors = np.array(list(contributions))
    return max(float((np.abs(vectors - v) ** norm).sum(axis=1).max()) for v in vectors)


def products(v, cross=1.0):
    """All distinct products v_j v_k; ``cross`` multiplies those of two different coordinates."""
    size = len(v)
    return [v[i] * v[j] * (1.0 if i == j else cross) for i in range(size) for j in range(i, size)]


def on_a_grid(bounds, points=9):
    return itertools.product(*(np.linspace(low, high, points if high > low else 1) for low, high in bounds))


def on_a_circle(points=180):
    return [np.array([math.cos(a), math.sin(a)]) for a in np.arange(points) * 2 * math.pi / points]


def normal_mean(f):
    """E f(Z) for a standard normal Z."""
    z = np.linspace(-12, 12, 4001)
    weights = np.exp(-z * z / 2)
    return float(weights @ f(z) / weights.sum())


def box_sensitivity(low, high):
    """Printed and true L1 sensitivity of the products of (1, x, y), x and y in [low, high]."""
    width = high - low
    bounds = ((1, 1), (low, high), (low, high))
    return width**2 * 3 + width**2 * 2 + width**2, largest_difference(map(products, on_a_grid(bounds, 25)), 1)


def fourth_moments(low, high):
    x = np.linspace(low, high, 20001)
    sums = x + x**2 + x**3 + x**4
    # The largest difference of each power is at the larger end, for all powers at once, because high >= |low|.
    return 5 * (high - low) ** 4, float(sums[-1] - sums.min())


def variance_of_y():
    support, theta, variance = np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([0.0, 1.0]), 0.1
    second = np.einsum("ni,nj->ij", support, support) / 2
    fourth = np.einsum("ni,nj,nk,nl->ijkl", support, support, support, support) / 2
    printed = fourth - np.einsum("ij,kl->ijkl", second, second)
    means = support @ theta
    right = float(np.mean(means**2) + variance - np.mean(means) ** 2)
    return variance * second[0, 0] + float(np.einsum("kl,k,l->", printed[0, 0], theta, theta)), right


def clipped_matrix():
    matrix = np.array([[10, 3, -2], [3, 1.2, 0.4], [-2, 0.4, 0.1]])
    values, vectors = np.linalg.eigh(matrix)
    return float((vectors * np.maximum(values, 0) @ vectors.T)[0, 0]), 10.0


def logistic_block(ratio=0.1):
    records = [
        [*(y * x), *(math.sqrt(ratio) * np.array(products(x, math.sqrt(2))))] for y in (-1, 1) for x in on_a_circle()
    ]
    return 1 / (2 * ratio) + 2 + 2 * ratio, largest_difference(records, 2)


def poisson_block(second=0.5, third=0.01, fourth=0.1):
    def statistic(x, y):
        squares = np.array(products(x, math.sqrt(2)))
        blocks = (x, math.sqrt(second) * squares, math.sqrt(third) * y * x, math.sqrt(fourth) * y * squares)
        return np.concatenate(blocks)

    x = np.array([1.0, 0.0, 0.0])
    printed = (2 * (second + fourth) + third + 1) ** 2 / (2 * (second + fourth))
    return printed, largest_difference([statistic(x, 1), statistic(-x, 0)], 2)


def order_six():
    t = np.linspace(-1, 1, 200001)
    return 12.72, 12 - 2 * float(sum(t**i for i in range(1, 7)).min())


def taylor_factor(s):
    return 0.5 - s * s / 8, normal_mean(lambda z: s * z * np.tanh(s * z / 2)) / s**2


def odd_covariance():
    mean = normal_mean(lambda z: z * np.tanh(z / 2))
    return normal_mean(lambda z: z * z * np.tanh(z / 2)) - mean**2, 1 - mean**2


def poisson_variance(s=0.5):
    mean = normal_mean(lambda z: np.logaddexp(0, s * z))
    square = normal_mean(lambda z: np.logaddexp(0, s * z) ** 2)
    return square - mean**2, square + mean - mean**2


def local_linear(bound=2.0):
    xs = on_a_circle()
    records = [[*products(x, math.sqrt(2)), *(y * x), y * y] for x in xs for y in np.linspace(0, bound, 21)]
    # Rotations and a common sign change nothing, so one record is (1, 0) with the largest y.
    first = np.array([*products(xs[0], math.sqrt(2)), *(bound * xs[0]), bound**2])
    right = max(float(((np.array(r) - first) ** 2).sum()) for r in records)
    return math.sqrt(1.5 * bound**4 + 2 * bound**2 + 2), math.sqrt(right)


def rectified_integral(z=0.3, mu=0.5, sigma=1.2, half=5.0, epsilon=1.0):
    width, root = 2 * half, math.sqrt(2)

    def part(sign, first, second):
        ends = [erf((epsilon * sigma**2 + sign * width * (mu - x)) / (root * width * sigma)) for x in (first, second)]
        return -math.sqrt(math.pi) * sigma * (ends[0] - ends[1]) / root

    exponent = epsilon * (2 * width * (z - mu) + epsilon * sigma**2) / (2 * width**2)
    left = part(1, z, -half) * math.exp(-epsilon * (2 * width * (z - mu) - epsilon * sigma**2) / (2 * width**2))
    right, _ = quad(
        lambda x: math.exp(-epsilon * abs(x - z) / width - (x - mu) ** 2 / (2 * sigma**2)), -half, half, points=[z]
    )
    assert left + part(-1, z, half) * math.exp(exponent) == pytest.approx(right, rel=1e-10)
    return left + part(-1, z, half) * erf(exponent), right


def unary_encoding(f=0.5, epsilon=1.0):
    p, q = expit(epsilon), 0.5
    mean = (1 - p) + (q - (1 - p)) * f
    return (mean - q) / (p - q), (mean - (1 - p)) / (q - (1 - p))


def lemma_32(z=0.7, sigma=2.0):
    def g(x):
        return 1 + 0.2 * x + 0.5 * x**2 + 0.1 * x**3 + 0.3 * x**4

    def h(x):
        return 0.1 - 0.4 * x - 0.3 * x**2

    def integral(exponent):
        return quad(lambda x: g(x) * math.exp(exponent(x)) / (sigma * math.sqrt(2 * math.pi)), -1, 2.5)[0]

    printed = integral(lambda x: (h(x) - (z - x) ** 2) / (2 * sigma**2))
    return printed, integral(lambda x: h(x) - (z - x) ** 2 / (2 * sigma**2))


def chebyshev_line(u=4.0):
    angles = (np.arange(200) + 0.5) * math.pi / 200
    slope = 2 / 200 * float(expit(3 * np.cos(angles)) @ np.cos(angles)) / 3
    assert abs(expit(3 * np.cos(angles)) @ np.cos(2 * angles)) < 1e-12, "the quadratic term is 0"
    return 0.5 + slope * u, expit(u)


def split_budget(epsilon=1.0, share=0.5, delta=1e-5):
    keep = expit(share * epsilon)

    def joint(mu):
        low, high = (gaussian.delta(x * epsilon, mu) for x in (1 - share, 1 + share))
        return keep * low + (1 - keep) * high - delta

    return 1 / gaussian.mu_for((1 - share) * epsilon, delta), 1 / brentq(joint, 0.01, 1)


def theorem_4(p, n=1000, penalty=1 / 9):
    t = brentq(lambda t: n * penalty * t - expit(-p * t), 0, 1, xtol=1e-15)
    return 1.0, 2 * p * t / (2 / (n * penalty))


def least_epsilon(s=0.1):
    peak = 1 / (math.sqrt(2 * math.pi) * s)
    b = np.linspace(0.01, 20, 200001)
    return 0.0, float((2 * peak**b / b).min())


def published_calibration(epsilon=1.0):
    believed, true = (1 / (math.sqrt(2 * math.pi) * s) for s in (1.0, 0.1))
    b = brentq(lambda b: 2 * believed**b / b - epsilon, 1e-6, 100)
    return epsilon, 2 * true**b / b


def minami(epsilon, delta=1e-5):
    return delta, gaussian.delta(epsilon, epsilon / math.sqrt(1 + 2 * math.log(1 / delta)))


def shape_by_x(beta=1.5):
    peak = 1.0
    gauss = quad(lambda y: (peak * math.exp(-math.pi * (peak * y) ** 2)) ** beta, -np.inf, np.inf)[0]
    cauchy = quad(lambda y: (peak / (1 + (math.pi * peak * y) ** 2)) ** beta, -np.inf, np.inf)[0]
    # One record sits at the peak of the Cauchy density, the other far out under the normal one.
    right = 1 / (beta - 1) + (gauss - cauchy) / beta
    closed = 1 / (beta - 1) + (beta**-0.5 - gamma(beta - 0.5) / (math.sqrt(math.pi) * gamma(beta))) / beta
    assert right == pytest.approx(closed, rel=1e-9)
    return 1 / (beta - 1), right


def loss_gradient():
    p = np.linspace(0, 1, 100001)
    return 0.25, float((p * (1 - p) * ((1 - p) + (1 - p))).max())


def poisson_range(beta=2.0):
    mu = np.exp(np.linspace(-12, 4.5, 2001))
    pmf = poisson.pmf(np.arange(400)[:, None], mu)
    total = (pmf**beta).sum(axis=0) / beta
    losses = [total - pmf[y] ** (beta - 1) / (beta - 1) for y in (0, 1)]
    # As mu tends to 0 the loss tends to -1 / (beta (beta - 1)) at y = 0 and to 1 / beta at y = 1.
    return 2 / (beta - 1), 2 * max(losses[0].max() + 1 / (beta * (beta - 1)), 1 / beta - losses[1].min())


def guessing():
    runs = 10**6
    guesser = Attack(runs // 2, runs, runs // 2, runs)
    return math.log((1 - 0.25) / 0.25), epsilon_lower_bound(guesser, delta=0.0, confidence=0.95)


def clipped_gaussian(order=2, n=100):
    return order / 2 / (1 + n), order / 2 * 2**2 / (1 + n)


def log_beta(a, b):
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def renyi_beta(p, q, order):
    mixed = [order * a + (1 - order) * b for a, b in zip(p, q, strict=True)]
    return (log_beta(*mixed) - order * log_beta(*p)) / (order - 1) + log_beta(*q)


def hessian_bound(order=1.1):
    p, q = (1.01, 2.0), (0.01, 3.0)
    x = np.linspace(-(order - 1), order - 1, 2001)
    curvature = polygamma(1, p[0] + x) + polygamma(1, p[1] - x)  # along (1, -1), the direction from q to p
    return order * float(curvature.max()), renyi_beta(p, q, order)


def normal_inverse_gamma():
    n, r, m0, k0, a0, b0, order = 29, 0.2, -0.17, 7.5, 18, 0.57, 3.3

    def divergence(others, x, y):
        kappa, alpha = k0 + r * n, a0 + r * n / 2
        stats = [
            np.array([k0 * m0 + r * ((n - 1) * others + v), 2 * b0 + k0 * m0**2 + r * ((n - 1) * others**2 + v * v)])
            for v in (x, y)
        ]
        p, q, mixed = ((s[1] - s[0] ** 2 / kappa) / 2 for s in (*stats, order * stats[0] + (1 - order) * stats[1]))
        return alpha * ((order * math.log(p) - math.log(mixed)) / (order - 1) - math.log(q))

    corners = max(divergence(*corner) for corner in itertools.product((-1.0, 1.0), repeat=3))
    return corners, divergence(-0.30018441347582314, -0.30018441347582314, 1.0)


def cancellation():
    import mpmath

    p, q = (1e6, 1e6 + 0.01), (1e6 + 0.01, 1e6)
    with mpmath.workdps(50):
        log_gamma = mpmath.loggamma
        mixed = [2 * mpmath.mpf(a) - mpmath.mpf(b) for a, b in zip(p, q, strict=True)]
        sums = [sum(log_gamma(v) for v in pair) - log_gamma(sum(map(mpmath.mpf, pair))) for pair in (mixed, p, q)]
        right = float(sums[0] - 2 * sums[1] + sums[2])
    return renyi_beta(p, q, 2), right


def logistic_tightness():
    z = np.linspace(-30, 30, 60001)
    p, q = (np.exp(-z * z / 2) * expit(s * z) for s in (1, -1))
    return 2 * math.exp(0.5) - 2, float((p**2 / q).sum() / p.sum() * (q.sum() / p.sum()))


def classical_gaussian(epsilon=10.0, delta=1e-6):
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon, gaussian.sigma_over_sensitivity(epsilon, delta)


def discrete_gaussian(epsilon=1.0, delta=1e-5):
    sigma = gaussian.sigma_over_sensitivity(epsilon, delta)
    k = np.arange(-200, 201)
    p, q = (np.exp(-((k - shift) ** 2) / (2 * sigma**2)) for shift in (0, 1))
    return delta, float(np.maximum(p / p.sum() - math.exp(epsilon) * q / q.sum(), 0).sum())


CHECKS = {
    "B1": lambda: box_sensitivity(10, 11),
    "B2": lambda: box_sensitivity(0, 0.5),
    "B3": lambda: box_sensitivity(-1, 1),
    "B4": lambda: fourth_moments(1, 2),
    "B5": lambda: fourth_moments(-1, 1),
    "B6": variance_of_y,
    "B9": clipped_matrix,
    "K1": logistic_block,
    "K2": poisson_block,
    "K3": order_six,
    "K4": lambda: (3, math.factorial(3)),
    "K5": lambda: ((1 - math.e) / (1 + math.e), math.tanh(0.5)),
    "K6": odd_covariance,
    "K7": lambda: taylor_factor(3.0),
    "K8": poisson_variance,
    "L1": local_linear,
    "L3": rectified_integral,
    "L5": unary_encoding,
    "L6": lemma_32,
    "L7": chebyshev_line,
    "L8": split_budget,
    "J1": lambda: theorem_4(10),
    "J2": least_epsilon,
    "J3": published_calibration,
    "J4": lambda: minami(10.0),
    "J5": shape_by_x,
    "J6": loss_gradient,
    "J7": poisson_range,
    "J8": lambda: (1 / (4 * math.log(1 + math.exp(2))), 1 / (2 * 2)),
    "J11": guessing,
    "G1": clipped_gaussian,
    "G2": hessian_bound,
    "G3": normal_inverse_gamma,
    "G4": cancellation,
    "G5": logistic_tightness,
    "A1": classical_gaussian,
    "A2": discrete_gaussian,
}

NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?"
ERRATA = (Path(__file__).parents[2] / "docs" / "errata.md").read_text("utf-8")
PAIRS = {
    row[1]: (row[2], row[3])
    for row in re.finditer(rf"^\| ([A-Z]\d+) \|.*\| ({NUMBER}) → ({NUMBER})(?: [^|]*)?\|[^|]*\|$", ERRATA, re.MULTILINE)
}


def agrees(shown, value):
    """Whether ``value`` rounds to the decimal ``shown``."""
    digits, _, exponent = shown.partition("e")
    place = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return abs(float(shown) - value) <= 0.5000001 * place


@pytest.mark.parametrize("row", CHECKS)
def test_a_pair_of_numbers_in_the_errata_is_right(row):
    """Both sides are computed, from the definitions; no randomness. Planted fault: a last digit changed by two."""
    for shown, value in zip(PAIRS[row], CHECKS[row](), strict=True):
        assert agrees(shown, value), (row, shown, value)
        digits, _, exponent = shown.partition("e")
        place = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
        assert not agrees(shown, value + 2 * place)


def test_every_arrow_in_the_tables_is_computed_again():
    rows = [line for line in ERRATA.splitlines() if re.match(r"\| [A-Z]\d+ \|", line)]
    assert {line.split("|")[1].strip() for line in rows if "→" in line} == set(CHECKS) == set(PAIRS)


# N stands for a number.
SENTENCES = {
    r"65/6 = (N) times": lambda: 65 / 6,
    r"it is (N) times the claimed bound at p = 3": lambda: theorem_4(3)[1],
    r"(N) times at p = 10": lambda: theorem_4(10)[1],
    r"(N) times at p = 50": lambda: theorem_4(50)[1],
    r"2 e ln M = (N)": lambda: 2 * math.e * math.log(1 / (math.sqrt(2 * math.pi) * 0.1)),
    r"1/\(2 pi\) = (N)": lambda: 1 / (2 * math.pi),
    r"exceeds 1e-5 from epsilon = (N) on": lambda: brentq(lambda e: minami(e)[1] - 1e-5, 5, 15),
    r"(N) at epsilon = 20\.": lambda: minami(20.0)[1],
    r"allows (N) times the weight at epsilon = 1": lambda: (
        gaussian.mu_for(1.0, 1e-5) * math.sqrt(1 + 2 * math.log(1e5))
    ),
    r"(N) at s = 1,": lambda: taylor_factor(1.0)[1],
    r"(N) at s = 2,": lambda: taylor_factor(2.0)[1],
    r"(N) at s = 3\.": lambda: taylor_factor(3.0)[1],
    r"ratio of 8/7 in squares, (N)% in Delta": lambda: 100 * (math.sqrt(8 / 7) - 1),
    r"on the line is (N) times": lambda: gaussian.sigma_over_sensitivity(1.0, 1e-5),
    r"(N)% less variance here": lambda: 100 * (1 - (local_linear()[1] / local_linear()[0]) ** 2),
    r"a factor (N) less noise": lambda: 24 / box_sensitivity(-1, 1)[1],
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_number_in_the_text_of_the_errata_is_right(sentence):
    """As for the tables."""
    found = re.findall(sentence.replace("(N)", rf"({NUMBER})"), " ".join(ERRATA.split()))
    assert len(found) == 1, found
    assert agrees(found[0], SENTENCES[sentence]()), (found[0], SENTENCES[sentence]())


def test_the_slack_on_the_fine_lattice_is_as_small_as_the_page_says():
    plan = tacit.Plan(
        tacit.Bernoulli("smoker"),
        tacit.Schema(smoker=["no", "yes"]),
        tacit.ApproxDP(1.0, 1e-5),
        tacit.AddNoise("discrete-gaussian"),
    )
    assert "less than 1e-18 in total variation" in " ".join(ERRATA.split())
    assert plan.event().to_plain()["kind"] == "gaussian"
    assert 0 < plan.event().slack < 1e-18
