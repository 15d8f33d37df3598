"""Several releases, one posterior: sites that share the coefficients, and releases that share their rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.special import gammaln

import tacit
from tacit.release import sites_in_order

SCHEMA = tacit.Schema(y=(-1, 1), x=(-1, 1), group=["a", "b"])
NARROW = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "nu0": 30.0, "kappa0": 20.0, "lambda0": (20.0, 5.0)}


def _simulate(budget, n, seed, **parameters):
    plan = tacit.Plan(tacit.LinearRegression("y ~ x"), SCHEMA, budget)
    return tacit.simulate(plan, n=n, seed=seed, prior=NARROW, parameters=parameters or None)


def _parameters(mean):
    return {"theta": np.array([0.1, 0.4]), "sigma": 0.2, "mu_x": np.array([mean]), "Sigma_x": np.array([[0.05]])}


def _conjugate(simulations):
    """Mean and sd of theta, mean of sigma, from the exact sums of all rows together (bernstein2019, section 2.2)."""
    gram = np.zeros((3, 3))
    for simulation in simulations:
        statistic = simulation.release.plan.statistic()
        gram[0, 0] += simulation.release.n
        for place, value in zip(statistic.layout[0].values(), simulation.exact, strict=True):
            gram[place.j, place.k] += value / statistic.unit
    gram = np.triu(gram) + np.triu(gram, 1).T
    precision = gram[:2, :2] + np.diag(NARROW["lambda0"])
    theta = np.linalg.solve(precision, gram[:2, 2])
    a, b = NARROW["a0"] + gram[0, 0] / 2, NARROW["b0"] + (gram[2, 2] - theta @ precision @ theta) / 2
    return (
        theta,
        np.sqrt(b / (a - 1) * np.diagonal(np.linalg.inv(precision))),
        np.sqrt(b) * np.exp(gammaln(a - 0.5) - gammaln(a)),
    )


@pytest.mark.parametrize("method", ["wishart", pytest.param("cell-moments", marks=pytest.mark.slow), "naive"])
def test_with_hardly_any_noise_sites_pool_as_their_rows_would(method):
    """Seeds 1 and 2: two sites with different covariates against the conjugate posterior of all rows.

    4,000 draws, alarm at 6 standard errors with at least 1,000 effective draws (below 1e-8 a number). The planted
    fault, one site left out, is caught.
    """
    sites = [
        _simulate(tacit.PureDP(1e4), n, seed, **_parameters(mean)) for n, seed, mean in ((300, 1, 0.0), (500, 2, 0.3))
    ]
    posterior = tacit.infer([s.release for s in sites], disjoint=True, method=method, prior=NARROW)
    theta, sd, sigma = _conjugate(sites)
    assert np.all(np.abs(posterior.draws("theta").mean(axis=0) - theta) < 6 * sd / np.sqrt(1000))
    assert np.all(np.abs(posterior.draws("theta").std(axis=0) / sd - 1) < 0.15)
    assert abs(posterior.draws("sigma").mean() - sigma) < 6 * posterior.draws("sigma").std() / np.sqrt(1000)
    alone, _, _ = _conjugate(sites[:1])
    assert np.any(np.abs(posterior.draws("theta").mean(axis=0) - alone) > 6 * sd / np.sqrt(1000))
    assert "disjoint people" in posterior.assumes[0]
    if method != "cell-moments":
        means = posterior.draws("mu_x")
        assert means.shape == (4000, 2, 1)
        assert abs(means[:, 1].mean() - 0.3) < 0.1 < abs(means[:, 0].mean() - 0.3)
        assert list(posterior.tree["posterior"]["site"].values) == ["simulated-1", "simulated-2"]


def test_two_releases_of_the_same_rows_are_one_release_with_less_noise():
    """Two normal releases of sd s about the same rows are, taken together, one of their mean with sd s / sqrt 2.

    Seed 3; 4,000 draws of each, alarm at 6 standard errors with at least 1,000 effective draws. Planted fault: one
    of them forgotten.
    """
    first = _simulate(tacit.ZCDP(0.02), 400, 3)
    shift = [round(0.5 * s) for s in first.release.noise.scales]
    one, other = (
        dataclasses.replace(
            first.release,
            id=f"copy-{sign}",
            values=tuple(v + sign * d for v, d in zip(first.release.values, shift, strict=True)),
        )
        for sign in (1, -1)
    )
    joint = tacit.infer([one, other], same_rows=True, prior=NARROW)
    noise = dataclasses.replace(
        first.release.noise, scales=tuple(round(s / 2**0.5) for s in first.release.noise.scales)
    )
    both = dataclasses.replace(
        first.release,
        plan=dataclasses.replace(first.release.plan, budget=tacit.ZCDP(0.04 * (1 + 1e-6))),
        noise_parameters=noise,
    )
    single = tacit.infer(both, prior=NARROW)
    for name in ("theta", "sigma", "mu_x"):
        a, b = joint.draws(name), single.draws(name)
        error = np.sqrt(a.var(axis=0) / 1000 + b.var(axis=0) / 1000)
        assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 6 * error)
        assert np.all(np.abs(np.log(a.std(axis=0) / b.std(axis=0))) < 0.15)
    alone = tacit.infer(one, prior=NARROW)
    assert np.log(alone.draws("mu_x").std() / single.draws("mu_x").std()) > 0.15
    assert not joint.assumes


def test_a_count_released_twice_has_the_exact_posterior():
    """Seed 4: 4,000 exact draws against the posterior mean by enumeration, alarm at 5 standard errors (6e-7)."""
    plan = tacit.Plan(tacit.Bernoulli("group"), SCHEMA, tacit.PureDP(0.1))
    release = tacit.simulate(plan, n=50, seed=4, parameters={"theta": 0.4}).release
    other = dataclasses.replace(release, id="again", values=(release.values[0] + 7 * release.unit,))
    posterior = tacit.infer([release, other], same_rows=True)
    counts = np.arange(51)
    scale = release.noise.scales[0] / release.unit
    log_weights = -sum(np.abs(r.values[0] / r.unit - counts) / scale for r in (release, other))
    weights = np.exp(log_weights - log_weights.max())
    mean = np.sum(weights * (counts + 1) / 52) / weights.sum()
    one = np.exp(-np.abs(release.values[0] / release.unit - counts) / scale)
    draws = posterior.draws("theta")
    error = draws.std() / np.sqrt(4000)
    assert abs(draws.mean() - mean) < 5 * error
    assert abs(np.sum(one * (counts + 1) / 52) / one.sum() - mean) > 5 * error, "power: one release alone is elsewhere"


def test_what_cannot_be_pooled_is_refused(tmp_path):
    first, second = (_simulate(tacit.PureDP(1.0), 100, seed).release for seed in (5, 6))
    with pytest.raises(tacit.InputError, match="same_rows=True"):
        tacit.infer([first, dataclasses.replace(second, dataset=first.dataset)])
    with pytest.raises(tacit.InputError, match="given once"):
        tacit.infer([first, first], same_rows=True)
    with pytest.raises(tacit.InputError, match="same_rows to be left out"):
        tacit.infer([first, second], same_rows=True)
    with pytest.raises(tacit.InputError, match="the n and the unit of privacy"):
        tacit.infer([first, dataclasses.replace(second, dataset=first.dataset, n=101)], same_rows=True)
    other = tacit.Plan(tacit.LinearRegression("y ~ group"), SCHEMA, tacit.PureDP(1.0))
    with pytest.raises(tacit.InputError, match="the model and the schema"):
        tacit.infer([first, tacit.simulate(other, n=100, seed=7).release], disjoint=True)
    with pytest.raises(tacit.InputError, match="pools several datasets: wishart, cell-moments, naive"):
        tacit.infer([first, second], disjoint=True, method="gibbs-update")
    with pytest.raises(tacit.InputError, match="if nobody is in two of the 2 datasets"):
        tacit.infer([first, second])
    with pytest.raises(tacit.InputError, match="disjoint='yes'"):
        tacit.infer([first, second], disjoint="yes")
    derived = dataclasses.replace(first.plan, derive={"twice": "x * 2"})
    with pytest.raises(tacit.InputError, match="the model and the schema"):
        tacit.infer([first, dataclasses.replace(second, plan=derived)], disjoint=True)
    with pytest.raises(tacit.InputError, match="list of these"):
        tacit.infer([])
    with pytest.raises(tacit.InputError, match="same_rows"):
        tacit.infer([first, second], same_rows="yes")
    assert [len(site) for site in sites_in_order([first, second], same_rows=False)] == [1, 1]


def test_a_pooled_posterior_is_saved_read_and_shown(tmp_path):
    sites = [_simulate(tacit.PureDP(1.0), 200, seed, **_parameters(0.0)).release for seed in (8, 9)]
    paths = [release.save(tmp_path / f"{release.id}.json") for release in sites]
    posterior = tacit.infer(paths, disjoint=True, prior=NARROW, method="naive")
    again = tacit.Posterior.load(posterior.save(tmp_path / "posterior.nc"))
    assert again.releases == tuple(sites)
    with pytest.raises(tacit.InputError, match=r"posterior\.evidence"):
        _ = again.release
    page = tacit.report(again)
    assert "simulated-8" in page
    assert "simulated-9" in page
    assert "disjoint people" in page
    assert again.predict({"x": [0.0, 0.5]}).draws.shape == (4000, 2)


@pytest.mark.slow
def test_pooled_sites_are_calibrated():
    """Seed 10: 200 replicates of two sites with one theta; ranks of theta and sigma, level 1e-3 over all of them.

    Planted fault: the second site scored with a quarter of its noise.
    """
    from scipy.stats import kstest

    from tacit.infer import Problem, Site, posterior_arrays, prior_for
    from tacit.runtime.chain import SamplerSettings

    plan = tacit.Plan(tacit.LinearRegression("y ~ x"), SCHEMA, tacit.PureDP(0.5))
    prior = prior_for(plan.model, SCHEMA, NARROW)
    rng = np.random.default_rng(10)
    truths, values = [], []
    for trial in range(200):
        one, other = (plan.model.draw_parameters(prior, SCHEMA, rng) for _ in range(2))
        other |= {"theta": one["theta"], "sigma": one["sigma"]}
        pair = [
            tacit.simulate(plan, n=n, seed=2 * trial + i, parameters=p).release
            for i, (n, p) in enumerate(((60, one), (200, other)))
        ]
        truths.append([*one["theta"], one["sigma"]])
        values.append([*pair[0].values, *pair[1].values])
    noise = plan.noise()
    small = dataclasses.replace(noise, scales=tuple(s // 4 for s in noise.scales))
    for second, right in ((noise, True), (small, False)):
        problem = Problem(plan.model, SCHEMA, prior, (Site(60, (noise,)), Site(200, (second,))))
        arrays, _ = posterior_arrays(problem, "wishart", SamplerSettings(300, 198), values, chains=1, seed=1)
        draws = np.concatenate([arrays["theta"][:, 0, ::2], arrays["sigma"][:, 0, ::2, None]], axis=2)
        ranks = (draws < np.array(truths)[:, None]).sum(axis=1) + rng.random((200, 3))
        least = min(kstest(column / 100, "uniform").pvalue for column in ranks.T)
        assert (least >= 1e-3 / 3) == right, least
