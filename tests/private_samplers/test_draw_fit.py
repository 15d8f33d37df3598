"""Goodness of fit of every sampler with a proof, against quadrature; a sampler off by 5% of a standard deviation fails.

Fresh entropy. Every test of a sampler has a false-alarm rate of at most 1e-6: Kolmogorov-Smirnov and the mean of every
parameter, Bonferroni over all of them. 40,000 draws miss a shift of 5% with a probability below 1e-4.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats

import tacit
from tacit.audit.conjugate_laws import ConjugatePair
from tacit.audit.quadrature import quadrature
from tacit.audit.real_draws import _ks
from tacit.mechanisms.posterior_sample.loss import SAMPLERS
from tacit.mechanisms.posterior_sample.registry import loss_for
from tacit.models.conjugate import ConjugateModel
from tacit.models.registry import FAMILIES
from tacit.noise.entropy import OSEntropy
from tacit.privacy.basis import Basis

LEVEL = 1e-6
SCHEMA = tacit.Schema(y=["no", "yes"], a=(-1, 1), b=(-1, 1))
BALL = {"loss": "bounded-log-likelihood", "options": {"bound": 1.5}}
# sampler, formula, [mechanism], weight, precision
ROWS = {
    "rejection, 1": ("y ~ 0 + a", {"sampler": "rejection"}, 1.0, 0.5),
    "rejection, 2": ("y ~ a", {"sampler": "rejection"}, 0.8, 0.3),
    "langevin, 1": ("y ~ 0 + a", {"sampler": "langevin", "gamma": 0.2, "n": 8}, 0.5, 9.0),
    "ball, 1": ("y ~ 0 + a", BALL, 1.0, 0.2),
    "ball, 2": ("y ~ a", BALL, 1.0, 0.2),
}


def rows(covariates):
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (8, covariates))
    x[:, 0] = 1.0 if covariates > 1 else x[:, 0]
    return x, np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0])


def sampled(name, count):
    """The loss, its numbers, its rows, and ``count`` draws by its own sampler."""
    formula, said, weight, precision = ROWS[name]
    per_call = 10_000 if "langevin" not in name else 2_000  # a chain keeps 4,096 steps of noise
    settings = tacit.PosteriorSample(**said, draws=per_call)
    loss = loss_for(tacit.LogisticRegression(formula), SCHEMA, settings)
    assert SAMPLERS[loss.sampler] is Basis.PROVED
    numbers, table = {"weight": weight, "precision": precision}, rows(len(loss.parameters))
    made = SimpleNamespace(arrays=lambda: table)
    found = [loss.draw(numbers, made, 8, OSEntropy()) for _ in range(-(-count // per_call))]
    return loss, numbers, table, np.concatenate(found)[:count]


def p_value(law, draws):
    """Of the test that draws have this law: the least over Kolmogorov-Smirnov and the mean, times their number."""
    found = []
    for j in range(draws.shape[1]):
        places, cumulative = law.marginal(j)
        found.append(_ks(draws[:, j], draws[:, j], places, cumulative, slack=0.0))
        mass = law.mass.sum(axis=tuple(i for i in range(draws.shape[1]) if i != j))
        mean = float(mass @ places)
        variance = float(mass @ (places - mean) ** 2)
        found.append(math.erfc(abs(draws[:, j].mean() - mean) / math.sqrt(2 * variance / len(draws))))
    return min(1.0, len(found) * min(found))


def judged(name, count):
    loss, numbers, table, draws = sampled(name, count)
    law = quadrature(loss, numbers, table, np.zeros((1, len(loss.parameters))))
    assert np.isfinite(draws).all()
    assert p_value(law, draws) > LEVEL
    sd = draws.std(axis=0)
    for j in range(draws.shape[1]):  # the planted fault, in each parameter alone
        assert p_value(law, draws + 0.05 * sd * (np.arange(draws.shape[1]) == j)) < LEVEL
    return law, draws


@pytest.mark.parametrize("name", ROWS)
def test_a_proved_sampler_follows_its_density_and_a_small_shift_is_seen(name):
    """Langevin chains are judged as if they were exact: they are much nearer than the gamma that is proved."""
    judged(name, 40_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_every_proved_sampler_of_rows_follows_its_density(name):
    """100,000 draws: a standard deviation that is 5% too large is seen as well."""
    law, draws = judged(name, 100_000)
    wide = draws.mean(axis=0) + 1.05 * (draws - draws.mean(axis=0))
    assert p_value(law, wide) < LEVEL


@pytest.mark.parametrize("family", [name for name, kind in FAMILIES.items() if issubclass(kind, ConjugateModel)])
def test_exact_conjugate_draws_follow_their_density(family):
    """100,000 draws of each conjugate family, Kolmogorov-Smirnov on the number that tells two data sets apart."""
    example = FAMILIES[family].examples()[0]
    loss = loss_for(example.model, example.schema, tacit.PosteriorSample(n=8, draws=10_000))
    unit, numbers = loss.conjugacy.statistic.unit, {"weight": 0.7, "scale": 1.0}
    counts = [3.0, 2.0, *[1.0] * len(loss.parameters)][: len(loss.parameters)]
    sums = tuple(counts) if loss.conjugacy.kind == "dirichlet" else (3.0,)
    made = SimpleNamespace(totals=[int(one * unit) for one in sums])
    draws = np.concatenate([loss.draw(numbers, made, 8, OSEntropy()) for _ in range(10)])
    pair = ConjugatePair(loss, numbers, 8, sums, sums)
    law, telling = pair.laws()[0], pair.telling(draws)

    def p_of(values):
        return stats.kstest(law.uniform(values), "uniform").pvalue

    assert p_of(telling) > LEVEL
    assert p_of(telling + 0.05 * telling.std()) < LEVEL


def test_quadrature_of_a_normal_density_is_a_normal_distribution():
    """No rows that speak: the prior alone, whose cumulative function is known."""
    loss = loss_for(tacit.LogisticRegression("y ~ a"), SCHEMA, tacit.PosteriorSample())
    silent = np.zeros((3, 2)), np.array([1.0, -1.0, 1.0])
    law = quadrature(loss, {"weight": 1.0, "precision": 0.25}, silent, np.zeros((1, 2)))
    places, cumulative = law.marginal(1)
    assert np.max(np.abs(cumulative - special.ndtr(places / 2))) < 1e-3
    values, shares = law.of(law.points.sum(axis=1))
    assert np.max(np.abs(shares - special.ndtr(values / math.sqrt(8)))) < 2e-3
