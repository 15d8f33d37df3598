"""Rejection from the prior: exact for any model whose loss is bounded, at a cost that no table exceeds."""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.special import gammaincinv

import tacit
from tacit.mechanisms.posterior_sample.registry import loss_for
from tacit.mechanisms.targets.beta_densities import NormalDensity, NormalOfSigma
from tacit.privacy.beta_divergence import LossRange
from tacit.private_samplers import prior_rejection as rejection
from tacit.private_samplers.entropy_arrays import exponentials
from tacit.report.plan_text import explain
from tacit.runtime.backend import float64

FREE = {"bounds": [-1, 1], "clamp": False}
SCHEMA = tacit.Schema(ill=["no", "yes"], level=[-3, 3], kind=list("abc"), count=(0, 20), age=FREE, dose=FREE)
MODELS = {
    "logistic": (tacit.LogisticRegression("ill ~ age"), {}),
    "softmax": (tacit.SoftmaxRegression("kind ~ age"), {}),
    "linear": (tacit.LinearRegression("level ~ age"), {"options": {"sigma_min": 0.5}}),
    "counts": (tacit.PoissonRegression("count ~ age"), {}),
    "network": (tacit.Network("ill ~ age", hidden=2), {}),
}


class Seeded:
    """Bytes of a seeded generator in place of the system's; it counts them."""

    def __init__(self, seed):
        self.rng, self.taken = np.random.default_rng(seed), 0

    def bytes(self, count):
        self.taken += count
        return self.rng.bytes(count)


def loss_of(name, **said):
    model, more = MODELS[name]
    return loss_for(model, SCHEMA, tacit.PosteriorSample(loss="beta-divergence", sampler="rejection", **more, **said))


@pytest.mark.parametrize(("name", "beta"), [*((name, 3.0) for name in MODELS), ("linear", 1.3)])
def test_no_loss_lies_beyond_the_ends_and_both_are_approached(name, beta):
    """Seed 21: 200 rows of all sizes at 40 theta from very near to very far. The planted fault, ends that are a tenth
    nearer, is exceeded.
    """
    rng, loss = np.random.default_rng(21), replace(loss_of(name, n=5), power=beta)
    low, high = loss.density.loss_range.ends(beta)
    x = np.column_stack([np.ones(200), rng.normal(size=200) * 10 ** rng.uniform(-2, 6, 200)])
    x[:50, 1] = 0
    y = {"softmax": rng.integers(0, 3, 200), "counts": rng.integers(0, 20, 200) * (rng.random(200) < 0.5)}.get(
        name, rng.choice([-1.0, 1.0], 200)
    )
    thetas = 10 ** rng.uniform(-2, 3, (40, 1)) * rng.normal(size=(40, len(loss.parameters)))
    if name == "linear":
        thetas[:, 0], thetas[:, -1] = rng.choice([-1.0, 1.0], 40), rng.uniform(-30, 3, 40)
    with float64():
        program = jax.jit(jax.vmap(lambda theta: loss.record_losses(theta, x, y.astype(float), {})))
        found = np.asarray(program(thetas))
    least, most = np.min(found), np.max(found)
    assert low <= least + 1e-12
    assert most <= high + 1e-12
    assert least < low + 0.1 * (high - low)
    assert most > high - 0.1 * (high - low)


def test_draws_follow_the_density():
    """Seed 22: 20,000 draws of a coefficient and a sigma against sums over a grid, 15 cells along each; false alarm
    1e-6. The planted fault, an end that is no lower bound, lets too many be accepted and is rejected.
    """
    model, more = tacit.LinearRegression("level ~ 0 + age"), {"options": {"sigma_min": 2.4}}
    said = tacit.PosteriorSample(loss="beta-divergence", sampler="rejection", n=8, **more)
    loss = replace(loss_for(model, SCHEMA, said), power=2.0)
    rng = np.random.default_rng(22)
    x, y = rng.normal(size=(8, 1)), np.array([0.5, 0.6, -0.4, 0.9, 0.1, -0.7, 0.3, 0.8])
    numbers = {"beta": 2.0, "weight": 1.0}
    axes = np.linspace(-12, 12, 401), np.linspace(-14, 6, 401)
    slope, v = (side[..., None] for side in np.meshgrid(*axes, indexing="ij"))
    sigma = loss.density.sigma_min + np.exp(v)
    powers = np.exp(-(((y - slope * x[:, 0]) / sigma) ** 2) / 2) / (math.sqrt(2 * math.pi) * sigma)
    integral = (2 * math.pi * sigma**2) ** -0.5 / math.sqrt(2)
    # the prior of (slope, v) once more by hand: sigma^2 is inverse gamma, d sigma^2 / dv = 2 sigma e^v
    logs = -(slope**2) / (2 * loss.density.sd**2) - (2 * loss.density.shape + 1) * np.log(sigma)
    logs = (logs - loss.density.scale / sigma**2 + v)[..., 0] - (-powers + integral / 2).sum(axis=-1)
    mass = np.exp(logs - logs.max())

    def statistic(draws):
        worst = 0.0
        for j in (0, 1):
            share = mass.sum(axis=1 - j) / mass.sum()
            edges = np.interp(np.linspace(0, 1, 16)[1:-1], np.cumsum(share) - share / 2, axes[j])
            counts = np.bincount(np.searchsorted(edges, draws[:, j]), minlength=15)
            worst = max(worst, float(((counts - len(draws) / 15) ** 2).sum() / (len(draws) / 15)))
        return worst

    least, most = loss.density.loss_range.ends(2.0)
    made = {"prior": loss.density.prior_draws, "draws": 20_000}
    limit = 2 * float(gammaincinv(14 / 2, 1 - 5e-7))
    right = rejection.draw_from_prior(loss, numbers, x, y, ends=(least, most), **made, source=Seeded(22))
    assert statistic(right) < limit
    wrong = rejection.draw_from_prior(loss, numbers, x, y, ends=(least + 0.25, most), **made, source=Seeded(22))
    assert statistic(wrong) > limit


def test_coefficients_in_proportion_to_sigma_are_drawn_so():
    """Seed 24: under the potential of `NormalOfSigma` a coefficient over sigma has the standard deviation sd: tied to
    sigma it fails by more than ten standard errors.
    """
    density = NormalOfSigma(("a",), 2.0, 0.1, 1.5, 0.3)
    theta = density.prior_draws(20_000, Seeded(24))
    sigma = 0.1 + np.exp(theta[:, 1])
    assert density.draws_prior
    assert abs(np.mean((theta[:, 0] / sigma) ** 2) / 4 - 1) < 5 * math.sqrt(2 / 20_000)
    wrong = NormalDensity(("a",), 2.0, 0.1, 1.5, 0.3).prior_draws(20_000, Seeded(24))[:, 0]
    assert abs(np.mean((wrong / sigma) ** 2) / 4 - 1) > 10 * math.sqrt(2 / 20_000)
    edges = np.linspace(-2.5, 3, 12)
    fine = np.linspace(-2.5, 3, 2201)
    height = np.exp([-float(NormalDensity((), 2.0, 0.1, 1.5, 0.3).prior_potential(np.array([v]))) for v in fine[::20]])
    share = np.interp(fine, fine[::20], height)
    expected = np.histogram(fine, edges, weights=share)[0]
    found = np.histogram(theta[:, 1], edges)[0]
    apart = found - found.sum() * expected / expected.sum()
    assert float((apart**2 / found).sum()) < 2 * float(gammaincinv(10 / 2, 1 - 1e-6)) + 5


def test_no_table_takes_more_tries_than_the_plan_says():
    """Seed 23: half of the rows against the other half, all far out: 600 draws take no more tries a draw
    than three standard errors above what is said; rows that agree take fewer.
    """
    loss = replace(loss_of("logistic", n=12), power=3.0)
    numbers = {"beta": 3.0, "weight": 1.0}
    ends = loss.density.loss_range.ends(3.0)
    said = math.exp(rejection.log_tries(ends, 1.0, 12))
    x = np.column_stack([np.ones(12), np.full(12, 1e6)])
    taken = []
    for y in (np.where(np.arange(12) < 6, 1.0, -1.0), np.ones(12)):
        source, prior = Seeded(23), loss.density.prior_draws
        rejection.draw_from_prior(loss, numbers, x, y, ends=ends, prior=prior, draws=600, source=source)
        taken.append(source.taken / (8 * 3 * 600))
    assert taken[1] < 0.5 * taken[0]
    assert taken[0] < said * (1 + 3 / math.sqrt(600)) + 4096 / 600


@pytest.mark.parametrize("name", [name for name in MODELS if name != "logistic"])
def test_a_plan_about_few_rows_is_proved_pure_and_says_what_it_costs(name):
    model, more = MODELS[name]

    def plan(**said):
        drawing = tacit.PosteriorSample(loss="beta-divergence", sampler="rejection", **{"n": 16, **more, **said})
        return tacit.Plan(model, SCHEMA, tacit.PureDP(1.0), drawing)

    few = plan()
    assert few.promise.basis.value == "proved"
    assert 0.99 < few.event().epsilon() <= 1
    words = " ".join(explain(few))
    assert "The guarantee is proved" in words
    assert "rejection from the prior" in words
    assert "tries a draw are expected" in words
    with pytest.raises(tacit.InputError, match=r"n=1000 to be at most \d+ for sampler rejection") as refusal:
        plan(n=1000)
    most = int(str(refusal.value).split("at most ")[1].split()[0])
    plan(n=most)
    with pytest.raises(tacit.InputError, match=f"n={most + 1} to be at most {most} "):
        plan(n=most + 1)
    with pytest.raises(tacit.InputError, match="sampler='rejection' to be mcmc"):
        plan(n=None)
    with pytest.raises(tacit.InputError, match="assume"):
        plan(assume="converged")
    with pytest.raises(tacit.InputError, match=r"sd=1e\+200 to be a number from"):
        plan(prior={"sd": 1e200})


def test_a_prior_that_nobody_draws_from_and_a_range_without_ends_are_refused():
    """A density that changes its prior and not its draws would be drawn from wrongly."""

    class Narrow(NormalDensity):
        def prior_potential(self, theta):
            return 2 * super().prior_potential(theta)

    class Unknown(LossRange):
        def _at(self, beta):
            return 1.0

    assert not Narrow(("a",), 1.0, 0.5, 1.0, 1.0).draws_prior
    assert NormalDensity(("a",), 1.0, 0.5, 1.0, 1.0).draws_prior
    assert Unknown().ends(2.0) is None


@pytest.mark.parametrize(("factor", "kept"), [(1.0, True), (1.3, False)], ids=["as it is", "too much weight"])
def test_neighbouring_files_are_no_further_apart_than_a_draw_s_range(factor, kept, tmp_path, monkeypatch):
    """From two CSV files that differ in one row, 10,000 draws each of a network at a range of 1 a draw.

    The two log ratios of the share with an answer on one side lie in an interval of length 1. Five standard errors are
    allowed: a false alarm has a probability below 1e-6. A weight 1.3 times too large is caught.
    """
    count = 10_000
    drawing = tacit.PosteriorSample(loss="beta-divergence", sampler="rejection", draws=count, n=1, prior={"sd": 9.0})
    plan = tacit.Plan(tacit.Network("ill ~ dose", hidden=1), SCHEMA, tacit.PureDP(count), drawing)
    as_it_is = rejection.draw_from_prior

    def heavier(loss, numbers, *rows, **said):
        return as_it_is(loss, {**numbers, "weight": factor * numbers["weight"]}, *rows, **said)

    monkeypatch.setattr(rejection, "draw_from_prior", heavier)
    shares = []
    for answer in ("yes", "no"):
        file = tmp_path / f"{answer}.csv"
        file.write_text(f"ill,dose\n{answer},50\n")
        release = tacit.privatize(file, plan, ledger=None)
        theta = np.reshape(release.values, (count, 4)) / release.unit
        shares.append(np.mean(output_at(theta, 50.0) > 0))
    p, q = shares
    error = math.sqrt(sum((1 - s) / s + s / (1 - s) for s in shares) / count)
    found = math.log(p / q) + math.log((1 - q) / (1 - p))
    assert (found <= 1 + 5 * error) is kept
    assert found > 0.5


def test_a_row_for_which_a_theta_gives_no_number_does_not_rule_it_out():
    """Seed 25: half of the prior is beyond all floats, where 0 times a coefficient is no number. The shares of it that
    2,000 draws have from two neighbours stay within the charge; before, one was 0. Five standard errors are allowed.
    """
    loss, numbers = replace(loss_of("logistic", n=1), power=3.0), {"beta": 3.0, "weight": 1.0}
    ends = loss.density.loss_range.ends(3.0)

    def prior(count, source):
        return np.where(source.rng.random((count, 1)) < 0.5, np.inf, 0.0) * np.ones(2)

    odds = []
    for row in ([1.0, 1.0], [1.0, 0.0]):
        x, y = np.array([row]), np.ones(1)
        with float64():
            far = loss.record_losses(*map(jax.numpy.asarray, (np.full(2, np.inf), x, y)), {})
        assert bool(np.isnan(far[0])) is (row[1] == 0)
        said = {"ends": ends, "prior": prior, "draws": 2000, "source": Seeded(25)}
        share = np.mean(rejection.draw_from_prior(loss, numbers, x, y, **said)[:, 0] > 0)
        assert 0 < share < 1
        odds.append(math.log(share / (1 - share)))
    assert abs(odds[1] - odds[0]) < 2 * (ends[1] - ends[0]) + 5 * math.sqrt(8 / 2000)


def test_exponential_numbers_and_their_ends():
    """Seed 26: 200,000 exponential numbers, in 12 cells of equal probability (false alarm 1e-6), and the ends."""

    class Same:
        def __init__(self, byte):
            self.byte = byte

        def bytes(self, count):
            return self.byte * count

    assert float(exponentials((), Same(b"\xff"))) == 0.0
    assert float(exponentials((1,), Same(b"\x00"))[0]) == pytest.approx(65 * math.log(2))
    found = exponentials((200_000,), Seeded(26))
    counts = np.bincount(np.minimum((12 * np.exp(-found)).astype(int), 11), minlength=12)
    assert float(((counts - 200_000 / 12) ** 2).sum() / (200_000 / 12)) < 2 * float(gammaincinv(11 / 2, 1 - 1e-6))


def output_at(theta, dose):
    """The network's logit at a dose, of draws (count, 4)."""
    return theta[:, 2] * np.tanh(theta[:, 0] + dose * theta[:, 1]) + theta[:, 3]
