"""The posterior from noisy scores: the rows' own one where noise is little, the noise in it where it is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from tacit.models.score_data import layout, pack, warnings
from tacit.models.score_model import ScoreLink
from tacit.models.score_round import Round
from tacit.models.score_steps import next_point
from tacit.runtime.backend import float64, run
from tacit.runtime.chain import SamplerSettings
from tacit.samplers.score_chain import normal_laplace, score_chain
from tacit.samplers.score_curve import LINEAR, curve_of

LINK = ScoreLink(kind="logistic", clamp=None)
PRIOR = (np.zeros(2), np.full(2, 10.0))


def _rows(n, rng):
    """The five-point column of whole numbers 1 to 5, mapped, and logit = 2.2 - 0.72 x."""
    five = rng.choice([1, 2, 3, 4, 5], n, p=[0.02, 0.05, 0.16, 0.35, 0.42])
    y = (rng.random(n) < 1 / (1 + np.exp(-(2.2 - 0.72 * five)))).astype(float)
    return np.column_stack([np.ones(n), (five - 3) / 2]), y


def _rounds(x, y, scale, rng, *, laplace=False):
    rounds, values, point = [], [], (0.0, 0.0)
    draw = rng.laplace if laplace else rng.normal
    for matrix in (True, False, False, True):
        mean = 1 / (1 + np.exp(-x @ np.array(point)))
        J = (x * (mean * (1 - mean))[:, None]).T @ x
        own = [(y - mean) @ x + draw(0, scale, 2)]
        if matrix:
            own.append(J[np.triu_indices(2)] + draw(0, scale, 3) * ([1, 1, 1] if laplace else [1, 0.5**0.5, 1]))
        rounds.append(Round(point, matrix, scale, scale if matrix else 0.0, laplace))
        values.append(np.concatenate(own))
        point = next_point(rounds, values, len(x), LINK)
    return rounds, values


def _own(x, y):
    theta = np.zeros(2)
    for _ in range(30):
        mean = 1 / (1 + np.exp(-x @ theta))
        J = (x * (mean * (1 - mean))[:, None]).T @ x
        theta = theta + np.linalg.solve(J, (y - mean) @ x)
    return theta, np.sqrt(np.diag(np.linalg.inv(J)))


def _posteriors(scales, *, pooled=False, seed=0, n=50_000):
    rng = np.random.default_rng(seed)
    x, y = _rows(n, rng)
    made = [_rounds(x, y, scale, rng) for scale in scales]
    packed = np.array([pack([(*one, n)], LINK, PRIOR, pooled=pooled) for one in made])
    chain = score_chain((layout(made[0][0]),), LINEAR if pooled else curve_of("logistic"), SamplerSettings(200, 400))
    draws, info = run(chain, packed, chains=1, seed=3)
    return {name: np.asarray(value)[:, 0] for name, value in draws.items()}, info, _own(x, y)


def _agrees(theta, own, sd):
    """Whether mean and sd of nearly noiseless posteriors are the rows' own.

    400 draws: the mean of 8 chains is known to 0.03 sd if draws are worth half.
    """
    near = np.all(np.abs(theta.mean((0, 1)) - own) < 0.1 * sd)
    return near, np.all(np.abs(theta.std(1).mean(0) / sd - 1) < 0.1)


@pytest.mark.slow
def test_five_points_come_out_right_with_and_without_noise():
    """Seed 0. 24 releases under noise of 30 (epsilon about 1), then 8 nearly without any.

    False alarms below 1e-4: coverage of 24 of the rows' own estimate for two coefficients at least 40 of 48 if it is at
    least 95%. The planted fault is in the slow test below.
    """
    draws, info, (own, sd) = _posteriors([30.0] * 24 + [1e-4] * 8)
    assert not np.any(info["diverging"])
    low, high = np.quantile(draws["theta"][:24], [0.025, 0.975], axis=1)
    assert np.sum((low < own) & (own < high)) >= 40
    assert all(_agrees(draws["theta"][24:], own, sd))
    assert np.all(np.abs(own[1] / 2 + 0.72) < 0.05)
    assert not warnings(draws["reach"][0], draws["misfit"][0], 14)


@pytest.mark.slow
def test_a_forged_score_is_noticed():
    rng = np.random.default_rng(5)
    x, y = _rows(5000, rng)
    rounds, values = _rounds(x, y, 3.0, rng)
    values[-1][0] += 300.0
    chain = score_chain((layout(rounds),), curve_of("logistic"), SamplerSettings(200, 400))
    draws, _ = run(chain, np.array([pack([(rounds, values, 5000)], LINK, PRIOR)] * 32), chains=1, seed=0)
    found = {name: np.asarray(value)[0, 0] for name, value in draws.items()}
    assert any("standard deviations" in line for line in warnings(found["reach"], found["misfit"], 14))


@pytest.mark.parametrize("ratio", [0.1, 1.0, 29.0, 31.0])
def test_laplace_plus_normal_noise_has_the_density_of_the_sum(ratio):
    b, s = 2.0, 2.0 * ratio

    def exact(r):
        def inner(e):
            return np.exp(-abs(r - e) / b - e * e / (2 * s * s)) / (2 * b * s * np.sqrt(2 * np.pi))

        return quad(inner, -9 * s, 9 * s, points=[0.0, max(min(r, 9 * s), -9 * s)], limit=400)[0]

    with float64():
        for r in (0.0, 0.3, 4.0, 20.0 + s):
            assert float(normal_laplace(r, b, s)) == pytest.approx(np.log(exact(r)), abs=2e-3)


@pytest.mark.slow
def test_pooling_rounds_without_discount_is_wrong():
    """The planted fault, on the same releases: it must fail both checks that the method passes.

    Nearly without noise the rounds contradict each other, so its chains hardly move: an sd near 0, at the wrong place.
    """
    draws, _, (own, sd) = _posteriors([30.0] * 24 + [1e-4] * 8, pooled=True)
    assert not any(_agrees(draws["theta"][24:], own, sd))


@pytest.mark.slow
def test_laplace_noise_sites_and_releases_of_the_same_rows_agree_with_the_rows():
    """Seed 8: two sites under little Laplace noise, one of them released twice: the estimate of all rows."""
    rng = np.random.default_rng(8)
    tables = [_rows(5000, rng), _rows(5000, rng)]
    made = [_rounds(*tables[0], 0.01, rng, laplace=True), _rounds(*tables[1], 0.01, rng, laplace=True)]
    again = _rounds(*tables[1], 0.02, rng, laplace=True)
    second = (made[1][0] + again[0], made[1][1] + again[1])
    sites = [(*made[0], 5000), (*second, 5000)]
    chain = score_chain(tuple(layout(one[0]) for one in sites), curve_of("logistic"), SamplerSettings(300, 600))
    draws, info = run(chain, np.array([pack(sites, LINK, PRIOR)]), chains=4, seed=0)
    own, sd = _own(np.concatenate([t[0] for t in tables]), np.concatenate([t[1] for t in tables]))
    theta = np.asarray(draws["theta"])[0]
    assert np.mean(info["diverging"]) < 0.01
    assert np.all(np.abs(theta.mean((0, 1)) - own) < 0.12 * sd)
    assert np.all(np.abs(theta.std((0, 1)) / sd - 1) < 0.1)
