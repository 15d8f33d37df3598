"""The Gibbs samplers of linear regression: moments, conditional distributions, and whole chains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import norm

import tacit
from tacit.infer import posterior_arrays, problem_for
from tacit.runtime.chain import SamplerSettings

# Five points with these probabilities for (1, x1, x2); exact moments of t by rational arithmetic.
SUPPORT = np.array([[1, -1.3, 0.2], [1, 0.1, 2.0], [1, 0.9, -0.7], [1, 2.5, 0.4], [1, -0.4, -1.9]])
PROBABILITIES = np.array([0.15, 0.3, 0.25, 0.1, 0.2])
THETA, VARIANCE = np.array([0.4, -0.8, 0.5]), 0.7
MEAN = [0.23, 0.115, 1.116, 0.1155, 2.0665, 0.2735, -0.74305, 0.98685, 1.897265]
# fmt: off
COVARIANCE = np.array([
    [1.0631, 0.08905, 1.14602, 0.077585, -0.501645, -0.805955, -0.4527835, -0.2772705, -0.09879045],
    [0.08905, 2.053275, -0.02419, -0.0396325, 0.7124025, 0.9553975, 0.03515575, 1.20921725, 0.958643025],
    [1.14602, -0.02419, 3.258384, 0.327537, -1.969329, -0.928911, -1.9845307, -1.2563701, 0.58787511],
    [0.077585, -0.0396325, 0.327537, 0.32354475, 0.48730425, -0.08188425, -0.069223225, -0.031036675, 0.0071065425],
    [-0.501645, 0.7124025, -1.969329, 0.48730425, 3.19882275, 0.75751725, 1.618457325, 1.494528975, -0.2444944725],
    [-0.805955, 0.9553975, -0.928911, -0.08188425, 0.75751725, 1.82246275, 0.540804675, 0.906925025, 0.9412538725],
    [-0.4527835, 0.03515575, -1.9845307, -0.069223225, 1.618457325, 0.540804675, 2.1530995475, 0.9595195425,
     -1.54653299675],
    [-0.2772705, 1.20921725, -1.2563701, -0.031036675, 1.494528975, 0.906925025, 0.9595195425, 2.7023307275,
     1.63711473975],
    [-0.09879045, 0.958643025, 0.58787511, 0.0071065425, -0.2444944725, 0.9412538725, -1.54653299675, 1.63711473975,
     5.088456316275],
])
# fmt: on

NARROW = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "nu0": 30.0, "kappa0": 20.0, "lambda0": (20.0, 5.0, 5.0)}


@pytest.fixture(autouse=True)
def _float64():
    from tacit.runtime.backend import float64

    with float64():
        yield


def _main_text(covariance, eta4, eta, theta, variance):
    """The planted fault: Cov(x_i y, x_j y) with the index order of the paper's main text, xi_{ij,kl}."""
    p = len(theta)
    xi = eta4 - np.einsum("ij,kl->ijkl", eta, eta)
    wrong = np.array(covariance)
    wrong[-p - 1 : -1, -p - 1 : -1] = variance * eta + np.einsum("ijkl,k,l->ij", xi, theta, theta)
    return wrong


def _eta4(points, probabilities):
    return np.einsum("n,ni,nj,nk,nl->ijkl", probabilities, points, points, points, points)


def test_moments_are_those_of_an_exact_computation():
    """To 1e-13. The planted fault, the main text's index order, is off by more than 1 and is not a covariance."""
    from tacit.likelihoods.gram_moments_clt import deviations, mean_and_covariance, released_distribution

    i, j = np.triu_indices(3)
    products = SUPPORT[:, i] * SUPPORT[:, j]
    distribution = released_distribution((products.T * PROBABILITIES) @ products)
    mean, covariance = mean_and_covariance(THETA, VARIANCE, distribution)
    np.testing.assert_allclose(mean, MEAN, atol=1e-13)
    np.testing.assert_allclose(covariance, COVARIANCE, atol=1e-13)
    root = np.asarray(deviations(THETA, VARIANCE, distribution, np.eye(9)))
    np.testing.assert_allclose(root @ root.T, COVARIANCE, atol=1e-13)
    eta = (SUPPORT.T * PROBABILITIES) @ SUPPORT
    wrong = _main_text(COVARIANCE, _eta4(SUPPORT, PROBABILITIES), eta, THETA, VARIANCE)
    assert np.abs(wrong - COVARIANCE).max() > 1
    assert np.linalg.eigvalsh(wrong)[0] < -0.1


def test_fourth_moments_of_a_normal_law():
    """x = (1, N(m, V)): E[x_i x_j x_k x_l] to 1e-14."""
    from tacit.likelihoods.gram_moments_clt import normal_distribution, products

    distribution = normal_distribution(np.array([0.4, -0.3]), np.linalg.cholesky(np.array([[0.8, 0.3], [0.3, 0.5]])))
    eta = np.asarray(distribution.second_root @ distribution.second_root.T)
    place = {pair: i for i, pair in enumerate(zip(*(x.tolist() for x in products(2)), strict=True))}
    known = {
        (0, 1, 0, 0): 0.4,
        (0, 1, 0, 1): 0.96,
        (0, 1, 1, 1): 1.024,
        (0, 1, 1, 2): -0.048,
        (0, 1, 2, 2): 0.056,
        (1, 1, 1, 2): 0.5568,
        (1, 1, 2, 2): 0.6024,
        (1, 2, 2, 2): 0.3402,
    }
    for (a, b, c, d), value in known.items():
        found = eta[a, b] * eta[c, d] + (distribution.covariance[place[a, b], place[c, d]] if c or d else 0)
        assert abs(found - value) < 1e-14
    np.testing.assert_allclose(distribution.root @ distribution.root.T, distribution.covariance, atol=1e-14)


def _z_scores(sample, mean, covariance):
    """Differences of sample means and covariances from what they should be, in their own standard errors."""
    rows = len(sample)
    away = sample - mean
    crossed = away[:, :, None] * away[:, None, :]
    first = away.mean(axis=0) / (sample.std(axis=0) / np.sqrt(rows))
    second = (crossed.mean(axis=0) - covariance) / (crossed.std(axis=0) / np.sqrt(rows))
    return np.concatenate([first, second[np.triu_indices(len(mean))]])


def _t(x, y):
    i, j = np.triu_indices(x.shape[1])
    return np.concatenate([(x[:, i] * x[:, j])[:, 1:], x * y[:, None], y[:, None] ** 2], axis=1)


def test_moments_are_those_of_simulated_records():
    """Seed 31; 200,000 records, 54 z-scores, none above the normal quantile of 1e-7/54: false-alarm rate about 1e-7.

    The planted faults are beyond 20: the main text's index order, and sigma^2 in place of 2 sigma^2 in Cov(x y, y^2).
    """
    from tacit.likelihoods.gram_moments_clt import mean_and_covariance, normal_distribution

    rng = np.random.default_rng(31)
    mu, half = np.array([0.3, -0.5]), np.array([[0.6, 0.0], [0.2, 0.4]])
    x = np.concatenate([np.ones((200_000, 1)), mu + rng.standard_normal((200_000, 2)) @ half.T], axis=1)
    y = x @ THETA + np.sqrt(VARIANCE) * rng.standard_normal(len(x))
    distribution = normal_distribution(mu, half)
    mean, covariance = (np.asarray(a) for a in mean_and_covariance(THETA, VARIANCE, distribution))
    limit = norm.isf(1e-7 / 54 / 2)
    assert np.abs(_z_scores(_t(x, y), mean, covariance)).max() < limit
    eta = np.asarray(distribution.second_root @ distribution.second_root.T)
    eta4 = _eta4(x, np.full(len(x), 1 / len(x)))
    wrong = _main_text(covariance, eta4, eta, THETA, VARIANCE)
    assert np.abs(_z_scores(_t(x, y), mean, wrong)).max() > 20
    wrong = covariance.copy()
    wrong[-4:-1, -1] -= VARIANCE * eta @ THETA
    wrong[-1, -4:-1] = wrong[-4:-1, -1]
    assert np.abs(_z_scores(_t(x, y), mean, wrong)).max() > 20


def test_prior_moments_are_those_of_simulated_sums():
    """Seed 32; 200,000 sums of 3 records that share mu_x and Sigma_x, 20 z-scores, false-alarm rate about 1e-7.

    The planted fault, records taken as independent (the paper's form, n = 1), is beyond 20.
    """
    from scipy.stats import invwishart

    from tacit.likelihoods.gram_moments_clt import prior_distribution, products

    rng = np.random.default_rng(32)
    m0, kappa0, nu0, psi0, n, sums = np.array([0.3, -0.2]), 2.0, 14.0, np.array([[1.0, 0.2], [0.2, 0.7]]), 3, 200_000
    half = np.linalg.cholesky(invwishart(nu0, psi0).rvs(sums, random_state=rng))
    mu = m0 + np.einsum("nij,nj->ni", half, rng.standard_normal((sums, 2))) / np.sqrt(kappa0)
    i, j = products(2)
    sample = np.zeros((sums, 5))
    for _ in range(n):
        x = mu + np.einsum("nij,nj->ni", half, rng.standard_normal((sums, 2)))
        x = np.concatenate([np.ones((sums, 1)), x], axis=1)
        sample += x[:, i] * x[:, j]
    limit = norm.isf(1e-7 / 20 / 2)
    for records, caught in ((n, False), (1, True)):
        distribution = prior_distribution(m0, kappa0, nu0, psi0, records)
        eta = distribution.second_root @ distribution.second_root.T
        worst = np.abs(_z_scores(sample, n * eta[i, j], n * distribution.covariance)).max()
        assert worst > 20 if caught else worst < limit


# omega^2 given a residual: scale, residual, its mean, and its distribution function at three points, by quadrature.
MIXTURES = [
    (2.3, 0.8, 7.13, {2.645: 0.3540934508397352, 5.29: 0.5646954500141238, 15.87: 0.8837581420584361}),
    (1.0, 3.0, 4.0, {0.5: 5.358236882242377e-05, 1.0: 0.009973041067026997, 3.0: 0.3926868304650897}),
    (5.0, 0.01, 25.05, {12.5: 0.5195407180915091, 25.0: 0.6820545700059132, 75.0: 0.9165688267859118}),
    (2.0, 0.0, 4.0, {2.0: 0.5204998778130465, 4.0: 0.6826894921370859, 12.0: 0.9167354833364496}),
]


@pytest.mark.parametrize(("scale", "residual", "mean", "below"), MIXTURES)
def test_variances_of_the_laplace_mixture(scale, residual, mean, below):
    """Seed 33; 200,000 draws; 4 z-scores a case, each below 6: false-alarm rate below 1e-8 a case.

    The planted fault, a scale 5% too large, is beyond 6.
    """
    from tacit.samplers.gram_gibbs import mixture_variances

    rng = np.random.default_rng(33)
    normals, uniforms = rng.standard_normal(200_000), rng.random(200_000)

    def worst(assumed):
        draws = np.asarray(mixture_variances(normals, uniforms, residual, assumed))
        scores = [(draws.mean() - mean) / (draws.std() / np.sqrt(len(draws)))]
        for point, probability in below.items():
            scores.append(
                ((draws <= point).mean() - probability) / np.sqrt(probability * (1 - probability) / len(draws))
            )
        return np.abs(scores).max()

    assert worst(scale) < 6 < worst(1.05 * scale)


def test_mixture_variances_are_finite_everywhere():
    """Residuals and scales from 0 and 1e-200 to 1e100, with normals of 0 as well."""
    from tacit.samplers.gram_gibbs import mixture_variances

    grid = np.array(np.meshgrid([0.0, 1e-9, 3.0], [0.0, 0.5, 1.0], [0.0, 1e-200, 1.0, 1e100], [1e-100, 1.0, 1e75]))
    assert np.isfinite(np.asarray(mixture_variances(*grid))).all()


def test_the_gain_form_is_the_conditional_law():
    """Exact to 1e-12, for a singular S as well, where the paper's form with the inverse of S has no meaning."""
    from tacit.samplers.gram_gibbs import condition

    rng = np.random.default_rng(34)
    root = rng.standard_normal((5, 5))
    root[:, 4] = 0.0  # rank 4
    mean, z, spread = rng.standard_normal(5), rng.standard_normal(5), np.array([0.5, 1.0, 2.0, 0.1, 3.0])
    covariance = root @ root.T
    gain = covariance @ np.linalg.inv(covariance + np.diag(spread))
    draws = np.concatenate([np.zeros((5, 1)), root, np.zeros((5, 5))], axis=1)
    noise = np.concatenate([np.zeros((5, 6)), np.diag(np.sqrt(spread))], axis=1)
    found = np.asarray(condition(z, spread, mean, covariance, draws, noise))
    np.testing.assert_allclose(found[:, 0], mean + gain @ (z - mean), atol=1e-11)
    away = found[:, 1:] - found[:, :1]
    np.testing.assert_allclose(away @ away.T, covariance - gain @ covariance, atol=1e-11)


def test_conjugate_updates():
    """Both updates from a Gram matrix, against 40-digit linear algebra, to 1e-12."""
    from tacit.likelihoods.conjugate_gram import Centred, GramPriorParameters, covariates, regression

    prior = GramPriorParameters(
        np.zeros(1), 1.0, 3.0, np.eye(1), np.array([0.5, -1.0]), np.array([[1.5, 0.4], [0.4, 0.8]]), 3, 0.9
    )
    sums, block = np.array([1.5, 2.0]), np.array([[6.625, -3.925], [-3.925, 4.26]])
    root, mean, a, b, _ = regression(Centred(sums, np.linalg.cholesky(block - np.outer(sums, sums) / 5)), 5.0, prior)
    np.testing.assert_allclose(mean, [0.5833100050389116, -0.7586921225015397], rtol=1e-12)
    np.testing.assert_allclose(root @ root.T, [[6.5, 1.9], [1.9, 7.425]], rtol=1e-12)
    np.testing.assert_allclose([a, b], [5.5, 1.0155698169195453], rtol=1e-12)

    psi0 = np.array([[1.0, 0.2], [0.2, 0.7]])
    prior = GramPriorParameters(np.array([0.2, 0.1]), 1.3, 6.0, psi0, np.zeros(3), np.eye(3), 1.0, 1.0)
    sums, scatter = np.array([2.0, 1.0]), np.array([[6.375, -1.4375], [-1.4375, 1.875]])
    factor = np.linalg.cholesky(scatter - np.outer(sums, sums) / 4)
    whole = Centred(np.append(sums, 0.0), np.block([[factor, np.zeros((2, 1))], [np.zeros((1, 2)), np.ones((1, 1))]]))
    root, mean, nu = covariates(whole, 4.0, prior)
    np.testing.assert_allclose(mean, [0.4264150943396226, 0.2132075471698113], rtol=1e-12)
    np.testing.assert_allclose(
        root @ root.T,
        [[6.463301886792452, -1.6933490566037734], [-1.6933490566037734, 2.3470754716981133]],
        rtol=1e-12,
    )
    assert nu == 10.0


def _plan(budget, moments=2):
    schema = tacit.Schema(y=(0, 10), a=(-1, 1), b=(20, 40))
    return tacit.Plan(tacit.LinearRegression("y ~ a + b", moments=moments), schema, budget)


def _problem(plan, n, **changes):
    return problem_for(plan.model, plan.schema, {**NARROW, **changes}, n, plan.noise())


@pytest.mark.parametrize(
    ("method", "budget"),
    [
        pytest.param("gibbs-update", tacit.PureDP(1e4), id="update"),
        pytest.param("gibbs-prior", tacit.ZCDP(1e6), id="prior", marks=pytest.mark.slow),
        pytest.param("gibbs-noisy", tacit.GDP(1e4), id="noisy"),
    ],
)
def test_with_little_noise_they_give_the_conjugate_posterior(method, budget):
    """Seed 35, n = 500: means within 5 standard errors and spreads within 5 of theirs, of the closed form.

    2,000 draws, nearly independent here; 8 numbers; false-alarm rate below 1e-5 a case. The planted fault, both
    covariates exchanged, is beyond 50.
    """
    n, parameters = 500, {"theta": np.array([0.1, 0.5, -0.3]), "sigma": 0.2, "mu_x": np.array([0.1, 0.3])}
    parameters["Sigma_x"] = np.array([[0.05, 0.01], [0.01, 0.03]])
    plan = _plan(budget, 4 if method == "gibbs-noisy" else 2)
    simulation = tacit.simulate(plan, n=n, seed=35, parameters=parameters)
    values = [simulation.release.values]
    arrays, _ = posterior_arrays(_problem(plan, n), method, SamplerSettings(50, 500), values, chains=4, seed=1)
    mean, sd = _conjugate(simulation, plan, n)
    found = np.concatenate([np.asarray(arrays["theta"])[0], np.asarray(arrays["sigma"])[0][..., None]], axis=2)
    found = found.reshape(-1, 4)
    error = sd / np.sqrt(2_000)
    assert (np.abs(found.mean(axis=0) - mean) < 5 * error).all()
    assert (np.abs(found.std(axis=0) / sd - 1) < 5 * np.sqrt(0.5 / 2_000)).all()
    assert (np.abs(found.mean(axis=0) - mean[[0, 2, 1, 3]]) / error).max() > 50


def _conjugate(simulation, plan, n):
    """Posterior means and standard deviations of theta and sigma given the exact sums, in closed form."""
    statistic = plan.statistic()
    gram = np.zeros((4, 4))
    gram[0, 0] = n
    layout = (statistic.gram if plan.model.moments == 4 else statistic).layout[0]
    for place, value in zip(layout.values(), simulation.exact, strict=False):  # higher moments follow
        gram[place.j, place.k] = gram[place.k, place.j] = value / statistic.unit
    precision = gram[:3, :3] + np.diag(NARROW["lambda0"])
    theta = np.linalg.solve(precision, gram[:3, 3])
    a, b = NARROW["a0"] + n / 2, NARROW["b0"] + (gram[3, 3] - theta @ precision @ theta) / 2
    sigma = np.sqrt(b) * np.exp(gammaln(a - 0.5) - gammaln(a))
    sd = np.sqrt(b / (a - 1) * np.diagonal(np.linalg.inv(precision)))
    return np.append(theta, sigma), np.append(sd, np.sqrt(b / (a - 1) - sigma**2))


def test_what_they_refuse():
    plan = _plan(tacit.PureDP(1.0))
    methods = plan.model.methods
    with pytest.raises(tacit.InputError, match=r"prior nu0=5\.0 to be above 5, for fourth moments to exist"):
        methods["gibbs-prior"].build(_problem(plan, 100, nu0=5.0), SamplerSettings(1, 1))
    for method in ("gibbs-update", "gibbs-prior"):
        with pytest.raises(tacit.InputError, match="n=3 to be at least 4"):
            methods[method].build(_problem(plan, 3), SamplerSettings(1, 1))


@pytest.mark.slow
def test_gibbs_update_agrees_with_the_collapsed_method():
    """Seed 37; three datasets at n = 1000, epsilon = 1: posterior means within 5 standard errors (12 numbers).

    False-alarm rate below 1e-5. The planted fault, the naive method, is beyond 5 somewhere.
    """
    from arviz_stats.base import array_stats

    plan = _plan(tacit.PureDP(1.0))
    values = [tacit.simulate(plan, n=1000, seed=37 + i, prior=NARROW).release.values for i in range(3)]
    problem = _problem(plan, 1000)

    def summary(method, draws):
        arrays, _ = posterior_arrays(problem, method, SamplerSettings(500, draws), values, chains=4, seed=3)
        whole = np.concatenate([arrays["theta"], arrays["sigma"][..., None]], axis=3)
        ess = [[array_stats.ess(whole[i, :, :, k], method="mean") for k in range(4)] for i in range(3)]
        return whole.mean(axis=(1, 2)), whole.std(axis=(1, 2)) / np.sqrt(ess)

    mean, error = summary("wishart", 1000)
    for method, draws, caught in (("gibbs-update", 4000, False), ("naive", 1000, True)):
        other, its_error = summary(method, draws)
        worst = np.abs((mean - other) / np.hypot(error, its_error)).max()
        assert worst > 5 if caught else worst < 5


@pytest.mark.slow
@pytest.mark.parametrize("method", ["gibbs-update", "gibbs-prior"])
def test_they_are_calibrated_at_a_thousand_rows(method):
    """Seed 38; 200 trials at epsilon = 1, 99 draws each; Kolmogorov-Smirnov, false-alarm rate 1e-3 over all numbers."""
    result = tacit.calibrate(_plan(tacit.PureDP(1.0)), n=1000, trials=200, seed=38, method=method, prior=NARROW)
    assert result.calibrated(1e-3), result.p_values()


@pytest.mark.slow
def test_calibration_catches_records_taken_for_independent(monkeypatch):
    """Seed 38; the planted fault is the paper's form of the prior's moments: rejected at 1e-12."""
    from tacit.samplers import gram_gibbs

    right = gram_gibbs.prior_distribution
    wrong = lambda m0, kappa0, nu0, psi0, n: right(m0, kappa0, nu0, psi0, 1.0)  # noqa: E731
    monkeypatch.setattr(gram_gibbs, "prior_distribution", wrong)
    plan = _plan(tacit.PureDP(1.0))
    prior = {**NARROW, "kappa0": 19.0}  # another problem: chains are kept by problem
    result = tacit.calibrate(plan, n=1000, trials=200, seed=38, method="gibbs-prior", prior=prior)
    assert not result.calibrated(1e-12), result.p_values()
