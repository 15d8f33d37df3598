"""Plans of posterior draws with the beta-divergence: what they say, what they refuse, and what they draw."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit
from tacit.errors import InputError
from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss
from tacit.mechanisms.posterior_sample.loss import DrawSettings
from tacit.mechanisms.posterior_sample.unclamped_rows import UnclampedRowMap
from tacit.mechanisms.targets import beta_densities as densities
from tacit.noise.entropy import OSEntropy
from tacit.privacy.beta_divergence import beta_for, gaussian
from tacit.statistics.design import Sign, constant

FREE = {"bounds": [-1, 1], "clamp": False}
MODELS = {
    "logistic": (tacit.LogisticRegression("y ~ a"), ["no", "yes"], {}),
    "softmax": (tacit.SoftmaxRegression("y ~ a"), ["p", "q", "r"], {}),
    "linear": (tacit.LinearRegression("y ~ a"), [-10, 10], {"sigma_min": 1.0}),
    "poisson-regression": (tacit.PoissonRegression("y ~ a"), [0, 20], {}),
}


def mechanism(options=None, **more):
    said = {"loss": "beta-divergence", "sampler": "mcmc", "gamma": 1e-9, "assume": "converged", **more}
    return tacit.PosteriorSample(options=options or {}, **said)


def plan_of(family, budget=None, options=None, **more):
    model, response, own = MODELS[family]
    schema = tacit.Schema(y=response, a=FREE)
    return tacit.Plan(model, schema, budget or tacit.ApproxDP(1.0, 1e-6), mechanism({**own, **(options or {})}, **more))


@pytest.mark.parametrize("family", MODELS)
def test_a_plan_is_priced_at_its_budget_and_reads_back(family):
    plan = plan_of(family)
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert 1.0 <= float(plan.event().event.epsilon()) <= 1.01  # delta leaves a little room; of itself it is not pure
    assert math.isinf(plan.event().epsilon())
    numbers = dict(plan.calibrated_mechanism().noise_parameters.numbers)
    assert numbers["beta"] == pytest.approx(3.0, rel=1e-2)
    assert "ideal arithmetic" in plan.calibrated_mechanism().assumes
    assert any("Markov chain" in sentence for sentence in plan.calibrated_mechanism().assumes)


@pytest.mark.parametrize("draws", [1, 4])
@pytest.mark.parametrize("budget", [tacit.ApproxDP(2.0, 1e-5), tacit.ApproxDP(1.0, 1e-6), tacit.ApproxDP(0.1, 1e-4)])
def test_every_budget_is_met_and_used_up(draws, budget):
    plan = plan_of("logistic", budget, draws=draws)
    event = plan.event()
    assert event.satisfies(budget)
    more = plan.calibrated_mechanism().loss.event(
        {k: v * (1.001 if k == "weight" else 1) for k, v in plan.calibrated_mechanism().drawn.numbers}
    )
    assert not more.satisfies(budget)


def test_beta_and_weight_by_choice():
    weighted = dict(plan_of("logistic", options={"weight": 1.0}).calibrated_mechanism().noise_parameters.numbers)
    assert weighted == {"beta": pytest.approx(3.0, rel=1e-2), "weight": 1.0}
    chosen = dict(plan_of("logistic", options={"beta": 1.5}).calibrated_mechanism().noise_parameters.numbers)
    assert chosen == {"beta": 1.5, "weight": pytest.approx(0.25, rel=1e-2)}
    both = dict(
        plan_of("logistic", options={"beta": 1.5, "weight": 0.1}).calibrated_mechanism().noise_parameters.numbers
    )
    assert both == {"beta": 1.5, "weight": 0.1}
    counted = dict(
        plan_of("poisson-regression", options={"weight": 1.0}).calibrated_mechanism().noise_parameters.numbers
    )
    assert counted["beta"] < 2.5  # a count moves its loss by less than 1/b, so a smaller beta is enough


@pytest.mark.parametrize(
    ("family", "options", "more", "says"),
    [
        ("logistic", {"beta": 1.0}, {}, "beta"),
        ("logistic", {"beta": 1.5, "weight": 1.0}, {}, "weight"),
        ("logistic", {"sigma": 1.0}, {}, "mechanism key"),
        ("logistic", {"density": "cauchy"}, {}, "density"),
        ("logistic", {}, {"tempering": "direct"}, "tempering"),
        ("logistic", {}, {"sampler": "rejection"}, "assume"),
        ("linear", {}, {"sampler": "rejection"}, "sampler"),
        ("logistic", {}, {"gamma": None}, "gamma"),
        ("logistic", {}, {"prior": {"scale": 1.0}}, "prior"),
        ("linear", {"weight": 1.0, "sigma_min": 0.5}, {}, "(sigma_min) of at least 3.3"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_row(family, options, more, says):
    with pytest.raises(InputError) as refusal:
        plan_of(family, None, options, **more)
    assert says in str(refusal.value)


def test_a_normal_model_must_say_its_smallest_sigma():
    with pytest.raises(InputError, match="sigma_min"):
        tacit.Plan(MODELS["linear"][0], tacit.Schema(y=[-10, 10], a=FREE), tacit.ApproxDP(1.0, 1e-6), mechanism())


def test_the_floor_of_a_plan_is_that_of_its_units():
    """sigma_min is in the units of the response; half the width of the bounds is one mapped unit."""
    numbers = dict(
        plan_of("linear", options={"weight": 1.0, "sigma_min": 5.0}).calibrated_mechanism().noise_parameters.numbers
    )
    assert numbers["beta"] == pytest.approx(beta_for(gaussian(0.5), 1.0), rel=1e-2)


def test_only_losses_that_need_no_bounds_take_numbers_that_are_not_clamped():
    schema = tacit.Schema(y=["no", "yes"], a=FREE)
    for other in (tacit.AddNoise(), tacit.PosteriorSample(loss="bounded-log-likelihood", options={"bound": 3.0})):
        with pytest.raises(InputError, match="clamp"):
            tacit.Plan(MODELS["logistic"][0], schema, tacit.ApproxDP(1.0, 1e-5), other)


def test_cells_of_any_kind_are_read_and_far_ones_keep_their_size():
    """Nothing that a cell holds can raise, and what is far out stays far out, up to 2^20 half-widths."""
    from tacit.boundary import collect
    from tacit.sources.open import open_source

    plan = plan_of("logistic")
    cells = [0.5, -3.0, 1e300, "words", None, float("nan"), float("inf"), "7", b"2", 1e5]
    source = open_source({"y": ["yes"] * 5 + ["no", "", None, 3, "yes"], "a": cells}, ("y", "a"), plan.schema)
    n, collected = collect(source, plan)
    x, y = collected.arrays()
    assert n == 10
    assert x[:, 1].tolist() == [0.5, -3.0, 2.0**20, 0.0, 0.0, 0.0, 0.0, 7.0, 2.0, 1e5]
    assert set(y.tolist()) <= {-1.0, 1.0}


def exact(density, x, y, beta, weight, grid):
    """The density of one coefficient on a grid."""
    own = 1 / (1 + np.exp(-np.clip(y * grid[:, None] * x.T, -700, 700)))
    losses = (own**beta + (1 - own) ** beta) / beta - own ** (beta - 1) / (beta - 1)
    logs = -weight * losses.sum(axis=1) - grid**2 / (2 * density.sd**2)
    return np.exp(logs - logs.max())


class Collected:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def arrays(self):
        return self.x, self.y


def draws_of(density, numbers, x, y, many):
    settings = DrawSettings(loss="beta-divergence", sampler="mcmc", gamma=1e-7, draws=many)
    loss = BetaLoss(UnclampedRowMap((constant(),), Sign("y", "y")), settings, density)
    return np.array(loss.draw(numbers, Collected(x, y), len(y), OSEntropy()))


@pytest.mark.parametrize(("beta", "weight"), [(1.5, 2.0), (3.0, 10.0)])
def test_draws_have_the_law_that_was_paid_for(beta, weight):
    """Fresh entropy, 200 draws, Kolmogorov-Smirnov at 1e-6. Planted: a third of the weight
    is another distribution, by more than 200 draws can hide.

    The rows pull both ways, so that the density is far from normal and, for the second, has two peaks.
    """
    from scipy.stats import kstest

    density = densities.BernoulliDensity(("a",), 3.0)
    x = np.array([[3.0], [2.0], [-0.5], [5.0], [-1.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    found = draws_of(density, {"beta": beta, "weight": weight}, x, y, 200)[:, 0]
    grid = np.linspace(-25, 25, 50_001)
    own, half = (exact(density, x, y, beta, w, grid) for w in (weight, weight / 3))
    assert kstest(found, lambda v: np.interp(v, grid, np.cumsum(own) / own.sum())).pvalue > 1e-6
    expected = np.cumsum(own) / own.sum()
    other = np.cumsum(half) / half.sum()
    assert np.max(np.abs(expected - other)) > 0.12  # so far that 200 draws tell them apart


def test_a_second_peak_is_found():
    """Fresh entropy, 150 draws. Two clusters of rows, 40 standard deviations apart: the share of draws at one of them.

    Binomial test at 1e-6 against the exact share by quadrature; planted: chains that stay where they start, at one
    peak, would have a share of 0 or 1.
    """
    from scipy.stats import binomtest

    density = densities.NormalDensity(("a",), 3.0, 0.1, 1.0, 0.04)
    x, y = np.ones((60, 1)), np.concatenate([np.full(31, -2.0), np.full(29, 2.0)])
    beta, weight = 1.5, 0.25
    found = draws_of(density, {"beta": beta, "weight": weight}, x, y, 150)
    means = np.linspace(-4, 4, 1601)
    v = np.linspace(-12, 4, 400)
    m, s = np.meshgrid(means, density.sigma_min + np.exp(v))
    height = (2 * math.pi * s**2) ** (-(beta - 1) / 2)
    losses = sum(
        k * height * (beta**-1.5 - np.exp(-(beta - 1) * ((at - m) / s) ** 2 / 2) / (beta - 1))
        for k, at in ((31, -2.0), (29, 2.0))
    )
    prior = m**2 / 18 + 4 * np.log(s) + density.scale / s**2 - np.log(s) - v[:, None]
    logs = -weight * losses - prior
    mass = np.exp(logs - logs.max())
    share = float(mass[:, means < 0].sum() / mass.sum())
    assert 0.05 < share < 0.95
    assert binomtest(int(np.sum(found[:, 0] < 0)), 150, share).pvalue > 1e-6


def test_coefficients_may_be_in_proportion_to_sigma():
    """In a plan of linear regression, in place of sd; a network and a logistic regression do not know it."""
    plan = plan_of("linear", tacit.ApproxDP(5.0, 1e-6), prior={"sd_per_sigma": 3.0})
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    density = plan.calibrated_mechanism().loss.density
    assert (type(density), density.sd) == (densities.NormalOfSigma, 3.0)
    with pytest.raises(tacit.InputError, match=r"prior sd=2\.0 to be left out beside sd_per_sigma"):
        plan_of("linear", tacit.ApproxDP(5.0, 1e-6), prior={"sd": 2.0, "sd_per_sigma": 3.0})
    with pytest.raises(tacit.InputError, match="Expected prior='sd_per_sigma' to be one of sd"):
        plan_of("logistic", tacit.ApproxDP(5.0, 1e-6), prior={"sd_per_sigma": 3.0})


def test_what_is_released_is_what_the_plan_names():
    """Fresh entropy. A row far out and rows that cannot be read change nothing about the form of a release."""
    plan = plan_of("linear", tacit.ApproxDP(5.0, 1e-6))
    rng = np.random.default_rng(3)
    a = rng.standard_normal(200)
    y = 2 * a + rng.standard_normal(200)
    a[0], y[1] = 1e12, math.nan
    release = tacit.privatize({"y": y, "a": a}, plan, ledger=None)
    assert release.entries == ("Intercept", "a", "sigma")
    assert tacit.Release.from_plain(release.to_plain()) == release
    found = tacit.released_draws(release)
    assert found.values[0, 2] >= 0.1
    assert abs(found.coefficients()["a"][0] - 2) < 1.5


def test_a_column_that_is_not_clamped_reads_back():
    for said in ({"bounds": [-1, 1], "clamp": False}, {"bounds": [0, 9], "missing": 2, "clamp": False}):
        schema = tacit.Schema(a=said)
        assert schema.to_plain() == {"a": said}
        assert tacit.Schema(schema.to_plain()) == schema
    assert tacit.Schema(a={"bounds": [0, 1], "clamp": True}).to_plain() == {"a": [0, 1]}
    for wrong in ({"bounds": [0, 1], "clamp": 1}, {"levels": ["a", "b"], "clamp": False}):
        with pytest.raises(InputError, match="clamp"):
            tacit.Schema(a=wrong)
