"""Linear, logistic and Poisson regression without a trusted collector: from reports of statistics and of inputs."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest
from scipy.stats import kstest

import tacit
from tacit.infer import posterior_arrays, problem_of
from tacit.models.input_reports import RowInputs
from tacit.models.statistic_reports import RowStatistic
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.runtime.chain import SamplerSettings

pytestmark = pytest.mark.optimised  # thousands of chains
SCHEMA = tacit.Schema(
    pay=(0, 100), age=(20, 60), score=(-5, 5), sex=["f", "m"], ill=["no", "yes"], visits=(0, 9), smoker=["no", "yes"]
)
LINEAR = tacit.LinearRegression("pay ~ age")
LOGISTIC = tacit.LogisticRegression("ill ~ age")
LINEAR_TRUTH = {"theta": np.array([0.1, 0.5]), "sigma": 0.2, "mu_x": np.array([0.1]), "Sigma_x": np.array([[0.06]])}
LOGISTIC_TRUTH = {"theta": np.array([0.3, 1.5]), "mu_x": np.array([0.1]), "Sigma_x": np.array([[0.06]])}
# Priors under which nearly nothing is clamped, because calibration is about rows from the model.
NARROW = {
    "linear": {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "nu0": 30.0, "kappa0": 20.0, "lambda0": (20.0, 5.0)},
    "logistic": {"mean_sd": 0.1, "scale": 0.15, "theta_sd": 1.0},
}
BUDGET = tacit.ApproxDP(20.0, 1e-5)  # where a few thousand reports of either kind say something


def local_plan(model, budget=BUDGET, protocol=None, schema=SCHEMA):
    return tacit.Plan(model, schema, budget, tacit.Local(protocol))


def finds(posterior, truth):
    """Whether the truth lies within 6 posterior standard deviations: an alarm that is false in less than 1e-8."""
    draws = posterior.draws("theta")
    return bool(np.all(np.abs(draws.mean(axis=0) - truth["theta"]) < 6 * draws.std(axis=0)))


# ---------------------------------------------------------------------------------------------------------------------
# What a device sends


@pytest.mark.parametrize(
    "model",
    [
        LINEAR,
        tacit.LinearRegression("pay ~ age + sex + age:sex"),
        tacit.LinearRegression("pay ~ age + score", radius=0.7),
        tacit.LinearRegression("pay ~ age", moments=4),
        LOGISTIC,
        tacit.LogisticRegression("ill ~ sex + smoker"),
        tacit.PoissonRegression("visits ~ age + score", radius=1.0),
    ],
    ids=lambda model: f"{model.family}-{model.formula}",
)
def test_a_device_encodes_what_its_row_adds_to_the_central_sums(model):
    """Seed 1: 300 rows, some far outside their bounds; the whole numbers add up to those of the central statistic."""
    rng = np.random.default_rng(1)
    cells = {
        "pay": np.clip(rng.normal(50, 60, 300), 0, 100),
        "age": np.clip(rng.normal(40, 30, 300), 20, 60),
        "score": np.clip(rng.normal(0, 6, 300), -5, 5),
        "visits": rng.integers(0, 10, 300).astype(float),
        **{name: rng.integers(0, 2, 300) for name in ("sex", "ill", "smoker")},
    }
    randomizer = local_plan(model, tacit.PureDP(1.0)).local_randomizer()
    assert isinstance(randomizer.protocol, NoisyStatistic)
    encoded = randomizer.encoder.encode({name: cells[name] for name in randomizer.columns})
    randomizer.protocol.check_inputs(encoded)
    statistic = model.statistic(SCHEMA)
    assert encoded.sum(axis=0).tolist() == statistic.batch_sum(cells)
    one = statistic.batch_sum({name: values[7:8] for name, values in cells.items()})
    assert encoded[7].tolist() == one
    assert isinstance(randomizer.encoder, RowStatistic)


def test_the_inputs_of_a_row_are_its_mapped_cells():
    cells = {"pay": np.array([100.0, 25.0]), "age": np.array([60.0, 30.0]), "score": np.array([5.0, 0.0])}
    ball = tacit.LinearRegression("pay ~ age + score", radius=1.0)
    for model, first in (
        (tacit.LinearRegression("pay ~ age + score"), [1.0, 1.0, 1.0]),
        (ball, [0.5**0.5] * 2 + [1.0]),
    ):
        randomizer = local_plan(model, protocol="inputs").local_randomizer()
        assert isinstance(randomizer.encoder, RowInputs)
        encoded = randomizer.encoder.encode(cells)
        randomizer.protocol.check_inputs(encoded)
        np.testing.assert_allclose(encoded / randomizer.encoder.gram.steps, [first, [-0.5, 0.0, -0.5]], atol=1e-4)
    randomizer = local_plan(tacit.LogisticRegression("ill ~ age"), protocol="inputs").local_randomizer()
    encoded = randomizer.encoder.encode({"ill": np.array([0, 1]), "age": np.array([60.0, 30.0])})
    np.testing.assert_allclose(encoded / np.array([1, randomizer.encoder.gram.steps]), [[0, 1], [1, -0.5]])


def test_a_ball_needs_less_noise_than_the_box():
    wide, ball = (tacit.LinearRegression("pay ~ age + score", radius=radius) for radius in (None, 1.0))
    for protocol in ("statistics", "inputs"):
        scales = [
            local_plan(m, tacit.GDP(1.0), protocol).local_randomizer().protocol.noise.scales[0] for m in (wide, ball)
        ]
        assert scales[1] < 0.9 * scales[0]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: local_plan(LINEAR, protocol="input").local_randomizer(), "to be one of statistics, inputs"),
        (
            lambda: local_plan(tacit.PoissonRegression("visits ~ age"), protocol="inputs").local_randomizer(),
            "Expected protocol='inputs' to be one of statistics",
        ),
        (
            lambda: local_plan(tacit.LinearRegression("pay ~ age + sex"), protocol="inputs").local_randomizer(),
            "an intercept and plain numbers only for the protocol 'inputs'; 'statistics' takes any",
        ),
        (
            lambda: local_plan(tacit.LinearRegression("pay ~ age - 1"), protocol="inputs").local_randomizer(),
            "an intercept and plain numbers only for the protocol 'inputs'",
        ),
        (
            lambda: local_plan(tacit.LogisticRegression("ill ~ sex"), protocol="inputs").local_randomizer(),
            "an intercept and plain numbers only for the protocol 'inputs'",
        ),
        (lambda: local_plan(LINEAR, tacit.PureDP(1.0), "inputs").local_randomizer(), "Gaussian noise is never pure"),
        (lambda: local_plan(LOGISTIC, tacit.PureDP(1.0), "inputs").local_randomizer(), "Gaussian noise is never pure"),
        (
            lambda: local_plan(
                tacit.LogisticRegression("ill ~ a + b + c + d + e"),
                protocol="inputs",
                schema=tacit.Schema(ill=["no", "yes"], **dict.fromkeys("abcde", (0, 1))),
            ).local_randomizer(),
            "to have at most 4 covariates for 'inputs'",
        ),
        (
            lambda: tacit.infer(tacit.simulate(local_plan(LINEAR, tacit.PureDP(1.0)), n=50, seed=1).release),
            "Expected n=50 to be at least 100 reports, for Laplace noise to add up to normal",
        ),
        (
            lambda: tacit.infer(
                tacit.simulate(local_plan(LINEAR, protocol="inputs"), n=50, seed=1).release, method="naive"
            ),
            "to be 'statistics' for this method",
        ),
        (
            lambda: tacit.infer(
                tacit.simulate(local_plan(LINEAR, protocol="inputs"), n=50, seed=1).release, method="gibbs-update"
            ),
            "to be one for such evidence: wishart, cell-moments, naive",
        ),
        (
            lambda: tacit.infer(
                [
                    tacit.simulate(local_plan(LINEAR, protocol="inputs"), n=50, seed=1).release,
                    tacit.simulate(tacit.Plan(LINEAR, SCHEMA, BUDGET), n=50, seed=2).release,
                ],
                disjoint=True,
            ),
            "to be 'statistics' for this method, or to be pooled with others",
        ),
        (
            lambda: tacit.infer(
                tacit.simulate(
                    local_plan(tacit.LinearRegression("pay ~ age + score"), protocol="inputs"), n=50, seed=1
                ).release,
                prior={"nu0": 0.5},
            ),
            "Expected prior nu0=0.5 to be above 1, for the prior to be proper",
        ),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(tacit.InputError, match=r"^Expected ") as caught:
        call()
    assert sentence in str(caught.value)


def test_a_header_that_understates_the_sensitivity_is_refused():
    """Planted: reports whose header says that two records are half as far apart as they are, hence half the noise."""
    reports = tacit.simulate(local_plan(LINEAR, tacit.GDP(1.0)), n=200, seed=1).release
    (group,) = reports.groups
    true = group.protocol.sensitivity
    half = dataclasses.replace(true, l1=true.l1 / 2, l2_squared=true.l2_squared / 4)
    scales = tuple(-(-scale // 2) for scale in group.protocol.noise.scales)
    noise = dataclasses.replace(group.protocol.noise, scales=scales)
    forged = NoisyStatistic(group.protocol.unit, half, noise)
    with pytest.raises(tacit.InputError, match="of the reports to be the plan's"):
        dataclasses.replace(group, protocol=forged)


# ---------------------------------------------------------------------------------------------------------------------
# From devices to a posterior, and pooling


CASES = {
    "linear-statistics": (LINEAR, "statistics", LINEAR_TRUTH),
    "linear-inputs": (LINEAR, "inputs", LINEAR_TRUTH),
    "logistic-statistics": (LOGISTIC, "statistics", LOGISTIC_TRUTH),
    "logistic-inputs": (LOGISTIC, "inputs", LOGISTIC_TRUTH),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_reports_of_devices_find_the_coefficients(name, tmp_path):
    """Fresh entropy on the device, seed 2 for the survey; alarms are false in less than 1e-8."""
    model, protocol, truth = CASES[name]
    plan = tacit.Plan.from_toml(local_plan(model, protocol=protocol).to_toml())
    report = tacit.randomize({"pay": "44.5", "age": 31, "ill": "yes"}, plan)
    assert len(report) == plan.local_randomizer().protocol.reports.size
    assert all(isinstance(number, int) for number in report)
    reports = tacit.simulate(plan, n=20_000, seed=2, parameters=truth).release
    posterior = tacit.infer(reports.save(tmp_path / "reports.parquet"), draws=300)
    assert finds(posterior, truth)
    # The prior has 2; for reports of logistic inputs the information of 20,000 allows no less than 0.34.
    assert posterior.draws("theta")[:, 1].std() < 0.6
    assert posterior.draws("mu_x").shape == (1200, 1)
    saved = tacit.Posterior.load(posterior.save(tmp_path / "posterior.nc"))
    assert saved.predict({"age": [30, 50]}).mean.shape == (2,)
    assert not any("diverged" in warning for warning in posterior.warnings())


@pytest.mark.slow
def test_levels_and_counts_have_reports_of_statistics():
    """Seed 3: a design with levels (free), one of levels alone (cells), and counts; alarms false in less than 1e-8."""
    for model, changes in (
        (tacit.LinearRegression("pay ~ age + sex"), {"theta": np.array([0.1, 0.4, -0.2]), "sigma": 0.2}),
        (tacit.LogisticRegression("ill ~ sex"), {"theta": np.array([0.3, 1.0]), "pi": np.array([0.4, 0.6])}),
        (tacit.PoissonRegression("visits ~ age"), {"theta": np.array([1.0, 0.8])}),
    ):
        truth = {"mu_x": np.array([0.1, 0.0]), "Sigma_x": 0.06 * np.eye(2), **changes}
        if model.family != "linear":
            truth |= {"mu_x": np.array([0.1]), "Sigma_x": np.array([[0.06]])}
        reports = tacit.simulate(local_plan(model, tacit.PureDP(4.0)), n=5000, seed=3, parameters=truth).release
        assert finds(tacit.infer(reports, draws=300), truth)


def linear_evidence():
    """Seeds 4, 5 and 6: two surveys with different budgets, and a release about other people."""
    surveys = [
        tacit.simulate(local_plan(LINEAR, tacit.PureDP(epsilon)), n=n, seed=seed, parameters=LINEAR_TRUTH).release
        for epsilon, n, seed in ((2.0, 30_000, 4), (4.0, 8_000, 5))
    ]
    plan = tacit.Plan(LINEAR, SCHEMA, tacit.PureDP(1.0))
    return surveys, tacit.simulate(plan, n=400, seed=6, parameters=LINEAR_TRUTH).release


def test_a_release_and_reports_pool(tmp_path):
    """Seeds 4 and 6: a survey whose noise is normal and a release whose noise is Laplace have one posterior.

    2,000 draws whose standard deviation is known to about 3%. Alarm if it is not 5% smaller than that of the survey.
    """
    (survey, _), release = linear_evidence()
    alone = tacit.infer(survey.save(tmp_path / "survey.parquet"), draws=500)
    both = tacit.infer([release, tmp_path / "survey.parquet"], disjoint=True, draws=500)
    assert alone.method == both.method == "wishart"
    assert finds(alone, LINEAR_TRUTH)
    assert finds(both, LINEAR_TRUTH)
    assert both.draws("theta")[:, 1].std() < 0.95 * alone.draws("theta")[:, 1].std()
    assert alone.draws("mu_x").shape == both.draws("mu_x").shape == (2000, 1)  # of the release, where there is one
    assert "the datasets are about disjoint people" in both.assumes
    saved = tacit.Posterior.load(both.save(tmp_path / "posterior.nc"))
    assert saved.predict({"age": [30, 50]}).mean.shape == (2,)


@pytest.mark.slow
def test_all_together_say_more_than_any_one():
    """Seeds 4, 5 and 6: two groups of reports and a release, as above."""
    surveys, release = linear_evidence()
    alone = [tacit.infer(one, draws=500).draws("theta")[:, 1].std() for one in (release, *surveys)]
    both = tacit.infer([release, tacit.Reports.merge(surveys, dataset="survey")], disjoint=True, draws=500)
    assert finds(both, LINEAR_TRUTH)
    assert both.draws("theta")[:, 1].std() < 0.95 * min(alone)
    assert both.draws("mu_x").shape == (2000, 1)


@pytest.mark.slow
def test_logistic_releases_and_reports_pool():
    """Seeds 7 and 8, as above; both with Gaussian noise."""
    budget = tacit.ZCDP(0.5)
    reports = tacit.simulate(local_plan(LOGISTIC, budget), n=30_000, seed=7, parameters=LOGISTIC_TRUTH).release
    plan = tacit.Plan(LOGISTIC, SCHEMA, budget)
    release = tacit.simulate(plan, n=400, seed=8, parameters=LOGISTIC_TRUTH).release
    alone = [tacit.infer(one, draws=500).draws("theta")[:, 1].std() for one in (release, reports)]
    both = tacit.infer([release, reports], disjoint=True, draws=500)
    assert finds(both, LOGISTIC_TRUTH)
    assert both.draws("theta")[:, 1].std() < 0.95 * min(alone)


@pytest.mark.slow
def test_groups_of_inputs_with_different_budgets_pool():
    """Seeds 9 and 10: two groups of reports of inputs, for both families; alarms false in less than 1e-8."""
    for model, truth in ((LINEAR, LINEAR_TRUTH), (LOGISTIC, LOGISTIC_TRUTH)):
        parts = [
            tacit.simulate(local_plan(model, tacit.ApproxDP(e, 1e-5), "inputs"), n=n, seed=seed, parameters=truth)
            for e, n, seed in ((12.0, 20_000, 9), (20.0, 10_000, 10))
        ]
        both = tacit.infer(tacit.Reports.merge(part.release for part in parts), draws=500)
        assert finds(both, truth)
        alone = tacit.infer(parts[1].release, draws=500)
        assert both.draws("theta")[:, 1].std() < 0.95 * alone.draws("theta")[:, 1].std()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_statistics_say_more_than_inputs(family):
    """Seed 11: what the default rests on. 20,000 reports of either kind at epsilon = 4, the slope's posterior.

    The standard deviation of 2,000 draws is known to about 3%; alarm if it is not 15% smaller.
    """
    model, truth = {"linear": (LINEAR, LINEAR_TRUTH), "logistic": (LOGISTIC, LOGISTIC_TRUTH)}[family]
    assert model.protocols(SCHEMA)[0] == "statistics"
    sds = {}
    for protocol in ("statistics", "inputs"):
        plan = local_plan(model, tacit.ApproxDP(4.0, 1e-5), protocol)
        reports = tacit.simulate(plan, n=20_000, seed=11, parameters=truth).release
        sds[protocol] = tacit.infer(reports, draws=500).draws("theta")[:, 1].std()
    assert sds["statistics"] < 0.85 * sds["inputs"], sds


def test_reports_on_a_grid_have_the_likelihood_of_each(monkeypatch):
    """Seed 12: the sum over the grid against the sum over 2,000 reports, for 1 to 4 covariates.

    Agreement to 1e-5 in the log likelihood and its slope; the planted fault, three nodes an axis, is off by more.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    from tacit.likelihoods.report_densities import logistic_report
    from tacit.samplers import logistic_inputs

    rng = np.random.default_rng(12)

    def errors(d, noise):
        reports = logistic_inputs.LabelledReports((noise,) * d, 1.5)
        mean, covariance = np.full(d, 0.1), 0.1 * np.eye(d) + 0.02
        slopes = jnp.linspace(1.0, 3.0, d)
        x = rng.multivariate_normal(mean, covariance, 2000)
        y = rng.random(2000) < 1 / (1 + np.exp(-0.3 - x @ np.asarray(slopes)))
        x = x + noise**0.5 * rng.standard_normal(x.shape)
        numbers = reports.summary(y.astype(int), x)
        assert len(numbers) == reports.size

        def on_grid(slopes):
            return reports.log_likelihood(numbers, slopes, 0.3, mean, covariance)

        def one_by_one(slopes):
            return jnp.sum(
                logistic_report(x, y.astype(float), slopes, 0.3, mean, covariance, noise * np.eye(d), reports.epsilon)
            )

        found, wanted = (jax.jit(jax.value_and_grad(f))(slopes) for f in (on_grid, one_by_one))
        return max(abs(float(found[0] - wanted[0])), float(jnp.max(jnp.abs(found[1] - wanted[1]))))

    assert max(errors(d, noise) for d, noise in ((1, 1.0), (2, 4.0), (3, 9.0), (4, 40.0))) < 1e-5
    monkeypatch.setitem(logistic_inputs.NODES, 2, (3, 3))
    assert errors(2, 4.0) > 1e-2


# ---------------------------------------------------------------------------------------------------------------------
# Calibration


def p_values(plan, simulated, *, n, trials, seed):
    """Kolmogorov-Smirnov p-values of the ranks under ``plan``, of reports that were made under ``simulated``."""
    prior = NARROW[plan.model.family]
    name = plan.model.default_method(SCHEMA)
    thin = plan.model.methods[name].thin
    problem = problem_of(plan, prior, n)
    simulations = [tacit.simulate(simulated, n=n, seed=seed * 100_000 + i, prior=problem.prior) for i in range(trials)]
    arrays, _ = posterior_arrays(
        problem, name, SamplerSettings(300, 99 * thin), [s.numbers() for s in simulations], chains=1, seed=seed
    )
    rng = np.random.default_rng(seed)
    found = []
    for parameter, draws in arrays.items():
        ranked = draws[:, 0, thin - 1 :: thin].reshape(trials, 99, -1)
        truths = np.array([s.parameters[parameter] for s in simulations]).reshape(trials, 1, -1)
        for ranks in (ranked < truths).sum(axis=1).T:
            found.append(kstest((ranks + rng.random(trials)) / 100, "uniform").pvalue)
    return np.array(found)


def test_reports_of_inputs_are_calibrated():
    """Seed 13: 150 trials of 400 reports; level 1e-3 over all numbers (Bonferroni).

    The planted fault: reports with a fifth more noise than inference takes them to have, rejected at the same level.
    """
    plan = local_plan(LINEAR, tacit.GDP(2.0), "inputs")
    found = p_values(plan, plan, n=400, trials=150, seed=13)
    assert found.min() * len(found) > 1e-3, found
    wrong = p_values(plan, local_plan(LINEAR, tacit.GDP(2.0 / 1.2), "inputs"), n=400, trials=150, seed=13)
    assert wrong.min() * len(wrong) < 1e-3, wrong


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_report_is_calibrated(name, epsilon):
    """Seed 14: 500 trials of 500 reports at delta = 1e-5; level 1e-3 over all numbers (Bonferroni).

    Rows are simulated with normal covariates, so that the method for logistic inputs is the one that assumes it.
    """
    model, protocol, _ = CASES[name]
    plan = local_plan(model, tacit.ApproxDP(epsilon, 1e-5), protocol)
    prior, method = NARROW[model.family], "gaussian-covariates" if name == "logistic-inputs" else None
    result = tacit.calibrate(plan, n=500, trials=500, seed=14, prior=prior, method=method)
    assert result.calibrated(1e-3), result.p_values()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_calibration_has_power_where_reports_say_much(name):
    """Seed 15: 500 trials of 500 reports with little noise, where the posterior is far from the prior; level 1e-3.

    The planted fault: reports with twice the noise that inference takes them to have.
    """
    model, protocol, _ = CASES[name]
    plan = local_plan(model, tacit.GDP(10.0), protocol)
    found = p_values(plan, plan, n=500, trials=500, seed=15)
    assert found.min() * len(found) > 1e-3, found
    wrong = p_values(plan, local_plan(model, tacit.GDP(5.0), protocol), n=500, trials=500, seed=15)
    assert wrong.min() * len(wrong) < 1e-3, wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear-statistics", "logistic-statistics"])
def test_ignoring_the_noise_of_reports_is_caught(name):
    """Seed 16; the planted fault: the sum of the reports taken for the exact one."""
    model, protocol, _ = CASES[name]
    plan = local_plan(model, tacit.ApproxDP(2.0, 1e-5), protocol)
    result = tacit.calibrate(plan, n=500, trials=200, seed=16, method="naive", prior=NARROW[model.family])
    assert not result.calibrated(1e-9), result.p_values()


def test_importing_a_client_needs_no_sampler():
    """Devices make reports without JAX: nothing of it is loaded by a plan, a client and a report."""
    import subprocess

    code = """
import sys
import tacit
schema = tacit.Schema(pay=(0, 100), age=(20, 60), ill=["no", "yes"])
for model in (tacit.LinearRegression("pay ~ age"), tacit.LogisticRegression("ill ~ age")):
    for protocol in ("statistics", "inputs"):
        plan = tacit.Plan(model, schema, tacit.ApproxDP(1.0, 1e-6), tacit.Local(protocol))
        tacit.randomize({"pay": 20, "age": 30, "ill": "no"}, plan)
print("jax" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
