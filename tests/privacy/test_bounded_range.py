import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import mpmath as mp
import pytest

from tacit.errors import InputError
from tacit.privacy import bounded_range, conversions, gaussian
from tacit.privacy.events import BoundedRangeEvent, rounded_up

# 20-digit values: epsilon, {order: divergence}, least rho, mu, total variation, {target: delta}.
REFERENCE = [
    (
        0.1,
        {
            1.5: 0.0018745444479839944148,
            2: 0.0024989590272511708257,
            5: 0.0062318554682302123495,
            20: 0.023779679688865822152,
        },
        0.0012498264274598375031,
        0.062662905541003144907,
        {0.0: 0.024994792968420687323, 0.05: 0.0064058838197457135553},
    ),
    (
        0.5,
        {
            1.5: 0.046592908574909003416,
            2: 0.061859607240322742912,
            5: 0.14603535616037362407,
            20: 0.34015586744417980772,
        },
        0.031142092261155879588,
        0.31297949948162970291,
        {0.0: 0.12435300177159620805, 0.05: 0.10317376716917896378, 0.25: 0.035090352636193376627},
    ),
    (
        1.0,
        {1.5: 0.18311253868055191047, 2: 0.24022901391655504926, 5: 0.49920026693806148659, 20: 0.81517738651051004646},
        0.12330156148224453336,
        0.62389259209850819205,
        {0.0: 0.24491866240370912928, 0.05: 0.22617665020959602585, 0.25: 0.15469833055309968329},
    ),
    (
        5.0,
        {1.5: 3.1879697656233925825, 2: 3.6271363358583455184, 5: 4.3761871599834309848, 20: 4.7913924148701072331},
        2.4177196126479322231,
        2.8669904674765063727,
        {0.0: 0.84828363995751289761, 0.25: 0.82820310541052779129, 1.0: 0.7527168385791744449},
    ),
    (
        10.0,
        {1.5: 8.097308128778689211, 2: 8.6137964366785431105, 5: 9.3745083208173577771, 20: 9.7910389754759431242},
        6.6978235259556807045,
        4.9466784455956585928,
        {0.0: 0.98661429815143028888, 0.25: 0.98483281756675626633, 1.0: 0.97794981558054065812},
    ),
]


def relative(value, reference):
    return abs(value / reference - 1)


@pytest.mark.parametrize(("epsilon", "renyi", "rho", "mu", "deltas"), REFERENCE)
def test_agrees_with_the_reference(epsilon, renyi, rho, mu, deltas):
    for order, value in renyi.items():
        assert relative(bounded_range.renyi(epsilon, order), value) < 1e-13
    for target, value in deltas.items():
        assert relative(bounded_range.delta(epsilon, target), value) < 1e-13
    assert relative(bounded_range.delta(epsilon, 0), math.tanh(epsilon / 4)) < 1e-13
    assert relative(bounded_range.zcdp(epsilon), rho) < 1e-13
    assert relative(bounded_range.gdp_mu(epsilon), mu) < 1e-13
    assert bounded_range.simple_zcdp(Fraction(epsilon)) == Fraction(epsilon) ** 2 / 8


def two_point(epsilon, t):
    """The pair of the two-point lemma at offset t, as [(p, q), (1 - p, 1 - q)]."""
    q = (math.exp(-t) - math.exp(-epsilon)) / -math.expm1(-epsilon)
    p = q * math.exp(t)
    return [(p, q), (1 - p, 1 - q)]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_no_two_point_pair_costs_more_and_the_worst_one_costs_as_much(epsilon):
    pairs = [two_point(epsilon, epsilon * i / 1000) for i in range(1, 1000)]
    for order in (1.1, 2.0, 7.0):
        worst = max(math.log(sum(p**order * q ** (1 - order) for p, q in pair)) / (order - 1) for pair in pairs)
        price = bounded_range.renyi(epsilon, order)
        assert worst <= price * (1 + 1e-11)
        assert worst >= price * (1 - 1e-4)
        assert price <= order * bounded_range.zcdp(epsilon) * (1 + 1e-13)
        assert bounded_range.zcdp(epsilon) <= float(bounded_range.simple_zcdp(Fraction(epsilon)))
        assert price <= conversions.pure_to_renyi(epsilon, order)
        # The planted fault: the price of an (epsilon/2)-DP mechanism, tempting because the interval has half-length
        # epsilon/2, is too small.
        assert conversions.pure_to_renyi(epsilon / 2, order) < worst
    for target in (0.0, 0.3 * epsilon, 0.9 * epsilon):
        worst = max(sum(max(0.0, p - math.exp(target) * q) for p, q in pair) for pair in pairs)
        price = bounded_range.delta(epsilon, target)
        assert worst <= price * (1 + 1e-10)
        assert worst >= price * (1 - 1e-3)
        assert price <= conversions.pure_to_delta(epsilon, target)
        assert price <= gaussian.delta(target, bounded_range.gdp_mu(epsilon)) * (1 + 1e-9)


def test_a_smaller_rho_is_caught():
    """The planted fault: 0.99 of the least rho is broken at an order near 1."""
    for epsilon in (0.5, 2.0, 8.0):
        order = 1.001
        assert bounded_range.renyi(epsilon, order) > order * 0.99 * bounded_range.zcdp(epsilon)


def test_a_smaller_mu_is_caught():
    """The planted fault: 0.999 of the least mu is broken by the pair at t = e/2, at the epsilon of its own loss."""
    for epsilon in (0.1, 1.0, 5.0, 20.0):
        for t in (0.3 * epsilon, 0.5 * epsilon, 0.8 * epsilon):
            pair = two_point(epsilon, t)
            for target in (0.0, 0.1 * t, 0.5 * t, 0.99 * t):
                found = sum(max(0.0, p - math.exp(target) * q) for p, q in pair)
                assert found <= gaussian.delta(target, bounded_range.gdp_mu(epsilon)) * (1 + 1e-9)
        p, q = two_point(epsilon, epsilon / 2)[0]
        mu = 0.999 * bounded_range.gdp_mu(epsilon)
        # The level and power of the test "first outcome" lie below the curve of the smaller mu.
        assert p > NormalDist().cdf(NormalDist().inv_cdf(q) + mu)
        assert p <= NormalDist().cdf(NormalDist().inv_cdf(q) + bounded_range.gdp_mu(epsilon)) * (1 + 1e-9)


def test_each_step_of_the_proof_of_rho():
    """To 40 digits: the coefficients of G, that f' is concave and above its chord, and the sum that is integrated."""
    mp.mp.dps = 40
    for n in range(200):
        exact = Fraction(16**n - 4 * 4**n, 8 * math.factorial(2 * n)) if n else Fraction(0)
        exact += 2 if n == 2 else 0
        if n >= 2:
            exact += Fraction(4 ** (n - 2), math.factorial(2 * n - 4)) - Fraction(
                4 ** (n - 1), math.factorial(2 * n - 3)
            )
        said = Fraction(4**n, math.factorial(2 * n)) * (
            Fraction(4**n - 4, 8) + Fraction(2 * n * (2 * n - 1) * (2 * n - 2) * (2 * n - 7), 16)
        ) + (2 if n == 2 else 0)
        assert exact == (said if n else 0)
        assert exact == 0 if n < 4 else exact > 0

    def f(z):
        return mp.log(mp.sinh(z / 2) / (z / 2)) + z / 2 * mp.coth(z / 2) - 1

    def slope(z):
        y = z / 2
        return mp.coth(y) - 1 / (2 * y) - y / (2 * mp.sinh(y) ** 2)

    grid = [mp.mpf(10) ** (mp.mpf(i) / 8) for i in range(-16, 18)]
    for z in grid:
        assert abs(mp.diff(f, z) / slope(z) - 1) < mp.mpf(10) ** -15
        assert mp.diff(slope, z, 2) < 0
        assert f(z) >= z * slope(z) / 2
        assert relative(bounded_range.zcdp(float(z)), float(f(mp.mpf(float(z))))) < 1e-14
        for w in grid[::6]:
            assert f(z + w) - f(w) <= f(z) * (1 + 2 * w / z)


def test_each_step_of_the_proof_of_mu():
    """To 40 digits, on both sides of u = 1, where the two arguments meet; and h' itself."""
    mp.mp.dps = 40

    def density(u):
        return mp.exp(-u * u / 2) / mp.sqrt(2 * mp.pi)

    def tail(u):
        return mp.erfc(u / mp.sqrt(2)) / 2

    for i in range(1, 400):
        u = mp.mpf(i) / 40
        c = 1 - 2 * tail(u)
        assert c * density(u) > u * (1 - c * c) / 4
        if u <= 1:
            assert 1 - c * c <= mp.exp(-u * u / 2)
            assert c / u > mp.mpf("0.68") > mp.sqrt(2 * mp.pi) / 4
        if u >= 1:
            assert tail(u) < density(u) * (u * u + 2) / (u**3 + 3 * u)
            assert density(u) * (u + 3 / u) < mp.mpf("0.97")
            assert tail(u) * (u * u + 4) < 1
    for e in (mp.mpf("0.01"), mp.mpf(1), mp.mpf(6)):

        def mu(x, e=e):
            p, q = 1 / (1 + mp.exp(-x - e / 2)), 1 / (1 + mp.exp(-x + e / 2))
            return mp.sqrt(2) * (mp.erfinv(2 * p - 1) - mp.erfinv(2 * q - 1))

        assert relative(bounded_range.gdp_mu(float(e)), float(mu(mp.mpf(0)))) < 1e-13
        assert all(mu(mp.mpf(i) / 10) > mu(mp.mpf(i + 1) / 10) for i in range(60))


def test_what_was_charged_before_is_not_less():
    """rho was epsilon^2 / 8, and mu that of an epsilon-DP mechanism."""
    for i in range(-60, 17):
        epsilon = Fraction(10) ** i if i < 3 else Fraction(2) ** i
        event = BoundedRangeEvent(epsilon)
        assert rounded_up(event.rho()) <= epsilon**2 / 8
        assert event.mu() < conversions.pure_to_gdp(float(epsilon))
    assert conversions.pure_to_gdp(2.0) == pytest.approx(2.358, abs=1e-3)
    assert BoundedRangeEvent(2).mu() == pytest.approx(1.232, abs=1e-3)


def test_small_and_large_arguments_keep_their_digits():
    for epsilon in (1e-9, 1e-6, 1e-3):
        assert relative(bounded_range.renyi(epsilon, 2.0), epsilon**2 / 4) < epsilon**2 + 1e-15
        assert relative(bounded_range.zcdp(epsilon), epsilon**2 / 8 - epsilon**4 / 576) < 1e-12
        assert bounded_range.renyi(epsilon, 1 + 1e-9) == pytest.approx(epsilon**2 / 8, rel=1e-6)
    assert bounded_range.renyi(700.0, 1e9) == pytest.approx(700.0, rel=1e-9)
    assert bounded_range.renyi(1e-6, 1e12) == pytest.approx(1e-6, rel=1e-4)
    assert bounded_range.renyi(1e-6, 1e12) < 1e-6
    # The two ways of evaluating meet at min(epsilon, (order - 1) epsilon) = 2.
    for epsilon, order in ((2.0, 3.0), (2.0, 50.0), (10.0, 1.2)):
        below, above = (bounded_range.renyi(epsilon * factor, order) for factor in (1 - 1e-14, 1 + 1e-14))
        assert relative(below, above) < 1e-13


def test_the_curve_grows_with_the_order():
    orders = [1 + 10 ** (i / 4) for i in range(-32, 32)]
    for epsilon in (1e-4, 0.3, 3.0, 30.0):
        values = [bounded_range.renyi(epsilon, order) for order in orders]
        assert all(a <= b * (1 + 1e-13) for a, b in itertools.pairwise(values))
        assert values[-1] <= epsilon


def test_a_gap_below_float_resolution_is_not_lost():
    epsilon = Fraction(1) + Fraction(1, 10**20)
    assert bounded_range.delta(epsilon, 1.0) == pytest.approx(2.5e-41 / (1 - math.exp(-1)), rel=1e-12)
    assert bounded_range.delta(1.0, 1.0) == 0.0


def test_impossible_arguments_are_refused():
    for call in (
        lambda: bounded_range.delta(0.0, 0.0),
        lambda: bounded_range.delta(1.0, -0.1),
        lambda: bounded_range.renyi(1.0, 1.0),
        lambda: bounded_range.renyi(math.inf, 2.0),
        lambda: bounded_range.zcdp(-1.0),
        lambda: bounded_range.simple_zcdp(Fraction(-1)),
        lambda: bounded_range.gdp_mu(0.0),
    ):
        with pytest.raises(InputError, match=r"^Expected "):
            call()
