"""Densities of local reports and summaries of many: reference values, total mass, gradients, stated errors."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.errors import InputError
from tacit.likelihoods.report_densities import (
    exponential_report,
    lattice_report,
    linear_reports,
    logistic_report,
    mean_expit,
    normal_report,
    response_report,
    unary_report,
    unary_shares,
)
from tacit.likelihoods.report_summaries import (
    binned,
    distinct_patterns,
    grid_nodes,
    moment_sums,
    pattern_counts,
    response_counts,
    unary_expansion,
)
from tacit.runtime.backend import float64

# z, mean, sd, low, high, epsilon, log p, d/dmean, d/dsd: 30-digit quadrature.
NORMAL = [
    (0.3, 0.5, 1.2, -5, 5, 1.0, -3.0901793116685883, -0.012540447760083537, -0.07445787730567077),
    (-7.0, 0.5, 1.2, -5, 5, 1.0, -3.738530815640294, -0.09999400897774564, 0.012019718403614297),
    (9.0, -1.0, 2.0, -5, 5, 0.5, -4.183263460172956, 0.04898330559215573, 0.006798712752708738),
    (2.0, 10.0, 1.0, -5, 5, 1.0, -3.2957322681093784, -2.9209618140230128e-08, 1.5159291113061449e-07),
    (0.3, 0.5, 60.0, -5, 5, 10.0, -4.615706724293181, 0.0013382398829335153, -0.010730261867909246),
    (12.0, 0.5, 200.0, -5, 5, 10.0, -8.400310026291248, 0.004044877308020397, 7.079326742712562e-05),
    (0.0, 30.0, 0.5, -5, 5, 5.0, -3.886294361119891, -0.0, 0.0),
    (1.5, 0.0, 1.0, 0, 3, 0.2, -3.47801637542481, 0.024837110321732962, 0.009894800073676125),
]
# z, rate, high, epsilon, log p, d/drate: 30-digit quadrature. The second is the removable singularity.
EXPONENTIAL = [
    (1.3, 0.7, 5.0, 1.0, -2.4862502840306298, 0.13289642196225013),
    (1.3, 0.2, 5.0, 1.0, -2.6974672898961165, 1.0040509819538963),
    (-2.0, 0.2, 5.0, 1.0, -3.2688042625110185, 1.3079707797788245),
    (4.0, 3.0, 5.0, 0.5, -3.361831300362822, -0.011491765055043063),
    (0.5, 0.05, 2.0, 8.0, -3.000196971747259, 17.518730167206364),
    (1.3, 0.2000000001, 5.0, 1.0, -2.697467289795711, 1.004050981500053),
    (3.0, 25.0, 5.0, 2.0, -2.7933085305042167, -0.0006504065040650406),
]
UNARY = [
    ([0.5, 0.2, 0.2, 0.1], 0.8, [1, 0, 1, 0], -2.7870138523379313),
    ([0.5, 0.2, 0.2, 0.1], 0.8, [0, 0, 0, 0], -1.8064491784032786),
    ([0.7, 0.2, 0.1], 0.5, [1, 1, 1], -2.6413011489201588),
    ([0.25, 0.25, 0.25, 0.25], 3.0, [0, 1, 0, 0], -2.0859972821816055),
]
COVARIANCE = np.array([[0.5, 0.1, 0.0], [0.1, 0.4, 0.05], [0.0, 0.05, 0.3]])
NOISE = np.diag([0.5, 0.6, 0.7])
THETA = np.array([0.4, -1.0, 0.7])
POINT = np.array([0.5, -1.2, 0.3])
LOGISTIC = [(1, 0.5, -4.365613453511351), (0, 0.5, -4.485824859661925), (1, 2.0, -4.252755467351317)]
EXPIT = [
    (0.0, 1.0, 0.5, 1e-15),
    (0.5, 1.0, 0.60202713281675015628, 1e-15),
    (2.0, 1.0, 0.84453748146987651701, 1e-15),
    (1.5, 5.0, 0.6112304637660622362, 1e-11),
    (-20.0, 2.0, 1.5229967081120702842e-8, 1e-12),
    (6.0, 0.1, 0.99751507546982575675, 1e-15),
]


def gradient(function, *at):
    """The value and derivatives of a function of numbers."""
    with float64():
        value, slopes = jax.value_and_grad(lambda v: function(*v))(jnp.array(at, jnp.float64))
        return float(value), np.asarray(slopes)


def central_difference(function, at, index, step):
    """The derivative by Richardson's rule: fourth order in ``step``."""

    def slope(h):
        up, down = list(at), list(at)
        up[index] += h
        down[index] -= h
        with float64():
            return (float(function(*map(jnp.float64, up))) - float(function(*map(jnp.float64, down)))) / (2 * h)

    return (4 * slope(step) - slope(2 * step)) / 3


@pytest.mark.parametrize("case", NORMAL, ids=str)
def test_normal_reports_have_the_reference_density_and_slopes(case):
    z, mean, sd, low, high, epsilon, value, by_mean, by_sd = case
    scale = (high - low) / epsilon
    found, slopes = gradient(lambda m, s: normal_report(z, m, s, low=low, high=high, scale=scale), mean, sd)
    assert found == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(slopes, [by_mean, by_sd], rtol=1e-11, atol=1e-14)


def test_the_printed_form_of_the_normal_density_overflows():
    """The planted fault: equation (28) of kulkarni2022 in plain float64 is not a number where ours is fine."""
    z, mean, sd, low, high, epsilon = 0.3, 0.5, 200.0, -5, 5, 10.0
    width = high - low
    with np.errstate(all="ignore"):
        from scipy.special import erf

        at = [(epsilon * sd**2 + width * (mean - x)) / (math.sqrt(2) * width * sd) for x in (low, z)]
        printed = np.exp((epsilon * sd / width) ** 2 / 2) * (erf(at[0]) - erf(at[1]))
    assert not np.isfinite(printed)


@pytest.mark.parametrize("case", EXPONENTIAL, ids=str)
def test_exponential_reports_have_the_reference_density_and_slope(case):
    z, rate, high, epsilon, value, by_rate = case
    found, slopes = gradient(lambda r: exponential_report(z, r, high=high, scale=high / epsilon), rate)
    assert found == pytest.approx(value, rel=1e-14)
    assert slopes[0] == pytest.approx(by_rate, rel=1e-12)


def test_exponential_reports_pass_smoothly_through_rate_equal_to_noise():
    """Rates within 1e-15 of 1 / scale; the planted fault is the printed quotient, which loses digits there."""
    z, high, scale = 1.3, 5.0, 5.0
    rates = 0.2 * (1 + np.array([-1e-9, -1e-12, -1e-15, 0, 1e-15, 1e-12, 1e-9]))
    with float64():
        values = np.array([float(exponential_report(z, r, high=high, scale=scale)) for r in rates])
    at_the_point = -2.6974672898961165
    np.testing.assert_allclose(values, at_the_point + (rates - 0.2) * 1.0040509819538963, rtol=1e-14)
    quotient = (np.exp(-rates[4] * z) - np.exp(-z / scale)) / (1 / scale - rates[4]) * rates[4]
    assert abs(quotient / (rates[4] * z * math.exp(-0.2 * z)) - 1) > 1e-3


def normal_case(mean, sd):
    return lambda z, scale: normal_report(z, mean, sd, low=-1.0, high=1.0, scale=scale), (-1.0, 1.0), mean


def exponential_case(rate):
    return lambda z, scale: exponential_report(z, rate, high=1.0, scale=scale), (0.0, 1.0), 0.0


def counts_case(weights):
    return lambda z, scale: lattice_report(z, jnp.asarray(weights), high=1.0, scale=scale), (0.0, 1.0), 0.0


@pytest.mark.parametrize("scale", [0.05, 0.5, 20.0])
@pytest.mark.parametrize(
    "case",
    [
        normal_case(0.2, 0.01),
        normal_case(0.99, 0.3),
        normal_case(-0.5, 200.0),
        normal_case(4.0, 1.0),
        exponential_case(1e-3),
        exponential_case(2.0),
        exponential_case(500.0),
        counts_case(np.array([0.1, 0.2, 0.3, 0.05, 0.35])),
        counts_case(np.eye(8)[7]),
    ],
)
def test_densities_of_reports_integrate_to_one(case, scale):
    """By adaptive quadrature inside the bounds and the closed exponential tails outside, to 1e-9."""
    density, (low, high), centre = case
    narrow = centre + 0.005 * np.arange(-16, 17)
    edges = np.unique(np.clip([*np.linspace(low, high, 57), *narrow], low, high))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    z = edges[:-1, None] + np.diff(edges)[:, None] * (1 + nodes) / 2
    with float64():

        def log_density(z):
            return density(z, scale)

        inside = np.sum(np.exp(np.asarray(log_density(z))) @ weights * np.diff(edges) / 2)
        ends = [math.exp(float(log_density(jnp.float64(end)))) for end in (low, high)]
        assert inside + scale * sum(ends) == pytest.approx(1, abs=1e-9)
        beyond = float(log_density(jnp.float64(high + 3 * scale)))
        assert beyond == pytest.approx(math.log(ends[1]) - 3, rel=1e-12)


@pytest.mark.parametrize("scale", [0.1, 1.0, 40.0])
@pytest.mark.parametrize(("mean", "sd"), [(0.1, 0.01), (0.5, 0.05), (-1.2, 0.3), (0.0, 1.0), (2.0, 5.0), (0.3, 200.0)])
def test_slopes_of_the_normal_density_match_finite_differences(mean, sd, scale):
    """At 41 places of z in one sum, with weights of seed 5; relative steps of 1e-3 and fourth order: to 1e-7."""
    z = np.linspace(-1, 1, 41)
    weights = np.random.default_rng(5).normal(size=41)

    def total(m, s):
        return jnp.sum(weights * normal_report(z, m, s, low=-1.0, high=1.0, scale=scale))

    _, slopes = gradient(total, mean, sd)
    for index, step in enumerate((1e-3 * sd, 1e-3 * sd)):
        assert slopes[index] == pytest.approx(central_difference(total, (mean, sd), index, step), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("scale", [0.1, 1.0, 40.0])
@pytest.mark.parametrize("rate", [1e-3, 0.1, 0.999, 1.0, 1.001, 10.0, 400.0])
def test_the_slope_of_the_exponential_density_matches_finite_differences(rate, scale):
    """As above, to 1e-7 and what rounding does to a difference; rate = 1 / scale is among the cases."""
    z = np.linspace(0, 1, 41)
    weights = np.random.default_rng(5).normal(size=41)

    def total(r):
        return jnp.sum(weights * exponential_report(z, r, high=1.0, scale=scale))

    _, slopes = gradient(total, rate)
    assert slopes[0] == pytest.approx(central_difference(total, (rate,), 0, 1e-3 * rate), rel=1e-7, abs=3e-7)


def test_counts_are_summed_over_the_lattice():
    """Against the plain sum over all counts, 1,001 places of z and 37 counts; seed 6."""
    rng = np.random.default_rng(6)
    weights = rng.dirichlet(np.full(38, 0.3))
    z = np.concatenate([np.linspace(-1, 2, 1001), np.arange(38) / 37])
    with float64():
        found = np.asarray(lattice_report(z, jnp.asarray(weights), high=1.0, scale=0.03))
    plain = np.exp(-np.abs(z[:, None] - np.arange(38) / 37) / 0.03) @ weights / 0.06
    np.testing.assert_allclose(found, np.log(plain), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 800.0])
def test_randomized_response_by_its_definition(epsilon):
    """The truth has e^epsilon times the chance of any other; probabilities add up to 1. Two items: the binary case."""
    for theta in (np.array([0.3, 0.7]), np.array([0.0, 0.2, 0.5, 0.3])):
        k = len(theta)
        a = math.exp(-epsilon)
        matrix = (np.full((k, k), a) + (1 - a) * np.eye(k)) / (1 + (k - 1) * a)
        with float64(), np.errstate(divide="ignore"):
            np.testing.assert_allclose(response_report(jnp.asarray(theta), epsilon), np.log(matrix @ theta), rtol=1e-13)


@pytest.mark.parametrize(("theta", "epsilon", "bits", "value"), UNARY)
def test_unary_encoding_has_the_reference_probability(theta, epsilon, bits, value):
    share = float(np.dot(theta, bits))
    with float64():
        found = float(unary_report(jnp.float64(share), epsilon, ones=sum(bits), items=len(bits)))
    assert found == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("epsilon", [0.2, 2.0, 9.0])
def test_unary_encoding_sums_to_one_over_all_patterns(epsilon):
    """And equals the sum over items of the product over bits, pattern by pattern; seed 7."""
    k = 7
    theta = np.random.default_rng(7).dirichlet(np.ones(k))
    bits = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
    with float64():
        shares = unary_shares(jnp.asarray(theta))
        found = np.asarray(unary_report(shares, epsilon, ones=bits.sum(axis=1), items=k))
    np.testing.assert_allclose(shares, bits @ theta, rtol=1e-14)
    noise = 1 / (1 + math.exp(epsilon))
    others = np.where(bits, noise, 1 - noise)
    direct = sum(theta[j] * 0.5 * np.delete(others, j, axis=1).prod(axis=1) for j in range(k))
    np.testing.assert_allclose(np.exp(found), direct, rtol=1e-12)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-13)


def test_linear_regression_from_reports_has_the_reference_density():
    """With mean and intercept 0 the published value; with others the joint normal law, report by report; seed 8."""
    z = np.array([1.0, *POINT, 0.4])
    noise = np.diag([0.5, 0.6, 0.7, 0.8])
    with float64():
        found = linear_reports(np.outer(z, z), THETA, 0.0, np.zeros(3), COVARIANCE, jnp.float64(0.3), noise)
        assert float(found) == pytest.approx(-4.832465105605274, rel=1e-14)
        from scipy.stats import multivariate_normal

        reports = np.random.default_rng(8).normal(size=(50, 4))
        mean, intercept = np.array([0.2, -0.3, 0.1]), 0.7
        v = np.column_stack([np.ones(50), reports])
        found = linear_reports(v.T @ v, THETA, intercept, mean, COVARIANCE, jnp.float64(0.3), noise)
    cross = COVARIANCE @ THETA
    joint = np.block([[COVARIANCE, cross[:, None]], [cross[None], np.array([[THETA @ cross + 0.3]])]]) + noise
    law = multivariate_normal(np.append(mean, intercept + THETA @ mean), joint)
    assert float(found) == pytest.approx(law.logpdf(reports).sum(), rel=1e-13)


@pytest.mark.parametrize(("label", "epsilon", "value"), LOGISTIC)
def test_logistic_regression_from_reports_has_the_reference_density(label, epsilon, value):
    with float64():
        found = logistic_report(
            jnp.asarray(POINT[None]), jnp.array([label]), THETA, 0.0, np.zeros(3), COVARIANCE, NOISE, epsilon
        )
    assert float(found[0]) == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize(("mean", "sd", "value", "error"), EXPIT)
def test_the_mean_of_the_logistic_function(mean, sd, value, error):
    with float64():
        assert float(mean_expit(jnp.float64(mean), jnp.float64(sd**2))) == pytest.approx(value, rel=error, abs=0)


def test_logistic_slopes_are_finite_at_theta_zero_and_match_differences():
    """Seed 9: at theta = 0, where the spread of the predictor has no slope, and elsewhere, to 1e-8."""
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(20, 3)), rng.integers(0, 2, size=20)

    def total(*t):
        return jnp.sum(logistic_report(x, y, jnp.stack(t[:3]), t[3], np.zeros(3), COVARIANCE, NOISE, 1.0))

    for at in ((0.0, 0.0, 0.0, 0.0), (0.4, -1.0, 0.7, 0.2), (5.0, 3.0, -2.0, -1.0)):
        _, slopes = gradient(total, *at)
        differences = [central_difference(total, at, i, 1e-3) for i in range(4)]
        np.testing.assert_allclose(slopes, differences, rtol=1e-8, atol=1e-8)


def test_order_two_chebyshev_is_not_used():
    """The planted fault: the paper's straight line leaves [0, 1] where the mean of the logistic function does not."""
    with float64():
        assert 0 < float(mean_expit(jnp.float64(4.0), jnp.float64(0.01))) < 1
    assert 0.5 + 0.1684786 * 4.0 > 1


# ---------------------------------------------------------------------------------------------------------------------
# Summaries


def test_binning_keeps_the_number_and_the_mean_of_reports():
    """Seed 31: weights add up to N, are not negative, have the mean of the clamped reports; ends hold what is out."""
    reports = np.random.default_rng(31).laplace(size=5000) * 2
    weights = binned(reports, -1.0, 1.0, 65)
    grid = np.linspace(-1, 1, 65)
    inside = np.clip(reports, -1, 1)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(5000, abs=1e-9)
    assert weights @ grid == pytest.approx(inside.sum(), abs=1e-9)
    assert weights[0] >= np.sum(reports <= -1)
    assert weights[-1] >= np.sum(reports >= 1)
    np.testing.assert_array_equal(binned(grid, -1.0, 1.0, 65), 1.0)
    assert grid_nodes(20) == 4101
    assert (grid_nodes(7, least=50) - 1) % 7 == 0


NORMAL_RATIO = 2 * math.exp(0.5)
COUNTS = np.array([0.05, 0.2, 0.3, 0.0, 0.25, 0.1, 0.1])
BINNED = {
    "normal": ((0.3, 0.4), lambda z, b: normal_report(z, 0.3, 0.4, low=-1.0, high=1.0, scale=b), -1.0),
    "narrow normal": ((0.3, 0.02), lambda z, b: normal_report(z, 0.3, 0.02, low=-1.0, high=1.0, scale=b), -1.0),
    "wide normal": ((0.9, 5.0), lambda z, b: normal_report(z, 0.9, 5.0, low=-1.0, high=1.0, scale=b), -1.0),
    "exponential": (6.0, lambda z, b: exponential_report(z, 6.0, high=1.0, scale=b), 0.0),
    "counts": (None, lambda z, b: lattice_report(z, COUNTS, high=1.0, scale=b), 0.0),
}


def clamped_values(name, n, rng):
    parameters = BINNED[name][0]
    if name == "counts":
        return rng.choice(7, size=n, p=COUNTS) / 6
    if name == "exponential":
        return np.minimum(rng.exponential(1 / parameters, n), 1)
    return np.clip(rng.normal(*parameters, n), -1, 1)


@pytest.mark.parametrize("scale", [0.1, 0.5, 4.0])
@pytest.mark.parametrize("name", BINNED)
def test_binning_errs_by_no_more_than_it_says(name, scale):
    """Seed 32: 4,000 reports on few nodes; both bounds hold, and on a grid ten times as coarse they are broken.

    The bound in the mean is a bound on an expectation: 1.2 times it is allowed, and its standard error is below 2%.
    """
    parameters, density, low = BINNED[name]
    nodes, n = 61, 4000
    reports = clamped_values(name, n, rng := np.random.default_rng(32)) + rng.laplace(size=n) * scale
    step = (1 - low) / (nodes - 1)
    ratio = 1.0
    if name == "exponential":
        ratio = 2 * (1 + scale * parameters)
    elif name != "counts":
        ratio = max(1.0, NORMAL_RATIO / -math.expm1(-parameters[1] / scale))
    with float64():
        exact = np.asarray(density(jnp.clip(reports, low, 1.0), scale))
        errors = []
        for number in (nodes, (nodes - 1) // 10 + 1):
            grid = np.linspace(low, 1.0, number)
            chords = np.interp(np.clip(reports, low, 1.0), grid, np.asarray(density(jnp.asarray(grid), scale)))
            errors.append(chords - exact)
        total = binned(reports, low, 1.0, nodes) @ np.asarray(density(jnp.linspace(low, 1.0, nodes), scale))
    assert total == pytest.approx(exact.sum() + errors[0].sum(), abs=1e-8)
    bound = step**2 / (8 * scale**2)
    assert np.abs(errors[0]).max() <= bound * ratio * (1 + 1e-9)
    assert np.abs(errors[0]).sum() <= 1.2 * n * 2 * bound
    assert np.abs(errors[1]).max() > bound * ratio


def test_patterns_are_counted_alike_in_every_form():
    """Seed 33: the table of all patterns, the distinct ones and the raw bits give the same log likelihood."""
    rng = np.random.default_rng(33)
    bits = (rng.random((3000, 6)) < 0.3).astype(np.uint8)
    theta = rng.dirichlet(np.ones(6))
    table = pattern_counts(bits)
    rows, counts = distinct_patterns(bits)
    assert table.sum() == counts.sum() == 3000
    assert len(rows) == np.count_nonzero(table)
    with float64():
        whole = table @ np.log1p(np.asarray(unary_shares(jnp.asarray(theta))))
    assert whole == pytest.approx(counts @ np.log1p(rows @ theta), rel=1e-13)
    assert whole == pytest.approx(np.log1p(bits @ theta).sum(), rel=1e-13)
    np.testing.assert_array_equal(response_counts(np.array([0, 2, 2]), 4), [1, 0, 2, 0])
    np.testing.assert_allclose(moment_sums([[1.0, 2.0], [3.0, 4.0]]), [[2, 4, 6], [4, 10, 14], [6, 14, 20]])
    with pytest.raises(InputError):
        pattern_counts(np.zeros((3, 17), np.uint8))


def expanded(expansion, theta):
    away = theta - expansion.centre
    quadratic = away @ expansion.slope + np.einsum("ni,ij,nj->n", away, expansion.curvature, away) / 2
    return quadratic, quadratic + np.einsum("ni,nj,nk,ijk->n", away, away, away, expansion.third, optimize=True) / 6


@pytest.mark.parametrize(("items", "n", "epsilon"), [(5, 3000, 1.0), (12, 2000, 0.5), (12, 20_000, 3.0)])
def test_the_expansion_of_unary_reports_is_as_good_as_it_says(items, n, epsilon):
    """Seed 34: over the normal law around the peak the log likelihood differs by no more than three times ``error``.

    Without its third order it is further off: the planted fault.
    """
    rng = np.random.default_rng(34)
    values = rng.choice(items, size=n, p=rng.dirichlet(np.ones(items)))
    bits = (rng.random((n, items)) < 1 / (1 + math.exp(epsilon))).astype(np.uint8)
    bits[np.arange(n), values] = rng.random(n) < 0.5
    rows, counts = distinct_patterns(bits)
    found = unary_expansion(rows, counts, epsilon)
    assert found.numbers.size == 2 * items + items**2 + items**3
    np.testing.assert_allclose(found.third, np.moveaxis(found.third, 0, 2), rtol=1e-5)
    basis = np.linalg.svd(np.ones((1, items)))[2][1:]
    precision = basis @ (np.diag(1 / found.centre**2) - found.curvature) @ basis.T
    theta = found.centre + rng.multivariate_normal(np.zeros(items - 1), np.linalg.inv(precision), size=4000) @ basis
    theta = theta[theta.min(axis=1) > 0]
    a = math.exp(-epsilon)
    exact = np.log(a + (1 - a) * (theta @ rows.T)) @ counts
    quadratic, cubic = expanded(found, theta)
    assert np.std(exact - cubic) < 3 * found.error
    assert np.std(exact - quadratic) > 1.5 * np.std(exact - cubic)
