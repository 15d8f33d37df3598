"""Draws of a likelihood that is bounded in a ball: inside by construction, exact, without failures."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_expit

import tacit
from tacit.mechanisms.posterior_sample.registry import loss_for
from tacit.noise.entropy import OSEntropy
from tacit.private_samplers import ball_rejection
from tacit.private_samplers.ball_rejection import draw_in_ball, least_curvature


def regression(covariates):
    names = [f"x{j}" for j in range(covariates)]
    schema = tacit.Schema(y=["no", "yes"], **dict.fromkeys(names, (-1, 1)))
    return tacit.LogisticRegression("y ~ " + " + ".join(names)), schema


def attacked(covariates, label):
    """Nine rows at the centre with alternating labels, and one in a corner: few rows, many coefficients."""
    x, y = np.zeros((10, covariates + 1)), np.array([1.0, -1.0] * 5)
    x[:, 0], x[9], y[9] = 1.0, 1.0, label
    return SimpleNamespace(arrays=lambda: (x, y))


def attack_plan(covariates, bound):
    """The plan of a violation that was found: its chain began outside the ball, and released where it began."""
    said = {"loss": "bounded-log-likelihood", "gamma": 0.0, "prior": {"sd": 1 / 3}, "options": {"bound": bound}}
    model, schema = regression(covariates)
    plan = tacit.Plan(model, schema, tacit.PureDP(1.0), tacit.PosteriorSample(**said))
    return plan, lambda draws: loss_for(model, schema, tacit.PosteriorSample(**said, draws=draws))


def tables(covariates, rng):
    """Few rows, separated rows, rows without a message, one direction alone."""
    for n, kind in ((10, "few"), (300, "separated"), (300, "even"), (2000, "one direction")):
        x = rng.uniform(-1, 1, (n, covariates + 1))
        x[:, 0] = 1
        if kind == "one direction":
            x[:, 2:] = 0
        y = np.where(x[:, 1] > 0, 1.0, -1.0) if kind == "separated" else rng.choice([-1.0, 1.0], n)
        yield SimpleNamespace(arrays=lambda x=x, y=y: (x, y)), n


@pytest.mark.parametrize("bound", [0.5, 3.0])
@pytest.mark.parametrize("covariates", [3, 8, 12, 20])
def test_every_draw_lies_in_the_ball_that_its_proof_needs(covariates, bound):
    """Seed 1 for the tables, fresh entropy for draws. Before, 78% of draws lay outside at 8 covariates and bound 3 on
    the first table, and all of them at 12. What is released is rounded: half a step of the grid may be added.
    """
    plan, loss = attack_plan(covariates, bound)
    numbers, radius = dict(plan.calibrated_mechanism().noise_parameters.numbers), bound / math.sqrt(covariates + 1)
    found = [loss(100).draw(numbers, attacked(covariates, label), 10, OSEntropy()) for label in (-1.0, 1.0)]
    found += [loss(20).draw(numbers, rows, n, OSEntropy()) for rows, n in tables(covariates, np.random.default_rng(1))]
    for draws in found:
        assert all(draw is not None for draw in draws)
        assert np.linalg.norm(draws, axis=1).max() <= radius
    released = plan.calibrated_mechanism().cross(attacked(covariates, 1.0), 10, OSEntropy())
    assert (
        np.linalg.norm(np.array(released) / plan.calibrated_mechanism().unit)
        <= radius + math.sqrt(covariates + 1) / 2**21
    )
    assert plan.promise.basis is tacit.privacy.basis.Basis.PROVED


def test_no_point_of_the_ball_is_above_the_envelope():
    """Seed 2: 200 tables, sizes 1 to 12, bounds 0.1 to 8: at 500 points of the ball each, near its wall and in its
    middle, the envelope is above the density. Planted: curvatures 2% too large are caught, and so is a wall's
    multiplier with the wrong sign.
    """
    rng = np.random.default_rng(2)
    caught = {"curvature": 0, "kappa": 0}
    for _ in range(200):
        size, bound, n = int(rng.integers(1, 13)), 10 ** rng.uniform(-1, 0.9), int(rng.integers(1, 200))
        x = np.clip(rng.normal(size=(n, size)) * 10 ** rng.uniform(-1, 1), -1, 1)
        y = rng.choice([-1.0, 1.0], n) if rng.random() < 0.5 else np.where(x[:, 0] > 0, 1.0, -1.0)
        radius = bound / math.sqrt(size)
        density = ball_rejection._Density(x, y, rng.uniform(0.05, 1), 10 ** rng.uniform(-3, 1))
        found = ball_rejection._envelope(density, radius)
        points = rng.normal(size=(500, size))
        points *= radius * rng.uniform(0, 1, (500, 1)) ** (1 / rng.integers(1, size + 1))
        points *= np.minimum(1, radius / np.linalg.norm(points, axis=1, keepdims=True))
        delta = points - found.centre
        true = found.value - density.potentials(points)
        above = found.kappa / 2 * (radius**2 - np.sum(points**2, axis=1))
        linear, bowl = delta @ found.gradient, np.einsum("ij,jk,ik->i", delta, found.curvature, delta) / 2
        room = 1e-9 * (1 + np.abs(true))
        assert (true <= above - linear - bowl + room).all()
        caught["curvature"] += (true > above - linear - 1.02 * bowl + room).any()
        caught["kappa"] += (true > -above - linear - bowl + room).any()
    assert min(caught.values()) >= 20


def test_the_least_curvature_is_that_of_a_parabola_which_just_fits():
    """Seed 3: below the loss at all logits in reach; 1% more is not, at some of them."""
    rng = np.random.default_rng(3)
    reach = 10 ** rng.uniform(-2, 1.2, 2000)
    at = reach * rng.uniform(-1, 1, 2000)
    h = least_curvature(at, reach)
    grid = reach[:, None] * np.linspace(-1, 1, 401)
    apart = grid - at[:, None]
    rise = -log_expit(grid) + log_expit(at)[:, None] + apart / (1 + np.exp(at))[:, None]
    assert (rise - h[:, None] / 2 * apart**2 > -1e-12).all()
    wide = reach > 0.1
    over = (rise - 1.01 * h[:, None] / 2 * apart**2 < 0)[wide].any(axis=1)
    assert over.mean() > 0.99


@pytest.mark.parametrize(("n", "bound", "shift"), [(5, 0.7, 0.0), (60, 2.0, 0.0), (400, 1.5, 3.0)])
def test_draws_are_those_of_the_density_on_a_grid(n, bound, shift):
    """Seed 4 for the rows, fresh entropy: 4,000 draws of two coefficients, Kolmogorov-Smirnov on both and on their
    length, at 1e-6 each (3e-6 a case in false alarms). Planted: a density whose rows weigh 1.5 times is rejected where
    the rows say enough (n = 400).
    """
    rng = np.random.default_rng(4)
    x = np.stack([np.ones(n), rng.uniform(-1, 1, n)], axis=1)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-x @ np.array([0.5, 1.0 + shift]))), 1.0, -1.0)
    weight, precision, radius = 0.4, 0.16, bound / math.sqrt(2)
    given = {"weight": weight, "precision": precision, "radius": radius}
    found = draw_in_ball(x, y, **given, draws=4000, source=OSEntropy())
    assert found.shape == (4000, 2)

    def p_values(weight):
        axis = np.linspace(-radius, radius, 601)
        theta = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
        log = sum(weight * log_expit(label * (theta @ row)) for row, label in zip(x, y, strict=True))
        log = log - precision / 2 * np.sum(theta**2, axis=-1)
        length = np.linalg.norm(theta, axis=-1)
        mass = np.where(length <= radius, np.exp(log - log.max()), 0).ravel()
        for exact, drawn in (
            (theta[..., 0].ravel(), found[:, 0]),
            (theta[..., 1].ravel(), found[:, 1]),
            (length.ravel(), np.linalg.norm(found, axis=1)),
        ):
            edges = np.linspace(exact.min(), exact.max(), 301)
            shares, _ = np.histogram(exact, edges, weights=mass)
            cdf = np.concatenate([[0], np.cumsum(shares)]) / shares.sum()
            # The grid itself is off by about its step over the narrowest scale; 4,000 draws see 0.02.
            yield stats.kstest(drawn, lambda t, e=edges, c=cdf: np.interp(t, e, c)).pvalue

    assert min(p_values(weight)) > 1e-6
    if n == 400:
        assert min(p_values(1.5 * weight)) < 1e-6


def test_a_draw_that_may_never_come_is_refused_on_public_grounds():
    model, schema = regression(20)
    said = {"loss": "bounded-log-likelihood", "options": {"bound": 8.0}}
    with pytest.raises(tacit.InputError, match=r"bound=8.0 to be smaller for 21 coefficients"):
        tacit.Plan(model, schema, tacit.PureDP(1.0), tacit.PosteriorSample(**said))
    tacit.Plan(model, schema, tacit.PureDP(1.0), tacit.PosteriorSample(**said, sampler="rejection"))
    with pytest.raises(tacit.InputError, match="sampler='mcmc' to be rejection"):
        tacit.Plan(model, schema, tacit.PureDP(1.0), tacit.PosteriorSample(**said, sampler="mcmc"))


@pytest.mark.parametrize("sampler", ["rejection", "bounded"])
@pytest.mark.parametrize("kind", ["equal rows", "one row", "separated", "all zero"])
def test_no_table_makes_a_proved_sampler_fail(sampler, kind):
    """A failure would be released, and may be more probable under one table than under its neighbour: none is charged
    for, so none may happen. Tables on which a factorisation or a search could break, with a narrow and a wide prior.
    """
    model, schema = regression(3)
    rows = {
        "equal rows": np.ones((2000, 4)),
        "one row": np.ones((1, 4)),
        "separated": np.stack([np.ones(50), *[np.linspace(-1, 1, 50)] * 3], axis=1),
        "all zero": np.zeros((10, 4)),
    }[kind]
    y = np.where(rows[:, 1] >= 0, 1.0, -1.0)
    collected = SimpleNamespace(arrays=lambda: (rows, y))
    more = {} if sampler == "rejection" else {"loss": "bounded-log-likelihood", "options": {"bound": 3.0}}
    for sd in (1e-3, 1e3):
        loss = loss_for(model, schema, tacit.PosteriorSample(sampler="rejection", draws=3, prior={"sd": sd}, **more))
        found = loss.draw({"weight": 0.05, "precision": sd**-2}, collected, len(y), OSEntropy())
        assert all(draw is not None and np.isfinite(draw).all() for draw in found)


def test_a_matrix_that_rounding_leaves_without_a_cholesky_factor_is_factored():
    """Ones 10^6 times with a precision of 10^-12: rounding makes it indefinite. numpy alone raises, which was a failure
    that rows decided.
    """
    from tacit.private_samplers.rejection import envelope

    curvature = 1e6 * np.outer(*[np.array([1.0, 0.3, -0.7, 0.9])] * 2)
    curvature -= 1e-10 * np.eye(4)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(curvature + 1e-12 * np.eye(4))
    found = envelope(np.zeros(4), np.zeros(4), curvature, 1e-12, 1.0)
    points, heights = found.propose(100, OSEntropy())
    assert np.isfinite(points).all()
    assert not np.isnan(heights).any()


def certified(first, second):
    """The epsilon that two samples of one statistic show with 99.9% confidence.

    For each of 49 thresholds and both tails: ln of a lower Clopper-Pearson bound of the larger rate over an upper one
    of the smaller, each at level 0.001 / (2 * 98), so that all bounds hold together with probability 0.999.
    """
    level, draws = 0.001 / (2 * 98), len(first)
    best = -math.inf
    for cut in np.quantile(np.concatenate([first, second]), np.linspace(0.02, 0.98, 49)):
        for more, less in (((second > cut).sum(), (first > cut).sum()), ((first < cut).sum(), (second < cut).sum())):
            low = stats.beta.ppf(level, more, draws - more + 1) if more else 0.0
            high = stats.beta.ppf(1 - level, less + 1, draws - less)
            best = max(best, math.log(low / high) if low else -math.inf)
    return best


@pytest.mark.slow
def test_the_violation_that_was_found_is_gone():
    """Fresh entropy. 10,000 draws for each of two neighbours, statistic sum of the coefficients: the chain that began
    outside certified 1.53 (1.2 in other runs) at 99.9% where 1 was claimed. False alarms: at most 0.001.
    Planted: draws from outside the ball, the normal approximation that the chain began at, certify more than 1.
    """
    plan, loss = attack_plan(8, 0.5)
    numbers = dict(plan.calibrated_mechanism().noise_parameters.numbers)
    draws = [np.array(loss(10_000).draw(numbers, attacked(8, label), 10, OSEntropy())) for label in (-1.0, 1.0)]
    assert certified(*(d[:, 1:].sum(axis=1) for d in draws)) <= 1.0
    rng, starts = np.random.default_rng(5), []
    for label in (-1.0, 1.0):
        x, y = attacked(8, label).arrays()
        density = ball_rejection._Density(x, y, numbers["weight"], numbers["precision"])
        mode = density.minimum(0.0, np.zeros(9))
        starts.append(rng.multivariate_normal(mode, np.linalg.inv(density.hessian(mode)), 10_000)[:, 1:].sum(axis=1))
    assert certified(*starts) > 1.0


def test_curvatures_to_40_digits_on_both_sides():
    """Seed 7: 200 pairs of logits up to some hundred apart are within the 1e-9 that is allowed for. The planted fault,
    the difference as it stands below 0, says twice as much or more where little is left.
    """
    import mpmath as mp

    def loss(t):
        return mp.log1p(mp.exp(-t))

    rng, plain = np.random.default_rng(7), 0.0
    with mp.workdps(400):
        for _ in range(200):
            at = float(rng.normal() * 10 ** rng.uniform(-2, 1.5))
            end = at + float(rng.choice([-1, 1]) * 10 ** rng.uniform(-1.9, 1.5))
            rise = loss(mp.mpf(end)) - loss(mp.mpf(at)) + (mp.mpf(end) - mp.mpf(at)) / (1 + mp.exp(mp.mpf(at)))
            true = 2 * rise / (mp.mpf(end) - mp.mpf(at)) ** 2
            assert float(ball_rejection._mean_second(np.array(at), np.array(end)) / true) < 1 + 1e-10
            fall = np.exp(-np.logaddexp(0.0, at)) * (end - at)
            wrong = np.logaddexp(0.0, -end) - np.logaddexp(0.0, -at) + fall
            plain = max(plain, float(wrong / rise))
    assert plain > 2
