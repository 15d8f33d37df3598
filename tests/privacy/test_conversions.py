import itertools
import math
from fractions import Fraction

import pytest

from tacit.errors import InputError
from tacit.privacy import conversions as convert
from tacit.privacy import gaussian

ORDERS = [1 + 1e-9, 1.01, 1.5, 2.0, 5.0, 32.0, 1e4, 1e8]
EPSILONS = [1e-8, 1e-3, 0.1, 1.0, 5.0, 50.0, 700.0]


def relative(value, reference):
    return abs(value / reference - 1)


# Reference values in 20 digits.
@pytest.mark.parametrize(
    ("order", "tau", "delta", "epsilon"),
    [
        (2.0, 0.5, 1e-5, 10.626631103850337801),
        (10.0, 0.5, 1e-5, 1.4180106367839717806),
        (32.0, 1.2, 1e-6, 1.5021150002391147813),
    ],
)
def test_renyi_to_epsilon(order, tau, delta, epsilon):
    assert relative(convert.renyi_to_epsilon(order, tau, delta), epsilon) < 1e-14
    assert relative(convert.renyi_to_delta(order, tau, epsilon), delta) < 1e-12


@pytest.mark.parametrize(
    ("order", "tau", "epsilon", "delta"),
    [(7.0, 0.8, 2.0, 0.000042296161190881778605), (20.0, 0.4, 1.0, 2.112328268740561943e-7)],
)
def test_renyi_to_delta(order, tau, epsilon, delta):
    assert relative(convert.renyi_to_delta(order, tau, epsilon), delta) < 1e-13


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon"),
    [
        (0.5, 1e-5, 4.728386984943314),
        (0.1, 1e-6, 2.141938928385474),
        (0.01, 1e-5, 0.5457255482740024),
        (2.0, 1e-8, 13.3861046488579),
    ],
)
def test_zcdp_finds_the_best_order(rho, delta, epsilon):
    found = convert.zcdp_to_epsilon(rho, delta)
    assert relative(found, epsilon) < 1e-13
    assert found < rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert relative(convert.zcdp_to_delta(rho, found), delta) < 1e-11


@pytest.mark.parametrize(
    ("epsilon", "order", "renyi", "rho"),
    [
        (0.1, 2.0, 0.0099585843949562239845, 0.0049958374957879972198),
        (1.0, 2.0, 0.73532566405551922471, 0.4621171572600097585),
        (1.0, 10.0, 0.96519314645384150975, 0.4621171572600097585),
    ],
)
def test_pure(epsilon, order, renyi, rho):
    assert relative(convert.pure_to_renyi(epsilon, order), renyi) < 1e-14
    assert relative(convert.pure_to_zcdp(epsilon), rho) < 1e-14


@pytest.mark.parametrize(
    ("epsilon", "order", "renyi"), [(1.0, 2.0, 0.6191236299985928834), (0.5, 8.0, 0.41026788176229153657)]
)
def test_continuous_laplace(epsilon, order, renyi):
    assert relative(convert.laplace_renyi(epsilon, order), renyi) < 1e-14


def test_approximate_sampler():
    """Total variation 1e-4; an L1 distance of 1e-4 is half of that."""
    assert relative(convert.approximate_sampler_delta(1.0, 1e-6, 1e-4), 0.00037282818284590452354) < 1e-14
    assert relative(convert.approximate_sampler_delta(1.0, 1e-6, 0.5e-4), 0.00018691409142295226177) < 1e-14
    assert convert.approximate_sampler_delta(1e9, 1e-6, 0) == 1e-6
    assert convert.approximate_sampler_delta(1e9, 1e-6, 1e-300) == 1.0
    # A distance too small for a float still counts when e^epsilon is large: 1e-400 e^900 is 7.33e-10.
    tiny = convert.approximate_sampler_delta(900.0, 0.0, Fraction(1, 10**400))
    assert relative(tiny, math.exp(900 - 400 * math.log(10))) < 1e-12


def test_the_gaussian_conversions():
    assert convert.gdp_to_zcdp(0.5) == 0.125
    assert convert.gdp_to_renyi(0.5, 8.0) == 1.0
    for mu in (0.1, 1.0, 3.0):
        for epsilon in (0.1, 1.0, 4.0):
            assert convert.zcdp_to_delta(convert.gdp_to_zcdp(mu), epsilon) >= gaussian.delta(epsilon, mu)


def randomised_response(epsilon):
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [(p, 1 / (1 + math.exp(epsilon))), (1 / (1 + math.exp(epsilon)), p)]


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 20.0])
def test_randomised_response_attains_the_pure_conversions(epsilon):
    pairs = randomised_response(epsilon)
    for order in (1.01, 1.5, 3.0, 20.0):
        exact = math.log(math.fsum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1)
        assert convert.pure_to_renyi(epsilon, order) == pytest.approx(exact, rel=1e-10, abs=1e-13)
        assert convert.pure_to_renyi(epsilon, order) <= order * convert.pure_to_zcdp(epsilon)
    divergence = math.fsum(p * math.log(p / q) for p, q in pairs)
    assert convert.pure_to_zcdp(epsilon) == pytest.approx(divergence, rel=1e-12)
    for share in (0.0, 0.3, 0.999):
        target = share * epsilon
        exact = math.fsum(max(0.0, p - math.exp(target) * q) for p, q in pairs)
        assert convert.pure_to_delta(epsilon, target) == pytest.approx(exact, rel=1e-9, abs=1e-15)
    # A smaller rho, such as the e + e^-e - 1 of continuous Laplace noise, is broken by randomised response.
    laplace_rho = epsilon + math.exp(-epsilon) - 1
    if epsilon >= 0.5:
        assert divergence > laplace_rho * 1.0001


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 1.001, 4.0, 30.0, 300.0, 710.0])
def test_the_gdp_of_a_pure_mechanism(epsilon):
    """Randomised response must have delta(target) <= that of N(0,1) against N(mu,1), with equality somewhere."""
    mu = convert.pure_to_gdp(epsilon)
    for i in range(51):
        target = 1.1 * epsilon * i / 50
        assert convert.pure_to_delta(epsilon, target) <= gaussian.delta(target, mu) * (1 + 1e-9)
    if 0.01 <= epsilon <= 30:
        # the planted fault: one part in a thousand less is broken near the corner of the trade-off curve
        excess = (
            convert.pure_to_delta(epsilon, epsilon * i / 2000) - gaussian.delta(epsilon * i / 2000, mu * 0.999)
            for i in range(2000)
        )
        assert max(excess) > 0


def brute_renyi(shift, scale, order, reach):
    """The Renyi divergence of discrete Laplace noise, by summing the law."""
    log_c = math.log(math.tanh(0.5 / scale))
    terms = (
        log_c - order * abs(k) / scale - (1 - order) * abs(k - shift) / scale for k in range(-reach, shift + reach + 1)
    )
    return math.log(math.fsum(math.exp(t) for t in terms)) / (order - 1)


@pytest.mark.parametrize("scale", [1, 2, 7])
@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 6.0, 40.0])
def test_discrete_laplace_is_the_exact_sum(scale, shift, order):
    exact = brute_renyi(shift, scale, order, reach=60 * scale)
    found = convert.discrete_laplace_renyi(shift / scale, order, scale)
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-13 / (order - 1))
    # The planted fault: the continuous curve is too small for discrete noise.
    assert convert.laplace_renyi(shift / scale, order) < exact * (1 - 1e-4)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_discrete_laplace_between_continuous_laplace_and_pure(order, epsilon):
    continuous = convert.laplace_renyi(epsilon, order)
    pure = convert.pure_to_renyi(epsilon, order)
    assert 0 < continuous <= pure * (1 + 1e-13) <= epsilon * (1 + 3e-13)
    grains = [1, 3, 100, 10**6, 10**12, 10**18, 2**120]
    values = [convert.discrete_laplace_renyi(epsilon, order, grain) for grain in grains]
    assert all(a >= b * (1 - 1e-13) for a, b in itertools.pairwise(values))  # A falls as the scale grows
    assert values[-1] == pytest.approx(continuous, rel=1e-13)
    for grain, value in zip(grains, values, strict=True):
        assert value >= continuous * (1 - 1e-13)
        if epsilon * grain >= 1:  # a shift of at least one lattice point
            assert value <= pure * (1 + 1e-13)


# Values of the formula in 120-digit arithmetic: (epsilon, order, grain, divergence).
@pytest.mark.parametrize(
    ("epsilon", "order", "grain", "renyi"),
    [
        (5e-6, 1 + 2**-30, 4, 5.1718416634733366159e-8),
        (1e-6, 1 + 2**-40, 10**18, 4.9999983333382970194e-13),
        (1.0, 1 + 2**-50, 1, 0.46211715726001010776),
        (1e-4, 1e6, 10**6, 0.000099306852782810450551),
        (0.3, 300.0, 50, 0.29771506001470052095),
    ],
)
def test_discrete_laplace_keeps_its_digits(epsilon, order, grain, renyi):
    assert relative(convert.discrete_laplace_renyi(epsilon, order, grain), renyi) < 1e-12


@pytest.mark.parametrize("order", [1.01, 2.0, 30.0])
@pytest.mark.parametrize("grain", [1, 5, 10**9])
def test_the_curve_is_superadditive(order, grain):
    """Why all of epsilon in one entry is the worst case."""
    shares = [0.01, 0.2, 0.5, 1.3, 4.0]
    for u in shares:
        for v in shares:
            apart = sum(convert.discrete_laplace_renyi(w, order, grain) for w in (u, v))
            assert apart <= convert.discrete_laplace_renyi(u + v, order, grain) * (1 + 1e-13)


def test_renyi_curves_grow_with_the_order_and_the_loss():
    for curve in (convert.pure_to_renyi, convert.laplace_renyi, lambda e, a: convert.discrete_laplace_renyi(e, a, 3)):
        table = [[curve(e, a) for a in ORDERS] for e in EPSILONS]
        for row in table:
            assert all(x <= y * (1 + 1e-13) for x, y in itertools.pairwise(row))
        for row, larger in itertools.pairwise(table):
            assert all(x < y for x, y in zip(row, larger, strict=True))


def test_a_single_point_of_a_curve():
    """Smaller orders never hurt, help where epsilon is below tau, and stay above a mechanism that has the point."""
    assert convert.renyi_point_to_delta(8.0, 0.5, 0.1) < convert.renyi_to_delta(8.0, 0.5, 0.1)
    assert convert.renyi_point_to_delta(8.0, 0.5, 2.0) <= convert.renyi_to_delta(8.0, 0.5, 2.0)
    mu, order = 0.6, 5.0
    tau = order * mu * mu / 2
    for epsilon in (0.0, 0.2, 1.0, 3.0):
        assert convert.renyi_point_to_delta(order, tau, epsilon) >= gaussian.delta(epsilon, mu)
    assert convert.renyi_point_to_delta(order, math.inf, 1.0) == 1.0


def test_clamps():
    assert convert.renyi_to_epsilon(2.0, 0.0, 0.9) == 0.0
    assert convert.renyi_to_delta(2.0, 100.0, 0.0) == 1.0
    assert convert.renyi_to_epsilon(2.0, math.inf, 0.1) == math.inf
    assert convert.pure_to_delta(1.0, 1.0) == 0.0
    assert convert.zcdp_to_epsilon(1e-12, 0.5) == 0.0


def test_a_gap_below_float_resolution_is_not_lost():
    epsilon = Fraction(1) + Fraction(1, 10**30)
    assert convert.pure_to_delta(epsilon, 1.0) == pytest.approx(1e-30 / (1 + math.exp(-1)), rel=1e-12)
    assert convert.pure_to_delta(float(epsilon), 1.0) == 0.0  # what floats would say
    huge = 1e15
    gap = convert.renyi_to_delta(huge, Fraction(1), Fraction(1) + Fraction(1, 10**15))
    assert gap == pytest.approx(math.exp(-2) / huge, rel=1e-9)


def test_impossible_arguments_are_refused():
    for call in (
        lambda: convert.renyi_to_epsilon(1.0, 1.0, 0.1),
        lambda: convert.renyi_to_epsilon(math.inf, 1.0, 0.1),
        lambda: convert.renyi_to_epsilon(2.0, -1.0, 0.1),
        lambda: convert.renyi_to_epsilon(2.0, 1.0, 0.0),
        lambda: convert.renyi_to_delta(2.0, math.nan, 0.1),
        lambda: convert.zcdp_to_epsilon(-0.1, 0.1),
        lambda: convert.zcdp_to_delta(0.1, math.inf),
        lambda: convert.pure_to_renyi(math.inf, 2.0),
        lambda: convert.discrete_laplace_renyi(1.0, 2.0, 0),
        lambda: convert.approximate_sampler_delta(1.0, 1.5, 0.1),
        lambda: convert.approximate_sampler_delta(1.0, 0.5, -0.1),
    ):
        with pytest.raises(InputError, match=r"^Expected "):
            call()
