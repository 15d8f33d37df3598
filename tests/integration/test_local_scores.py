"""Regression from cohorts that report their own scores: what a device sends, what it costs, and what comes of it."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from tacit.audit.effort import Effort
from tacit.audit.local_reports import local_reports
from tacit.calibration.simulate import SeededEntropy
from tacit.cli.main import app
from tacit.models.score_reports import RowScore
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.reports import Group
from tacit.statistics.score_region import POINT_UNIT

SCHEMA = tacit.Schema(ill=["no", "yes"], age=(20, 60), dose=(-5, 5), sex=["f", "m"], visits=(0, 9))
MODELS = [
    tacit.LogisticRegression("ill ~ age"),
    tacit.LogisticRegression("ill ~ age + dose + sex"),
    tacit.LogisticRegression("ill ~ age + dose", radius=1.0),
    tacit.PoissonRegression("visits ~ age"),
    tacit.PoissonRegression("visits ~ age + dose", link="log"),
]
BUDGETS = [
    tacit.PureDP(1.0),
    tacit.ApproxDP(2.0, 1e-6),
    tacit.ZCDP(0.1),
    tacit.GDP(1.0),
    tacit.RenyiDP(order=4.0, epsilon=1.0),
]
FIVE = tacit.Schema(y=["no", "yes"], x=(1, 5))
FIVE_MODEL = tacit.LogisticRegression("y ~ x")
SHARES = (0.02, 0.05, 0.16, 0.35, 0.42)
TRUTH = -0.72


def cells(rng, n):
    return {
        "age": rng.uniform(20, 60, n),
        "dose": rng.uniform(-5, 5, n),
        "visits": rng.integers(0, 10, n).astype(float),
        "ill": rng.integers(0, 2, n),
        "sex": rng.integers(0, 2, n),
    }


def drawn_point(rng, p, size=3.0):
    return tuple(round(t * POINT_UNIT) / POINT_UNIT for t in rng.normal(0, size, p))


def local(model, budget, point=None, matrix=None, schema=SCHEMA):
    return tacit.Plan(model, schema, budget, tacit.Local("scores", point, matrix))


def five_rows(rng, n):
    x = rng.choice(np.arange(1.0, 6.0), size=n, p=SHARES)
    return {"x": x, "y": (rng.random(n) < 1 / (1 + np.exp(-(2.2 + TRUTH * x)))).astype(np.int64)}


def five_reports(plan, n, seed):
    """Reports of made-up people; the rows' and the noise's seeds follow from ``seed``."""
    randomizer = plan.local_randomizer()
    values = randomizer.reports(five_rows(np.random.default_rng([seed, 1]), n), SeededEntropy(seed))
    return tacit.Reports((Group(plan, randomizer.protocol, values),), "five", simulated=True)


def five_cohorts(sizes, seed, budget):
    """Cohorts of these sizes, each at the point that the ones before it lead to."""
    plan, found = local(FIVE_MODEL, budget, schema=FIVE), []
    for place, n in enumerate(sizes):
        found.append(five_reports(plan, n, 1000 * seed + place))
        if place + 1 < len(sizes):
            plan = tacit.next_cohort(found)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# What a device sends, and what it costs


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.family}-{model.formula}")
def test_a_device_encodes_what_its_row_adds_to_the_sums_of_a_central_round(model):
    """Seed 3: 200 rows at a random point; alone, shifted or among others, a row's whole numbers are the same."""
    rng = np.random.default_rng(3)
    rows = cells(rng, 200)
    plan = local(model, tacit.PureDP(1.0), drawn_point(rng, len(model.design(SCHEMA).columns)), 0.3)
    randomizer = plan.local_randomizer()
    assert isinstance(randomizer.encoder, RowScore)
    encoded = randomizer.encoder.encode(rows)
    randomizer.protocol.check_inputs(encoded)
    assert encoded.sum(axis=0).tolist() == randomizer.encoder.sums.batch_sum(rows)
    for i in (0, 7, 199):
        alone = randomizer.encoder.encode({name: values[i : i + 1] for name, values in rows.items()})
        assert alone[0].tolist() == encoded[i].tolist()
    back = randomizer.encoder.encode({name: values[::-1] for name, values in rows.items()})
    assert (back[::-1] == encoded).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.family}-{model.formula}")
def test_no_point_changes_the_price(model):
    """Seed 4: 12 points a model, also far out. Whoever forges one gets reports that keep the same promise.

    At each the device's own price meets the budget, and no two of 400 rows, among them all corners of extreme rows, are
    further apart than what it is for. The planted fault is the noise for the point 0 at those points: there rows are
    further apart than it is for, at a third of the points at least.
    """
    rng = np.random.default_rng(4)
    p, at_zero, beyond = len(model.design(SCHEMA).columns), local(model, tacit.PureDP(1.0)).local_randomizer(), 0
    rows = cells(rng, 400)
    for name, ends in (("age", (20.0, 60.0)), ("dose", (-5.0, 5.0)), ("visits", (0.0, 9.0))):
        rows[name][:300] = rng.choice(ends, 300)
    for i in range(12):
        plan = local(model, BUDGETS[i % len(BUDGETS)], drawn_point(rng, p, 10.0 ** rng.uniform(-1, 1.5)))
        randomizer = plan.local_randomizer()
        assert randomizer.event().satisfies(plan.budget)
        protocol = randomizer.protocol
        assert isinstance(protocol, NoisyStatistic)
        l1, l2 = furthest(randomizer.encoder.encode(rows), protocol.sensitivity)
        assert l1 <= 1
        assert l2 <= 1
        beyond += furthest(randomizer.encoder.encode(rows), at_zero.protocol.sensitivity)[0] > 1
    assert beyond >= 4


def furthest(vectors, sensitivity):
    """The largest distance of two rows over the claimed one, in L1 and squared in L2."""
    scaled = vectors / np.array([float(weight) for weight in sensitivity.relative_scales])
    l1 = max(np.abs(scaled - one).sum(axis=1).max() for one in scaled)
    l2 = max(((scaled - one) ** 2).sum(axis=1).max() for one in scaled)
    return l1 / float(sensitivity.l1), l2 / float(sensitivity.l2_squared)


def test_reports_of_one_point_are_not_taken_for_those_of_another():
    """Neither with the noise of another point, nor with an understated sensitivity."""
    here, there = (local(FIVE_MODEL, tacit.PureDP(1.0), point, schema=FIVE) for point in (None, (2.0, -1.0)))
    own = there.local_randomizer().protocol
    assert isinstance(own, NoisyStatistic)
    moves = dataclasses.replace(own.sensitivity, l1=own.sensitivity.l1 / 2)
    scales = tuple(scale // 2 for scale in own.noise.scales)
    half = dataclasses.replace(own, sensitivity=moves, noise=type(own.noise)(scales))
    for protocol in (here.local_randomizer().protocol, half):
        with pytest.raises(tacit.InputError, match="of the reports to be the plan's"):
            there.local_randomizer(protocol)
    assert there.local_randomizer(NoisyStatistic.from_plain(own.to_plain())).protocol == own


@pytest.mark.parametrize("point", [None, (0.75, -1.5)])
def test_the_audit_of_a_device(point):
    """1,000 reports of two records: false alarms 1e-3. The planted fault is noise for a third of the distance."""
    plan = local(FIVE_MODEL, tacit.PureDP(2.0), point, schema=FIVE)
    effort, randomizer = Effort(1000, 100, 1e-3, 1), plan.local_randomizer()
    assert not any(check.violated for check in local_reports(randomizer, plan, effort))
    protocol = randomizer.protocol
    assert isinstance(protocol, NoisyStatistic)
    moves = dataclasses.replace(protocol.sensitivity, l1=protocol.sensitivity.l1 / 3)
    noise = type(protocol.noise)(tuple(scale // 3 for scale in protocol.noise.scales))
    broken = dataclasses.replace(randomizer, protocol=dataclasses.replace(protocol, sensitivity=moves, noise=noise))
    assert any(check.violated for check in local_reports(broken, plan, effort))


def test_the_better_noise_is_taken():
    """With a delta either noise may be had; few numbers have Laplace noise at epsilon 4, many Gaussian noise at 0.5."""
    few = local(FIVE_MODEL, tacit.ApproxDP(4.0, 1e-6), schema=FIVE).local_randomizer().protocol
    model = tacit.LogisticRegression("ill ~ " + " + ".join(f"c{i}" for i in range(12)))
    schema = tacit.Schema(ill=["no", "yes"], **{f"c{i}": (0, 1) for i in range(12)})
    many = local(model, tacit.ApproxDP(0.5, 1e-6), schema=schema).local_randomizer().protocol
    assert isinstance(few, NoisyStatistic)
    assert isinstance(many, NoisyStatistic)
    assert few.noise.kind == "discrete-laplace"
    assert many.noise.kind != "discrete-laplace"


# ---------------------------------------------------------------------------------------------------------------------
# From cohorts to a posterior


def test_through_files_and_the_command_line(tmp_path):
    """Seed 5: rows become reports, reports a point, and two files a posterior, as in Python. The truth lies within 5
    standard deviations, an alarm that is false once in a million.
    """
    run = CliRunner().invoke
    plan = local(FIVE_MODEL, tacit.PureDP(4.0), schema=FIVE)
    plan.save(tmp_path / "plan0.toml")
    rng, files = np.random.default_rng(5), []
    for i, n in enumerate((20_000, 40_000)):
        rows = five_rows(rng, n)
        lines = [f"{x},{'yes' if y else 'no'}\n" for x, y in zip(rows["x"], rows["y"], strict=True)]
        (tmp_path / "rows.csv").write_text("x,y\n" + "".join(lines))
        files.append(str(tmp_path / f"cohort{i}.parquet"))
        arguments = [str(tmp_path / f"plan{i}.toml"), str(tmp_path / "rows.csv")]
        assert run(app, ["randomize", *arguments, "-o", files[-1], "--dataset", "five"]).exit_code == 0
        if i < 1:
            told = run(app, ["cohort", *files, "-o", str(tmp_path / f"plan{i + 1}.toml")])
            assert told.exit_code == 0
            assert "have not answered yet" in told.output
            assert tacit.Plan.load(tmp_path / f"plan{i + 1}.toml") == tacit.next_cohort(files)
    options = ["--draws", "300", "--warmup", "300", "--chains", "2", "-o", str(tmp_path / "posterior.nc")]
    assert run(app, ["infer", *files, *options]).exit_code == 0
    posterior = tacit.Posterior.load(tmp_path / "posterior.nc")
    assert posterior.method == "score-cohorts"
    slope = posterior.coefficients()[1]
    assert abs(slope.mean - TRUTH) < 5 * slope.sd
    assert slope.sd < 0.25
    assert set(posterior.arrays()) == {"theta"}
    merged = tacit.Reports.merge([tacit.Reports.load(file) for file in files])
    assert len(merged.groups) == 2
    again = tacit.infer(merged, draws=300, warmup=300, chains=2)
    assert np.array_equal(again.draws("theta"), posterior.draws("theta"))
    assert "people of all cohorts are of one kind, and nobody answered in two" in again.assumes
    assert posterior.prior_draws(100)["theta"].shape == (100, 2)
    assert [row.name for row in posterior.prior_coefficients()] == ["Intercept", "x"]
    assert not [text for text in posterior.warnings() if "standard deviations from" in text]
    tacit.write_report(posterior, tmp_path / "report.html")
    assert "score" in (tmp_path / "report.html").read_text()


def test_the_next_point_comes_near_the_coefficients():
    """Seed 6: after two cohorts of 100,000 with little noise the third point is the truth to 0.15 in mapped units."""
    reports = five_cohorts((100_000, 100_000), 6, tacit.GDP(20.0))
    plan = tacit.next_cohort(reports, matrix=0.0)
    assert isinstance(plan.mechanism, tacit.Local)
    assert plan.mechanism.matrix == 0.0
    assert np.allclose(plan.mechanism.point, (2.2 + 3 * TRUTH, 2 * TRUTH), atol=0.15)
    assert tacit.next_cohort(tacit.Reports.merge(reports), matrix=0.0) == plan


def test_what_cannot_be_pooled_is_refused():
    scores = five_reports(local(FIVE_MODEL, tacit.PureDP(4.0), schema=FIVE), 200, 7)
    bare = five_reports(local(FIVE_MODEL, tacit.PureDP(4.0), matrix=0.0, schema=FIVE), 200, 8)
    few = five_reports(local(FIVE_MODEL, tacit.PureDP(4.0), schema=FIVE), 99, 9)
    sums = tacit.simulate(tacit.Plan(FIVE_MODEL, FIVE, tacit.PureDP(4.0), tacit.Local("statistics")), n=200, seed=1)
    for given, words in (
        ([scores, sums.release], "of scores to be pooled with other reports of scores alone"),
        ([bare], "some cohort of every survey to report information"),
        ([few], "to be at least 100 reports"),
    ):
        with pytest.raises(tacit.InputError, match=words):
            tacit.infer(given, disjoint=True)
    for reports in (sums.release, [scores, sums.release]):
        with pytest.raises(tacit.InputError, match='to be of the protocol "scores"'):
            tacit.next_cohort(reports)
    with pytest.raises(tacit.InputError, match="one file of reports or more"):
        tacit.next_cohort([])
    with pytest.raises(tacit.InputError, match="to be one for reports of scores: score-cohorts"):
        tacit.infer(scores, method="gaussian-covariates")
    with pytest.raises(tacit.InputError, match="to be another for a design"):
        tacit.design(scores.plan, n=[1000])


def test_check_says_what_a_cohort_is_asked():
    from tacit.report.plan_text import explain

    told = "\n".join(explain(local(FIVE_MODEL, tacit.PureDP(4.0), schema=FIVE)))
    assert "at the point 0 in mapped units" in told
    assert "which get 25% of the report" in told
    assert "`tacit cohort` makes the plan of the next cohort" in told
    later = "\n".join(explain(local(FIVE_MODEL, tacit.PureDP(4.0), (0.5, -1.25), 0.0, schema=FIVE)))
    assert "at the point 0.5, -1.25 in mapped units" in later
    assert "without it there is no interval" in later
    sums = "\n".join(explain(tacit.Plan(FIVE_MODEL, FIVE, tacit.PureDP(4.0), tacit.Local())))
    assert "numbers among the covariates are normally distributed" in sums


@pytest.mark.slow
def test_with_little_noise_it_is_the_rows_own_posterior():
    """Seed 10: 2,000 and then 40,000 people at mu = 1,000: the mean is the estimate of a logistic regression of the
    second cohort to 0.5 of its standard errors (the first one counts little, far from the anchor, and adds some), and
    the sd is that standard error to 10%. The planted fault, sampling variation that cohorts share, would not change
    one cohort; so a third of the size of the second is added, after which the sd has to shrink by 1 / sqrt 2 to 10%.
    """
    reports = five_cohorts((2_000, 40_000, 40_000), 10, tacit.GDP(1000.0))
    errors = []
    for count in (2, 3):
        rows = [five_rows(np.random.default_rng([10_000 + i, 1]), 40_000) for i in range(1, count)]
        x, y = (np.concatenate([one[name] for one in rows]) for name in ("x", "y"))
        estimate, error = fitted(x, y)
        slope = tacit.infer(reports[:count], draws=1000).coefficients()[1]
        assert abs(slope.mean - estimate) < 0.5 * error
        assert 0.9 < slope.sd / error < 1.1
        errors.append(slope.sd)
    assert 0.9 < errors[1] / errors[0] * 2**0.5 < 1.1


def fitted(x, y):
    """The slope of a logistic regression and its standard error, by Newton's method."""
    design, theta = np.stack([np.ones_like(x), x], axis=1), np.zeros(2)
    for _ in range(30):
        mean = 1 / (1 + np.exp(-design @ theta))
        information = (design * (mean * (1 - mean))[:, None]).T @ design
        theta += np.linalg.solve(information, design.T @ (y - mean))
    return theta[1], np.linalg.inv(information)[1, 1] ** 0.5


@pytest.mark.slow
def test_the_five_point_example_is_covered():
    """Seeds 1 to 40: 200,000 people in three cohorts at epsilon 4. The 95% intervals hold the truth in at least 33 of
    40 surveys, an alarm that is false once in 3,000, and the mean over surveys is off by less than 4 standard errors.

    The planted fault is the protocol `statistics`, which takes the five points for normally distributed: with the same
    people and budget its intervals hold the truth in fewer than 33.
    """
    held = {"scores": 0, "statistics": 0}
    means, sds = [], []
    sums = tacit.Plan(FIVE_MODEL, FIVE, tacit.PureDP(4.0), tacit.Local("statistics"))
    for seed in range(1, 41):
        cohorts = five_cohorts((50_000, 50_000, 100_000), seed, tacit.PureDP(4.0))
        for name, reports in (("scores", cohorts), ("statistics", [five_reports(sums, 200_000, seed)])):
            slope = tacit.infer(reports, seed=seed, draws=500, warmup=400, chains=2).coefficients()[1]
            held[name] += slope.low < TRUTH < slope.high
            if name == "scores":
                means.append(slope.mean)
                sds.append(slope.sd)
    assert held["scores"] >= 33
    assert held["statistics"] < 33
    assert abs(np.mean(means) - TRUTH) < 4 * np.mean(sds) / 40**0.5
    assert np.mean(sds) < 0.06


def test_the_part_of_the_information_decides_its_noise():
    """A larger part, less noise on the information and more on the score; none at all is the least on the score."""
    found = {}
    for share in (0.0, 0.25, 0.5):
        protocol = local(FIVE_MODEL, tacit.PureDP(4.0), matrix=share, schema=FIVE).local_randomizer().protocol
        assert isinstance(protocol, NoisyStatistic)
        assert Fraction(protocol.event().epsilon()) <= 4
        found[share] = [sd / protocol.unit for sd in protocol.noise.sd]
    assert found[0.0][0] < found[0.25][0] < found[0.5][0]
    assert found[0.25][2] > found[0.5][2]
    assert len(found[0.0]) == 2
