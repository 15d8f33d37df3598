"""Means with no shape assumed: what the rows say is held, and where a shape is assumed the release shows it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import binom

import tacit
from tacit.calibration.simulate import SeededEntropy
from tacit.infer import check_settings, posterior_arrays, problem_of

LEVEL = 1e-4  # the false-alarm rate of each statistical test here


def visits(n, seed=28):
    """Counts of visits to a doctor: many zeros and a long tail."""
    return np.minimum(np.random.default_rng(seed).negative_binomial(0.6, 0.6 / 3.4, n), 30).astype(float)


SHAPES = {
    "visits": visits,
    "scale": lambda n: np.random.default_rng(3).choice(5, n, p=[0.02, 0.05, 0.16, 0.35, 0.42]) * 7.5,
    "two peaks": lambda n: np.where(np.random.default_rng(4).random(n) < 0.3, 2.0, 27.0),
    "constant": lambda n: np.full(n, 4.0),
}


def draws_of(plan, cells, releases, seed, draws=500, method=None):
    """Draws (releases, draws, ...) by name from many releases of the same rows, noise seeded."""
    statistic = plan.statistic()
    exact = np.array(statistic.batch_sum(cells), object)
    noise = np.asarray(plan.noise().sample(releases, SeededEntropy(seed)), object)
    n = len(next(iter(cells.values())))
    settings = check_settings(warmup=100, draws=draws, chains=1, seed=1)
    name = method or plan.model.default_method(plan.schema)
    arrays, _ = posterior_arrays(problem_of(plan, None, n), name, settings, (noise + exact).tolist(), chains=1, seed=1)
    return {k: v[:, 0] for k, v in arrays.items()}


def held(draws, own):
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    return int(np.sum((low <= own + 1e-9) & (own - 1e-9 <= high)))


@pytest.mark.parametrize(
    ("shape", "budget"),
    [
        pytest.param(shape, budget, marks=() if (shape, i) in (("visits", 0), ("scale", 1)) else pytest.mark.slow)
        for shape in SHAPES
        for i, budget in enumerate((tacit.PureDP(0.5), tacit.GDP(0.5)))
    ],
)
def test_intervals_hold_the_mean_of_the_rows_whatever_their_shape(shape, budget):
    """Seed 5; 200 releases of 2,000 rows: 95% intervals hold it in at least 93%, but for an alarm in 1e-4."""
    cells = SHAPES[shape](2000)
    plan = tacit.Plan(tacit.Mean("x"), tacit.Schema(x=(0, 30)), budget)
    found = draws_of(plan, {"x": cells}, 200, 5)
    assert held(found["rows_mean"], cells.mean()) >= binom.ppf(LEVEL, 200, 0.93)


def test_the_normal_family_on_visits_is_the_planted_fault():
    """The same releases by `Normal`: its interval never holds the mean of the rows; with a check it says so first."""
    cells = visits(20_000)
    plan = tacit.Plan(tacit.Normal("x"), tacit.Schema(x=(0, 30)), tacit.PureDP(1.0))
    assert held(draws_of(plan, {"x": cells}, 20, 6)["mean"], cells.mean()) == 0
    checked = tacit.Plan(tacit.Normal("x", shape_check=True), plan.schema, plan.budget)
    release = tacit.privatize({"x": cells}, checked, ledger=None, dataset="visits")
    assert (
        tacit.infer(release, draws=200, warmup=100, anyway=True)
        .warnings()[0]
        .startswith("The release does not fit the model")
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", [tacit.Normal, tacit.Exponential, tacit.Poisson, tacit.Geometric])
def test_rows_that_have_the_shape_are_not_accused(family):
    """Seed 7, rows from the model itself; the check alarms beyond 8 standard deviations, about once in 10,000."""
    plan = tacit.Plan(family("x", shape_check=True), tacit.Schema(x=(0, 30)), tacit.PureDP(1.0))
    release = tacit.simulate(plan, n=5000, seed=7).release
    assert not any("does not fit" in text for text in tacit.infer(release, draws=200, anyway=True).warnings())
    plain = tacit.Plan(family("x"), plan.schema, plan.budget)
    assert "shape_check" not in plain.model.to_plain()
    assert plan.model.to_plain()["shape_check"] is True


@pytest.mark.slow
def test_widths_are_what_the_noise_leaves():
    """5,000 rows, epsilon 1: at most 1.1 times noise and sampling in quadrature, at least 0.9 times."""
    cells = visits(5000)
    plan = tacit.Plan(tacit.Mean("x"), tacit.Schema(x=(0, 30)), tacit.PureDP(1.0))
    low, high = np.quantile(draws_of(plan, {"x": cells}, 50, 8)["mean"], [0.025, 0.975], axis=1)
    noise = plan.noise().sd[0] / plan.statistic().unit * 15 / 5000
    best = 2 * 1.96 * np.hypot(noise, cells.std() / np.sqrt(5000))
    assert 0.9 < np.median(high - low) / best < 1.1


def test_group_means_are_held_and_an_empty_group_is_no_error():
    """Seed 9; 100 releases of 3,000 rows in three groups, one of them empty: as above, level 1e-4 over both."""
    rng = np.random.default_rng(9)
    cells, sex = visits(3000, seed=9), rng.choice(2, 3000, p=[0.8, 0.2])
    plan = tacit.Plan(tacit.Mean("x", by="sex"), tacit.Schema(x=(0, 30), sex=["f", "m", "other"]), tacit.PureDP(1.0))
    found = draws_of(plan, {"x": cells, "sex": sex}, 100, 9)
    for group in (0, 1):
        least = binom.ppf(LEVEL / 2, 100, 0.93)
        assert held(found["rows_mean"][:, :, group], cells[sex == group].mean()) >= least
        assert held(found["count"][:, :, group], (sex == group).sum()) >= least
    assert np.isfinite(found["mean"]).all()
    assert found["count"][:, :, 2].mean() < 20


def test_a_small_group_of_zeros_has_an_interval_that_reaches_zero():
    """Seed 13; 40 releases, groups of 10, 25 and 1,965 rows, all of the first two at 0: held in at least 93%, 1e-4.

    Power: with a density alone no interval held it.
    """
    group = np.repeat([0, 1, 2], [10, 25, 1965])
    cells = np.where(group == 2, visits(2000), 0.0)
    schema = tacit.Schema(x=(0, 30), g=["a", "b", "c"])
    for epsilon in (1.0, 10.0):
        plan = tacit.Plan(tacit.Mean("x", by="g"), schema, tacit.PureDP(epsilon))
        found = draws_of(plan, {"x": cells, "g": group}, 40, 13)["rows_mean"]
        for place in range(3):
            own = cells[group == place].mean()
            assert held(found[:, :, place], own) >= binom.ppf(LEVEL / 6, 40, 0.93), (epsilon, place)
    alone = tacit.Plan(tacit.Mean("x"), schema, tacit.PureDP(1.0))
    assert held(draws_of(alone, {"x": np.zeros(20)}, 40, 13)["rows_mean"], 0.0) >= binom.ppf(LEVEL, 40, 0.93)


@pytest.mark.parametrize("by", [None, "g"])
def test_means_near_a_bound_have_many_effective_draws(by):
    """Seed 14; 12 releases of 6,000 rows, nearly all near 0, and of 300 of them in a group: at least 100 of a chain's
    1,000 draws are worth one each, as warnings ask of four chains.

    Power: with noise around the release alone 9 of a group's 8,192 particles counted, and 21 of all rows'.
    """
    rng = np.random.default_rng(14)
    cells = np.where(rng.random(6000) < 0.85, 0.0, np.minimum(rng.lognormal(1, 0.9, 6000), 60))
    columns = {"x": cells} if by is None else {"x": cells, "g": rng.choice(3, 6000, p=[0.8, 0.15, 0.05])}
    schema = tacit.Schema(x=(0, 60)) if by is None else tacit.Schema(x=(0, 60), g=["a", "b", "c"])
    plan = tacit.Plan(tacit.Mean("x", by=by), schema, tacit.PureDP(0.1 if by is None else 1.0))
    noise = np.asarray(plan.noise().sample(12, SeededEntropy(14)), object)
    values = (noise + np.array(plan.statistic().batch_sum(columns), object)).tolist()
    settings = check_settings(warmup=1, draws=1000, chains=1, seed=1)
    method = plan.model.default_method(plan.schema)
    _, info = posterior_arrays(problem_of(plan, None, 6000), method, settings, values, chains=1, seed=1)
    particles = 16_000 if by is None else 8192
    assert info["efficiency"].min() * particles > 100


@pytest.mark.slow
def test_pooled_groups_lie_between_their_own_mean_and_the_common_one():
    """Seed 10: a group of about 20 rows is moved towards the others, and a large one stays."""
    rng = np.random.default_rng(10)
    sex = rng.choice(4, 8000, p=[0.4, 0.3, 0.2975, 0.0025])
    cells = np.clip(rng.normal(12, 3, 8000) + (sex == 3) * 6, 0, 30)
    schema = tacit.Schema(x=(0, 30), sex=["a", "b", "c", "d"])
    rows, found = {"x": cells, "sex": sex}, []
    for pooled in (False, True):
        plan = tacit.Plan(tacit.Mean("x", by="sex", pooled=pooled), schema, tacit.PureDP(2.0))
        found.append(draws_of(plan, rows, 10, 10)["mean"].mean(axis=(0, 1)))
    own, pooled = found
    assert abs(pooled[0] - own[0]) < 0.05
    assert own[:3].mean() < pooled[3] < own[3]


@pytest.mark.slow
def test_several_sites_and_releases_of_the_same_rows():
    """Two sites share the population; twice as many releases of one leave less noise in its rows' mean."""
    cells = visits(2000)
    plan = tacit.Plan(tacit.Mean("x"), tacit.Schema(x=(0, 30)), tacit.ZCDP(0.005))
    first, again = (tacit.privatize({"x": cells}, plan, ledger=None, dataset="a") for _ in range(2))
    other = tacit.privatize({"x": cells}, plan, ledger=None, dataset="b")
    sites = tacit.infer([first, other], disjoint=True, draws=200)
    assert sites.method == "moments", "the first of the family's methods that pools sites"
    assert sites.draws("rows_mean").shape[1:] == (2,)
    once, twice = tacit.infer(first, draws=500), tacit.infer([first, again], same_rows=True, draws=500)
    assert twice.draws("rows_mean").std() < 0.9 * once.draws("rows_mean").std()


@pytest.mark.slow
def test_reports_from_devices_have_the_mean():
    """Seed 11; 20,000 reports at epsilon 2, 5 posterior standard deviations: a false alarm in 1e-6."""
    plan = tacit.Plan(tacit.Mean("x"), tacit.Schema(x=(0, 30)), tacit.PureDP(2.0), tacit.Local())
    simulated = tacit.simulate(plan, n=20_000, seed=11, parameters={"mean": 4.0, "sd": 5.0})
    draws = tacit.infer(simulated.release, draws=500).draws("mean")
    assert abs(draws.mean() - 4.0) < 5 * draws.std()
    with pytest.raises(tacit.InputError, match="local reports"):
        tacit.Plan(tacit.Mean("x", by="g"), tacit.Schema(x=(0, 30), g=["a", "b"]), plan.budget, tacit.Local())


def test_differences_between_groups():
    cells = {"x": visits(500), "g": ["a", "b"] * 250}
    plan = tacit.Plan(tacit.Mean("x", by="g"), tacit.Schema(x=(0, 30), g=["a", "b"]), tacit.PureDP(5.0))
    posterior = tacit.infer(tacit.privatize(cells, plan, ledger=None, dataset="rows"), draws=200)
    (row,) = posterior.differences("mean")
    assert row.name == "mean[b] - mean[a]"
    assert row.mean == pytest.approx(np.diff(posterior.draws("mean").mean(axis=0))[0])
    assert posterior.differences("mean", to="b")[0].mean == pytest.approx(-row.mean)
    for bad in ({"name": "nothing"}, {"name": "mean", "to": "c"}):
        with pytest.raises(tacit.InputError):
            posterior.differences(**bad)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"by": "x"}, "to name other columns"),
        ({"by": ["a", "b", "c"]}, "to be the name of a column, or two names"),
        ({"by": 3}, "to be the name of a column, or two names"),
        ({"pooled": True}, "to go with groups"),
        ({"pooled": "yes"}, "to be true or false"),
    ],
)
def test_bad_models_are_refused_in_one_sentence(said, text):
    with pytest.raises(tacit.InputError, match=text):
        tacit.Mean("x", **said)


def test_too_many_groups_are_refused():
    schema = tacit.Schema(x=(0, 1), a={"levels": list(range(40))}, b={"levels": list(range(40))})
    with pytest.raises(tacit.InputError, match="at most 1000 groups"):
        tacit.Plan(tacit.Mean("x", by=("a", "b")), schema, tacit.PureDP(1.0))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 10.0])
@pytest.mark.parametrize("n", [20, 1000, 100_000])
def test_the_mean_of_any_population_is_held(n, epsilon):
    """Seed 12; 400 populations, skewed, discrete and two-peaked: 95% intervals hold the mean in at least 92%."""
    rng = np.random.default_rng([12, n])
    plan = tacit.Plan(tacit.Mean("x"), tacit.Schema(x=(0, 1)), tacit.PureDP(epsilon))
    statistic, truths, exact = plan.statistic(), [], []
    for i in range(400):
        if i % 3 == 0:
            a, b = np.exp(rng.uniform(np.log(0.3), np.log(3))), np.exp(rng.uniform(np.log(2), np.log(20)))
            cells, mean = rng.beta(a, b, n), a / (a + b)
        elif i % 3 == 1:
            p = rng.dirichlet(np.full(5, 0.7))
            cells, mean = rng.choice(5, n, p=p) / 4, float(np.arange(5) @ p / 4)
        else:
            share, places = rng.uniform(0.1, 0.9), rng.random(2)
            cells = np.where(rng.random(n) < share, *places)
            mean = float(share * places[0] + (1 - share) * places[1])
        truths.append(mean)
        exact.append(statistic.batch_sum({"x": cells}))
    noise = np.asarray(plan.noise().sample(400, SeededEntropy(n)), object)
    settings = check_settings(warmup=0, draws=500, chains=1, seed=1)
    values = (noise + np.array(exact, object)).tolist()
    arrays, _ = posterior_arrays(problem_of(plan, None, n), "particles", settings, values, chains=1, seed=1)
    low, high = np.quantile(arrays["mean"][:, 0], [0.025, 0.975], axis=1)
    inside = np.sum((low <= truths) & (truths <= high))
    assert inside >= binom.ppf(LEVEL, 400, 0.92), inside


def test_ignoring_the_noise_is_caught_by_the_same_count():
    """Power: the naive method's intervals of the rows' mean, which have no width, hold it in hardly any release."""
    cells = visits(2000)
    plan = tacit.Plan(tacit.Mean("x"), tacit.Schema(x=(0, 30)), tacit.PureDP(0.5))
    found = draws_of(plan, {"x": cells}, 50, 5, draws=50, method="naive")
    assert held(found["rows_mean"], cells.mean()) < binom.ppf(LEVEL, 50, 0.93)


def test_the_model_is_a_value():
    model = tacit.Mean("x", by=["a", "b"])
    assert dataclasses.replace(model, pooled=True).pooled
    assert tacit.Mean.from_plain({"column": "x", "by": ["a", "b"]}) == model
