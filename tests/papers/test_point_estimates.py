"""Point estimates from reports: unbiased, projected exactly, and refusing what they are not for."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

import tacit
from comparisons.point_estimates import nearest_shares, unbiased_mean, unbiased_shares
from tacit.calibration.simulate import SeededEntropy
from tacit.errors import InputError
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.unary_encoding import UnaryEncoding

LEVELS, N = 4, 40_000
SHARES = np.array([0.55, 0.3, 0.15, 0.0])


def all_reports(kind, epsilon):
    protocol = kind(LEVELS, Fraction(epsilon))
    people = np.repeat(np.arange(LEVELS), np.rint(SHARES * N).astype(int))[:, None]
    return protocol, protocol.randomize(people, SeededEntropy(3))


def variances(kind, epsilon):
    """Of the estimate for fixed people: sums of independent coins, f N with probability p and the rest with q."""
    e = math.exp(epsilon)
    p, q = (e / (e + LEVELS - 1), 1 / (e + LEVELS - 1)) if kind is RandomizedResponse else (0.5, 1 / (1 + e))
    return (SHARES * p * (1 - p) + (1 - SHARES) * q * (1 - q)) / (N * (p - q) ** 2), p, q


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("kind", [RandomizedResponse, UnaryEncoding])
def test_shares_are_unbiased(kind, epsilon):
    """Seed 3. Within 5.5 exact standard deviations: 16 comparisons in all, false alarms below 1e-6. The printed
    estimator of unary encoding, with both probabilities exchanged, is caught, and so is one that takes q for 0.
    """
    protocol, reports = all_reports(kind, epsilon)
    variance, p, q = variances(kind, epsilon)
    allowed = 5.5 * np.sqrt(variance)
    found = unbiased_shares(protocol, reports)
    assert np.all(np.abs(found - SHARES) < allowed)
    named = found * (p - q) + q
    assert np.any(np.abs(named / p - SHARES) > allowed)
    if kind is UnaryEncoding:
        printed = (named - 0.5) / (1 - q - 0.5)
        assert np.all(np.abs(printed - (SHARES - 1)) < allowed)
        assert np.all(np.abs(printed - SHARES) > allowed)
    else:
        assert found.sum() == pytest.approx(1, abs=1e-12)


def test_the_mean_is_unbiased():
    """Seed 4. Within 5.5 standard deviations of the noise, false alarms below 1e-7; a mean that forgets the mapping to
    the column's bounds is caught.
    """
    plan = tacit.Plan(tacit.Normal("x"), tacit.Schema(x=(-3.0, 9.0)), tacit.PureDP(1.0), tacit.Local())
    client = plan.client()
    cells = np.linspace(-6, 9, N)
    reports = client.reports({"x": np.clip(cells, -3, 9)}, SeededEntropy(4))
    truth, allowed = np.clip(cells, -3, 9).mean(), 5.5 * math.sqrt(2) * 12 / math.sqrt(N)
    assert abs(unbiased_mean(client, reports) - truth) < allowed
    assert abs(unbiased_mean(client, reports) - (truth - 3)) > allowed


def test_projection_on_the_simplex_is_exact():
    """Seed 5. Against all supports (the exact optimum of the quadratic program) and against SLSQP."""
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.normal(0.3, 0.8, (60, 4)), [[0.25] * 4, [5, 0, 0, 0], [-9, -9, -9, -9], [1, 1, 0, 0]]])
    found = nearest_shares(points)
    assert np.all(found >= 0)
    assert np.abs(found.sum(axis=1) - 1).max() < 1e-12
    for v, w in zip(points, found, strict=True):
        best = math.inf
        for size in range(1, 5):
            for kept in itertools.combinations(range(4), size):
                own = np.zeros(4)
                own[list(kept)] = v[list(kept)] + (1 - v[list(kept)].sum()) / size
                if np.all(own >= 0):
                    best = min(best, float(((own - v) ** 2).sum()))
        assert ((w - v) ** 2).sum() == pytest.approx(best, abs=1e-12)
    for v, w in zip(points[:10], found[:10], strict=True):
        solved = minimize(
            lambda own, v=v: ((own - v) ** 2).sum(),
            np.full(4, 0.25),
            jac=lambda own, v=v: 2 * (own - v),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda own: own.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert np.abs(solved.x - w).max() < 1e-6
    clipped = np.maximum(points, 0) / np.maximum(points, 0).sum(axis=1, keepdims=True).clip(1e-9)
    assert np.abs(clipped - found).max() > 0.1  # cutting and rescaling is not the projection


def test_projection_leaves_shares_alone_and_takes_any_shape():
    shares = np.random.default_rng(6).dirichlet(np.ones(5), (3, 2))
    assert np.abs(nearest_shares(shares) - shares).max() < 1e-15
    assert nearest_shares([2.0]).tolist() == [1.0]


def test_refusals():
    number = NoisyNumber(0, 10, 5)
    with pytest.raises(InputError, match="protocol='noisy-number' to be one for levels"):
        unbiased_shares(number, np.zeros((3, 1), int))
    plan = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"]), tacit.PureDP(1.0), tacit.Local())
    with pytest.raises(InputError, match="to be one for a single number"):
        unbiased_mean(plan.client(), np.zeros((3, 1), int))
