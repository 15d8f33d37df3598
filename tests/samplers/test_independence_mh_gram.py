"""Linear regression by fresh noise, where the noise is small.

False alarms: 1e-4 for the calibration, 1e-6 for each comparison of means. Planted fault: weights that are all the same,
which is the release taken for flat in every entry.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

import tacit
from tacit.infer import _chain, check_settings, problem_of
from tacit.likelihoods.conjugate_gram import Centred, log_density
from tacit.models.gram_layout import noisy_grams
from tacit.runtime.backend import float64, run
from tacit.runtime.chain import Either
from tacit.samplers import independence_mh_gram as fresh_gram

PARAMETERS = {"theta": np.array([0.1, 0.3, -0.2]), "sigma": 0.15, "mu_x": np.full(2, 0.1), "Sigma_x": 0.06 * np.eye(2)}


def plan_of(budget=None, **options):
    schema = tacit.Schema(y=(-1, 1), a=(-1, 1), b=(-1, 1))
    return tacit.Plan(tacit.LinearRegression("y ~ a + b", **options), schema, budget or tacit.PureDP(1.0))


def setting(plan, n, seed=3):
    """The layout, the prior's numbers and what was released, in real units."""
    problem = problem_of(plan, None, n)
    release = tacit.simulate(plan, n=n, seed=seed, parameters=PARAMETERS).release
    unit = problem.released()[1]
    numbers = problem.prior.numbers(plan.model.design(plan.schema))
    return problem, noisy_grams(problem)[0], numbers, np.array([release.values], float) / unit


def test_the_law_of_the_gram_matrix_in_numpy_is_the_one_the_samplers_use():
    _, layout, prior, released = setting(plan_of(), 5_000)
    entries = released[0] + np.random.default_rng(2).normal(size=(6, released.shape[1])) * layout.sds
    with float64():
        expected = []
        for one in entries:
            sums, block = layout.matrix(one)
            factor = jax.numpy.linalg.cholesky(block - jax.numpy.outer(sums, sums) / layout.n)
            expected.append(float(log_density(Centred(sums, factor), layout.n, prior)))
    found = fresh_gram.log_prior(layout, prior, entries)
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], rtol=1e-7, atol=1e-6)


def test_it_is_chosen_for_many_rows_and_not_for_few_and_by_every_dataset_alone():
    for n, chosen in ((500, False), (50_000, True)):
        problem, _, _, released = setting(plan_of(), n)
        chain = _chain(problem, "wishart", check_settings(warmup=10, draws=10, chains=1, seed=0))
        assert isinstance(chain, Either)
        assert chain.suits(np.concatenate([released, 0 * released, released])).tolist() == [chosen, False, chosen]


def test_the_same_release_under_wider_noise_does_not_suit():
    _, layout, prior, released = setting(plan_of(), 50_000)
    assert fresh_gram.variance_of_log(layout, prior, released[0], layout.sds) < 1
    wide = replace(layout, noises=replace(layout.noises, spreads=60 * layout.noises.spreads))
    assert fresh_gram.variance_of_log(wide, prior, released[0], wide.sds) > 1


def test_many_columns_are_asked_by_draws_of_the_noise(monkeypatch):
    """The variance over 64 draws is that of entry by entry to within a factor; no Gram matrix at all does not suit."""
    _, layout, prior, released = setting(plan_of(), 50_000)
    by_entry = fresh_gram.variance_of_log(layout, prior, released[0], layout.sds)
    monkeypatch.setattr(fresh_gram, "_LARGEST", 0)
    drawn = fresh_gram.variance_of_log(layout, prior, released[0], layout.sds)
    assert by_entry / 3 < drawn < by_entry
    assert fresh_gram.variance_of_log(layout, prior, -released[0], layout.sds) == np.inf


def test_what_would_take_hours_is_refused_before_it_is_sampled(monkeypatch):
    monkeypatch.setattr(fresh_gram, "MOST_BY_NUTS", 2)
    few, many = (tacit.simulate(plan_of(), n=n, seed=n, parameters=PARAMETERS).release for n in (500, 50_000))
    with pytest.raises(tacit.RefusedError, match=r"need more than 500 rows at this budget.*--method naive"):
        tacit.infer(few, draws=50)
    with pytest.raises(tacit.InputError, match="to be at most 2 for several sites"):
        tacit.infer([few, many], disjoint=True, draws=50)
    problem, layout, prior, released = setting(plan_of(), 50_000)
    assert _chain(problem, "wishart", check_settings(warmup=10, draws=10, chains=1, seed=0)).suits(released).all()
    rows = fresh_gram.fewest_rows(layout, prior)
    assert 500 < rows <= 50_000
    assert fresh_gram.fewest_rows(layout, prior) == fresh_gram.fewest_rows(replace(layout, n=7.0), prior)


def test_sites_that_share_their_coefficients_go_to_nuts():
    plan = plan_of()
    releases = [tacit.simulate(plan, n=50_000, seed=seed, parameters=PARAMETERS).release for seed in (1, 2)]
    assert "n_steps" in tacit.infer(releases, disjoint=True, draws=50, anyway=True, warmup=50).tree.sample_stats
    assert "n_steps" not in tacit.infer(releases[0], draws=50, anyway=True, warmup=50).tree.sample_stats


@pytest.mark.parametrize("budget", [tacit.PureDP(1.0), tacit.ApproxDP(0.7, 1e-6)], ids=["laplace", "normal"])
def test_it_agrees_with_nuts_and_notices_weights_that_are_left_out(budget, monkeypatch):
    problem, layout, prior, released = setting(plan_of(budget), 2_000)  # most proposals are no Gram matrices
    settings = check_settings(warmup=300, draws=1_000, chains=4, seed=0)
    chain = _chain(problem, "wishart", settings)
    quick, sure = (run(one, released, chains=4, seed=5)[0] for one in (chain.quick, chain.sure))
    assert worst(quick, sure) < 6
    monkeypatch.setattr(fresh_gram, "log_density", lambda centred, *_: 0.0 * centred.factor[-1, -1])
    flat = run(fresh_gram.independence_mh_chain(layout, prior, settings), released, chains=4, seed=5)[0]
    assert worst(flat, sure) > 6


def test_a_release_of_fourth_moments_gives_it_the_entries_of_the_gram_matrix():
    plan = plan_of(moments=4)
    release = tacit.simulate(plan, n=200_000, seed=3, parameters=PARAMETERS).release
    found = tacit.infer(release, draws=200, warmup=50)
    assert "n_steps" not in found.tree.sample_stats
    apart = (found.draws("theta").reshape(-1, 3).mean(axis=0) - PARAMETERS["theta"]) / found.draws("theta").std((0, 1))
    assert np.abs(apart).max() < 6


def worst(one, other) -> float:
    """The largest difference of means and of log standard deviations, in standard errors of 800 effective draws."""
    found = []
    for name in ("theta", "sigma"):
        a, b = (np.asarray(draws[name]).reshape(4_000, -1) for draws in (one, other))
        error = np.sqrt(2 / 800)
        found += [*(np.abs(a.mean(0) - b.mean(0)) / (a.std(0) * error))]
        found += [*(np.abs(np.log(a.std(0) / b.std(0))) / (error * 1.5))]
    return max(map(float, found))


def study(n):
    plan = tacit.Plan(tacit.LinearRegression("y ~ a"), tacit.Schema(y=(-1, 1), a=(-1, 1)), tacit.PureDP(1.0))
    prior = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "kappa0": 20.0, "nu0": 32.0, "lambda0": (20.0, 5.0)}
    found = tacit.calibrate(plan, n=n, trials=300, seed=7, prior=prior, non_private=False)
    assert "n_steps" not in found.diagnostics
    return min(found.p_values().values()) * len(found.p_values())


def test_it_is_calibrated_and_without_its_weights_it_is_not(monkeypatch):
    assert study(20_000) > 1e-4
    monkeypatch.setattr(fresh_gram, "suits", lambda _layout, _prior, released: np.ones(len(released), bool))
    assert study(1_000) > 1e-4
    monkeypatch.setattr(fresh_gram, "log_density", lambda centred, *_: 0.0 * centred.factor[-1, -1])
    assert study(1_001) < 1e-4
