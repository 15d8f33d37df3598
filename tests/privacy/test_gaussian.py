import itertools
import math

import pytest

from tacit.errors import InputError
from tacit.privacy import gaussian

# 20-digit values by bisection in 40-digit arithmetic: (epsilon, delta, sigma / sensitivity).
SIGMA = [
    (0.01, 1e-5, 243.78543767567802905),
    (0.1, 1e-5, 30.749566131977450239),
    (0.5, 1e-5, 7.0318266755824914427),
    (1.0, 1e-6, 4.224678889326835283),
    (2.0, 1e-5, 1.9938124456435366861),
    (5.0, 1e-6, 0.98004900030920990711),
    (50.0, 1e-8, 0.16902906109367017141),
    (0.5, 0.1, 1.5562878953734973273),
]
MU = [
    (0.1, 1e-5, 0.032520784056203910016),
    (0.5, 1e-5, 0.14221055866926122244),
    (1.0, 1e-5, 0.2680511232112942179),
    (5.0, 1e-5, 1.1212418238184088876),
    (10.0, 1e-5, 2.0004456204306324126),
    (20.0, 1e-5, 3.4477834468693953838),
    (0.5, 1e-6, 0.12410614903052813064),
    (1.0, 1e-6, 0.23670438066343570965),
    (2.0, 1e-6, 0.44833474039519277528),
    (10.0, 1e-6, 1.8481322057670841256),
    (20.0, 1e-6, 3.2353593068946385659),
]
DELTA = [
    (1.0, 1.0, 0.1269367375066439458),
    (0.5, 2.0, 9.4391686349472337585e-6),
    (0.1, 0.5, 6.8565824558387265598e-9),
    (0.03252, 0.1, 9.9970915598466459628e-6),
    (2.0, 0.0, 0.68268949213708589717),
]
EPSILON = [
    (1.0, 1e-5, 4.3771780956812246277),
    (0.5, 1e-6, 2.254084650219740935),
    (0.1, 1e-5, 0.34066936468432641075),
]
# ln delta in 300-digit arithmetic, at the corners of the range.
LOG_DELTA = [
    (0.0, 1e-6, -14.734449091168988558),
    (1e-9, 1e-6, -14.735702690234042305),
    (700.0, 100.0, 0.0),
    (700.0, 20.0, -317.45171546803448718),
    (700.0, 1.0, -244664.14610481549981),
    (0.16003578080063458, 0.004480179615103267, -651.39004646917787695),
]


def relative(value, reference):
    return abs(value / reference - 1)


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), SIGMA)
def test_sigma_agrees_with_the_reference_and_is_rounded_up(epsilon, delta, sigma):
    found = gaussian.sigma_over_sensitivity(epsilon, delta)
    assert relative(found, sigma) < 1e-9
    assert found >= sigma


@pytest.mark.parametrize(("epsilon", "delta", "mu"), MU)
def test_mu_agrees_with_the_reference_and_is_rounded_down(epsilon, delta, mu):
    found = gaussian.mu_for(epsilon, delta)
    assert relative(found, mu) < 1e-9
    assert found <= mu
    assert gaussian.delta(epsilon, found) <= delta


@pytest.mark.parametrize(("mu", "epsilon", "delta"), DELTA)
def test_delta_agrees_with_the_reference(mu, epsilon, delta):
    assert relative(gaussian.delta(epsilon, mu), delta) < 1e-12


@pytest.mark.parametrize(("mu", "delta", "epsilon"), EPSILON)
def test_epsilon_agrees_with_the_reference_and_is_rounded_up(mu, delta, epsilon):
    found = gaussian.epsilon_for(mu, delta)
    assert relative(found, epsilon) < 1e-9
    assert found >= epsilon
    assert gaussian.delta(found, mu) <= delta


@pytest.mark.parametrize(("epsilon", "mu", "log_delta"), LOG_DELTA)
def test_the_corners_of_the_range(epsilon, mu, log_delta):
    assert gaussian.log_delta(epsilon, mu) == pytest.approx(log_delta, rel=1e-14, abs=1e-300)


def test_the_branches_meet_without_a_step():
    """delta at the seams between the three ways to evaluate it, one float to either side."""
    for epsilon, mu in [(0.05, 0.1), (3.0, math.sqrt(4 / 7)), (4.0, 4.0), (0.0, 2.0), (1.5, 3.0), (0.31, 0.1)]:
        below, above = (gaussian.log_delta(epsilon, mu * factor) for factor in (1 - 1e-15, 1 + 1e-15))
        assert abs(below - above) < 1e-12 * max(1.0, abs(below))


def test_delta_is_between_0_and_1_and_monotone_over_the_whole_range():
    epsilons = [0.0] + [10 ** (i / 4) for i in range(-24, 12)] + [700.0]
    mus = [10 ** (i / 4) for i in range(-24, 9)]
    for epsilon in epsilons:
        values = [gaussian.log_delta(epsilon, mu) for mu in mus]
        assert all(math.isfinite(v) and v <= 0 for v in values)
        assert all(a <= b for a, b in itertools.pairwise(values))
    for mu in mus:
        values = [gaussian.log_delta(epsilon, mu) for epsilon in epsilons]
        assert all(a >= b for a, b in itertools.pairwise(values))


def test_epsilon_zero_is_the_total_variation_distance():
    for mu in (1e-6, 0.01, 1.0, 5.0):
        assert relative(gaussian.delta(0.0, mu), math.erf(mu / 2 / math.sqrt(2))) < 1e-13
        assert gaussian.epsilon_for(mu, math.erf(mu / 2 / math.sqrt(2)) * 1.001) == 0.0


@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 1.0, 50.0, 700.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-3, 0.999])
def test_the_inverses_never_break_their_promise(epsilon, delta):
    mu = gaussian.mu_for(epsilon, delta)
    assert gaussian.delta(epsilon, mu) <= delta
    assert gaussian.delta(epsilon, mu * (1 + 1e-9)) > delta
    assert gaussian.epsilon_for(mu, delta) <= epsilon * (1 + 1e-9) + 1e-9


def test_two_planted_faults_are_caught_by_the_reference():
    """The classical sigma = sqrt(2 ln(1.25/delta)) / epsilon under-noises at epsilon = 10; the plain difference of two
    normal tails loses digits where the two are close."""
    classical = math.sqrt(2 * math.log(1.25e6)) / 10
    assert gaussian.delta(10, 1 / classical) > 1e-6
    epsilon, mu, truth = 0.16003578080063458, 0.004480179615103267, math.exp(-651.39004646917787695)
    low, high = (0.5 * math.erfc((epsilon / mu + side * mu / 2) / math.sqrt(2)) for side in (-1, 1))
    assert relative(low - math.exp(epsilon) * high, truth) > 1e-10
    assert relative(gaussian.delta(epsilon, mu), truth) < 1e-12


def test_impossible_arguments_are_refused():
    for call in (
        lambda: gaussian.log_delta(-1, 1),
        lambda: gaussian.log_delta(math.nan, 1),
        lambda: gaussian.log_delta(1, 0),
        lambda: gaussian.log_delta(1, math.inf),
        lambda: gaussian.mu_for(1, 0),
        lambda: gaussian.mu_for(1, 1),
        lambda: gaussian.epsilon_for(1, 0),
        lambda: gaussian.epsilon_for(0, 0.1),
    ):
        with pytest.raises(InputError):
            call()
