"""The beta-divergence loss: its exact range, the beta and weight that a budget allows, and what a search finds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from tacit.errors import InputError
from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss
from tacit.mechanisms.posterior_sample.loss import DrawSettings
from tacit.mechanisms.posterior_sample.unclamped_rows import UnclampedRowMap
from tacit.mechanisms.targets import beta_densities as densities
from tacit.mechanisms.targets.bounded_density import BoundedDensity
from tacit.privacy.beta_divergence import (
    AnyDensity,
    LocationScale,
    Probabilities,
    SmoothedProbabilities,
    beta_for,
    default_beta,
    epsilon_of,
    floor_of,
    gaussian,
    weight_for,
)
from tacit.privacy.poisson_power_sums import power_sum
from tacit.privacy.poisson_range import PoissonLossRange
from tacit.runtime.backend import float64
from tacit.statistics.design import Sign, constant


@dataclass(frozen=True)
class StudentT(BoundedDensity):
    """A model of somebody's own: a t distribution with 4 degrees of freedom around theta'x, charged as any density."""

    scale_min: float

    @property
    def parameters(self):
        return (*self.coefficients, "scale")

    @property
    def loss_range(self):
        return AnyDensity(0.375 / self.scale_min)

    def log_density(self, theta, x, y):
        import jax.numpy as jnp

        scale = self.scale_min + jnp.exp(theta[-1])
        return math.log(0.375) - jnp.log(scale) - 2.5 * jnp.log1p(((y - x @ theta[:-1]) / scale) ** 2 / 4)

    def power_integral(self, theta, x, beta):
        import jax.numpy as jnp

        scale = self.scale_min + jnp.exp(theta[-1])
        tail = 2.5 * beta
        whole = 2 * math.sqrt(math.pi) * math.exp(math.lgamma(tail - 0.5) - math.lgamma(tail))
        return jnp.broadcast_to(0.375**beta * scale ** (1 - beta) * whole, (x.shape[0],))


@dataclass(frozen=True)
class Heteroscedastic(BoundedDensity):
    """A normal distribution whose standard deviation depends on x: sigma = sigma_min + exp(v + gamma'x)."""

    sigma_min: float

    @property
    def loss_range(self):
        return gaussian(self.sigma_min)

    def _sigma(self, theta, x):
        import jax.numpy as jnp

        return self.sigma_min + jnp.exp(jnp.clip(theta[-1] + x @ theta[2:4], -60, 20))

    def log_density(self, theta, x, y):
        import jax.numpy as jnp

        sigma = self._sigma(theta, x)
        return -(((y - x @ theta[:2]) / sigma) ** 2) / 2 - jnp.log(sigma) - math.log(2 * math.pi) / 2

    def power_integral(self, theta, x, beta):
        return (2 * math.pi * self._sigma(theta, x) ** 2) ** (-(beta - 1) / 2) / math.sqrt(beta)


BERNOULLI = densities.BernoulliDensity(("x",), 3.0)


def loss_of(density, theta, x, y, beta):
    """The loss of rows, by the code that a release runs."""
    import jax.numpy as jnp

    row_map = UnclampedRowMap((constant(),), Sign("y", "y"))
    loss = BetaLoss(row_map, DrawSettings(loss="beta-divergence", sampler="mcmc", gamma=1e-7), density)
    with float64():
        arrays = [jnp.asarray(np.asarray(v, float)) for v in (theta, x, y)]
        return np.asarray(loss.record_losses(*arrays, {"beta": beta, "weight": 1.0}))


# Reference values to 20 digits, computed with rational arithmetic and 40-digit quadrature.


@pytest.mark.parametrize(
    ("u", "y", "beta", "expected"),
    [
        (0.7, 1, 1.5, -1.1433021598487903451),
        (0.7, -1, 1.5, -0.66050998710849322896),
        (-3.0, 1, 1.3333333333, -0.37007994135765853419),
        (-40.0, -1, 1.2, -4.1666666666666666667),
        (0.0, 1, 21.0, -2.2706531343005952381e-9),
    ],
)
def test_the_loss_of_a_binary_label(u, y, beta, expected):
    assert loss_of(BERNOULLI, [u], [[1.0]], [y], beta)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("logits", "y", "beta", "expected"),
    [
        ((0.3, -1.2, 2.0), 2, 1.5, -1.2730003361635821556),
        ((0.3, -1.2, 2.0), 1, 1.5, 0.1701010598667171966),
        ((5.0, -5.0, 0.0, 1.0), 0, 3.0, -0.16636981926628531267),
    ],
)
def test_the_loss_of_one_of_several_classes(logits, y, beta, expected):
    density = densities.Softmax(("a",) * len(logits), 3.0, len(logits))
    assert loss_of(density, logits, [[1.0]], [y], beta)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("y", "mean", "sigma", "beta", "expected"),
    [
        (1.3, 0.2, 0.7, 1.5, -0.40344605502544661339),
        (10.0, 0.0, 1.0, 2.0, 0.14104739588693907174),
        (0.0, 0.0, 0.1, 1.3, -4.0265954356560843807),
    ],
)
def test_the_loss_of_a_normal_response(y, mean, sigma, beta, expected):
    density = densities.NormalDensity(("x",), 3.0, sigma / 2, 1.0, 1.0)
    assert loss_of(density, [mean, math.log(sigma / 2)], [[1.0]], [y], beta)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("y", "mu", "beta", "expected"),
    [
        (0, 0.5, 1.5, -1.1164452805462924515),
        (3, 2.7, 1.5, -0.66669614057749567399),
        (10, 4.0, 2.0, 0.066423414252005035251),
    ],
)
def test_the_loss_of_a_count(y, mu, beta, expected):
    density = densities.PoissonDensity(("x",), 3.0, "log")
    assert loss_of(density, [math.log(mu)], [[1.0]], [y], beta)[0] == pytest.approx(expected, abs=1e-9)


def test_for_two_classes_beta_2_and_twice_beta_3_differ_by_a_constant():
    for p, second, third in [(0.2, 0.14, 0.15333333333333333), (0.5, -0.25, -1 / 24), (0.93, -0.4951, -0.16421666666)]:
        u = [math.log(p / (1 - p))]
        assert loss_of(BERNOULLI, u, [[1.0]], [1], 2.0)[0] == pytest.approx(second, rel=1e-9)
        assert loss_of(BERNOULLI, u, [[1.0]], [1], 3.0)[0] == pytest.approx(third, rel=1e-9)


@pytest.mark.parametrize(
    ("beta", "expected"),
    [
        (1.1, 19.4455786687081),
        (1.2, 9.21260829126029),
        (1.4, 4.047135832727),
        (2.0, 1.44643085704176),
        (3.0, 0.740596485592859),
    ],
)
def test_a_count_moves_its_loss_by_less_than_a_probability_can(beta, expected):
    assert 1 <= epsilon_of(PoissonLossRange(), beta, 1.0) / expected <= 1 + 2e-6
    assert epsilon_of(PoissonLossRange(), beta, 1.0) < epsilon_of(Probabilities(), beta, 1.0)


def test_far_from_one_and_near_to_it_a_count_is_charged_as_a_probability():
    for beta in (1.0005, 30.0):
        assert PoissonLossRange().at(beta) == pytest.approx(1 / (beta - 1), rel=1e-9)


def test_the_sum_of_powers_falls_with_the_mean():
    means = np.geomspace(1e-4, 1e3, 200)
    for beta in (1.01, 1.5, 4.0):
        assert np.all(np.diff(power_sum(means, beta)) < 0)


def test_the_range_of_smoothed_probabilities():
    for least, classes, beta, expected in [
        (0.05, 2, 1.5, 1.5021452734618348),
        (0.1, 2, 2.0, 0.8),
        (0.025, 5, 1.5, 1.5811388300841897),
    ]:
        assert SmoothedProbabilities(least, classes).at(beta) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "sigma", "expected"),
    [
        (1.0, None, 3.0),
        (6.0, None, 1.3333333333333333333),
        (0.2, None, 11.0),
        (0.1, 1.0, 3.3364838949109981954),
        (5.0, 0.3, 1.4554486730340423494),
        (10.0, 0.1, 1.305009388261814384),
        (1.0, 3.0, 1.598221254375379049),
    ],
)
def test_beta_for_a_budget(epsilon, sigma, expected):
    loss_range = Probabilities() if sigma is None else gaussian(sigma)
    found = beta_for(loss_range, epsilon)
    assert found == pytest.approx(expected, rel=1e-10)
    assert epsilon_of(loss_range, found, 1.0) <= epsilon


@pytest.mark.parametrize("peak", [0.3, 0.99, 1.3, 4.0])
def test_beta_is_lamberts_function(peak):
    from scipy.special import lambertw

    m, weight = math.log(peak), 0.7
    for factor in (1.01, 1.5, 10.0):
        epsilon = factor * max(floor_of(LocationScale(peak), weight), 0.1)
        closed = 1 - lambertw(-2 * weight * m / epsilon).real / m
        assert beta_for(LocationScale(peak), epsilon, weight) == pytest.approx(closed, rel=1e-7)


def test_below_the_floor_the_refusal_says_what_would_reach_the_target():
    assert floor_of(gaussian(0.1), 1.0) == pytest.approx(7.5222826009706486742, rel=1e-10)
    assert floor_of(gaussian(0.5), 1.0) == 0
    with pytest.raises(InputError) as refusal:
        beta_for(gaussian(0.1), 1.0)
    text = str(refusal.value)
    assert "at least 7.523" in text
    assert "of at least 0.332" in text
    assert "at most 0.1329" in text
    beta_for(gaussian(0.332), 1.0)
    beta_for(gaussian(0.1), 1.0, 0.1329)
    for scale, weight in ((0.3319, 1.0), (0.1, 0.1331)):
        with pytest.raises(InputError):
            beta_for(gaussian(scale), 1.0, weight)


def test_published_calibration_by_prior_variance_is_off_by_this_much():
    """Solving with the prior's standard deviation, while sigma may go down to 0.1."""
    for sd, nominal, true in [
        (1.0, 0.2, 13.879667307308540633),
        (1.0, 1.0, 7.6913560251815401043),
        (3.0, 1.0, 7.649716314172856028),
        (1.0, 5.0, 10.041591794894882692),
    ]:
        assert epsilon_of(gaussian(0.1), beta_for(gaussian(sd), nominal), 1.0) == pytest.approx(true, rel=1e-9)


@pytest.mark.parametrize(
    "loss_range", [Probabilities(), PoissonLossRange(), gaussian(0.1), gaussian(2.0), AnyDensity(3.0)]
)
def test_the_weight_uses_the_budget_up_and_no_more(loss_range):
    for epsilon in (0.01, 1.0, 20.0):
        for beta in (1.2, default_beta(epsilon), 5.0):
            spent = epsilon_of(loss_range, beta, weight_for(loss_range, beta, epsilon))
            assert epsilon * (1 - 1e-10) <= spent <= epsilon


def test_the_default_beta():
    assert [default_beta(e) for e in (0.1, 1.0, 2.0, 4.0, 100.0)] == [3.0, 3.0, 2.0, 1.5, 1.5]


def test_a_shape_that_varies_with_x_breaks_the_papers_lemma_and_not_ours():
    """A normal and a Cauchy density with the same peak: true sensitivity over M^b, between Lemma 1 and `AnyDensity`."""
    for beta, true in [(1.2, 5.0960428537253576951), (1.5, 2.1199178723734297931), (2.0, 1.1035533905932737622)]:
        b = beta - 1
        cauchy = math.gamma(beta - 0.5) / (math.sqrt(math.pi) * math.gamma(beta))
        assert 1 / b + (beta**-0.5 - cauchy) / beta == pytest.approx(true, rel=1e-12)
        assert 1 / b < true < AnyDensity(1.0).at(beta)


def test_the_turning_point_of_any_density_is_its_minimum():
    for peak in (1.5, 4.0, 30.0):
        found = AnyDensity(peak)
        here = found.at(1 + found.turning)
        assert all(here <= found.at(1 + found.turning * factor) for factor in (0.5, 0.99, 1.01, 2.0))


CASES = {
    "logistic": (BERNOULLI, 2),
    "softmax": (densities.Softmax(("a",) * 8, 3.0, 4), 8),
    "poisson": (densities.PoissonDensity(("a", "b"), 3.0, "log"), 2),
    "softplus": (densities.PoissonDensity(("a", "b"), 3.0, "softplus"), 2),
    "normal": (densities.NormalDensity(("a", "b"), 3.0, 0.1, 1.0, 1.0), 3),
    "heteroscedastic": (Heteroscedastic(("a", "b"), 3.0, 0.1), 5),
    "student": (StudentT(("a", "b"), 3.0, 0.1), 3),
}


def responses(name, rng, records):
    if name == "logistic":
        return rng.choice([-1.0, 1.0], records)
    if name == "softmax":
        return rng.integers(0, 4, records).astype(float)
    return rng.poisson(1.0, records).astype(float) if name.startswith(("po", "so")) else rng.normal(0, 10, records)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("beta", [1.2, 1.5, 3.0])
def test_a_search_never_exceeds_the_range_and_comes_near_it(name, beta):
    """Seed 9. 200 records with 4,000 parameters each, with spreads over many orders of magnitude.

    Nothing random can make a right range fail: it is a proof. Every range but that of any density is tight, so a claim
    that is 0.1% too small would be caught.
    """
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(9)
    records, tries = 200, 4000
    density, size = CASES[name]
    x = rng.standard_normal((records, 2)) * 10 ** rng.uniform(-2, 3, (records, 1))
    y = responses(name, rng, records)
    theta = 10 ** rng.uniform(-2, 3, (tries, 1)) * rng.standard_normal((tries, size))
    if size in (3, 5):  # with a scale: small, and fitting some record exactly
        theta[:, 2:] *= 0.01
        theta[:, -1] = rng.uniform(-50, 3, tries)
        theta[:records, :2] = x * (y / np.square(x).sum(axis=1))[:, None]
    with float64():

        def losses(one):
            powers = jnp.exp((beta - 1) * density.log_density(one, jnp.asarray(x), jnp.asarray(y)))
            return -powers / (beta - 1) + density.power_integral(one, jnp.asarray(x), beta) / beta

        found = np.asarray(jax.lax.map(losses, jnp.asarray(theta), batch_size=500))
    assert np.isfinite(found).all()
    ranges = found.max(axis=0) - found.min(axis=0)
    limit = density.loss_range.at(beta)
    assert ranges.max() <= limit
    if name != "student":
        assert ranges.max() > 0.999 * limit


def test_a_prior_in_proportion_to_sigma_is_a_density_of_coefficients_and_v():
    """exp(-potential) is N(theta; 0, (3 sigma)^2 I) InvGamma(sigma^2; 1, .04) 2 sigma e^v up to one constant factor.

    Planted: the same without the factor sigma^-p of the normal densities is off by a factor that depends on sigma.
    """
    from scipy.stats import invgamma, norm

    density = densities.NormalOfSigma(("a", "b"), 3.0, 0.1, 1.0, 0.04)
    rng = np.random.default_rng(1)
    points = np.column_stack([rng.standard_normal((20, 2)), rng.uniform(-4, 2, 20)])
    sigma = 0.1 + np.exp(points[:, 2])
    exact = norm(0, 3 * sigma[:, None]).logpdf(points[:, :2]).sum(axis=1)
    exact += invgamma(1.0, scale=0.04).logpdf(sigma**2) + np.log(2 * sigma) + points[:, 2]
    with float64():
        off = exact + np.array([float(density.prior_potential(point)) for point in points])
    assert np.ptp(off) < 1e-10
    assert np.ptp(off + 2 * np.log(sigma)) > 1
