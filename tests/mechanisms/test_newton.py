"""Noisy scores in rounds: from rows on disk to a release that is read back, at a price that is fixed beforehand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from unittest import mock

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.errors import BrokenMediumError, InputError
from tacit.mechanisms import newton
from tacit.mechanisms.newton import Newton, ScoreRounds
from tacit.models.score_noise import ScoreNoise
from tacit.release import Release
from tacit.sources.csv_file import CsvFile
from tacit.statistics.accumulator import Sums
from tacit.statistics.score_sums import POINT_UNIT
from tacit.statistics.score_tables import ScoreTable

SCHEMA = tacit.Schema(y=["no", "yes"], x=(1, 5), age=(18, 90), sex=["f", "m"], visits=(0, 8))
BUDGETS = {
    "pure": tacit.PureDP(1.0),
    "approximate": tacit.ApproxDP(1.0, 1e-6),
    "zcdp": tacit.ZCDP(0.5),
    "gdp": tacit.GDP(1.0),
    "renyi": tacit.RenyiDP(order=8.0, epsilon=2.0),
}
MODELS = {
    "logistic": tacit.LogisticRegression("y ~ x + age*sex"),
    "ball": tacit.LogisticRegression("y ~ x + age", radius=1.0),
    "products": tacit.LogisticRegression("y ~ x*age"),
    "poisson": tacit.PoissonRegression("visits ~ x + sex"),
    "log": tacit.PoissonRegression("visits ~ x*age", link="log"),
}


def plan(model="logistic", budget="approximate", **options):
    return tacit.Plan(MODELS[model], SCHEMA, BUDGETS[budget], Newton(**options))


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.choice([1, 2, 3, 4, 5], n, p=[0.02, 0.05, 0.16, 0.35, 0.42])
    return {
        "y": [
            "yes" if u < 1 / (1 + math.exp(-2.2 + 0.72 * v)) else "no" for u, v in zip(rng.random(n), x, strict=True)
        ],
        "x": [int(v) for v in x],
        "age": [round(float(v), 1) for v in rng.uniform(18, 90, n)],
        "sex": [("f", "m")[i] for i in rng.integers(0, 2, n)],
        "visits": [int(v) for v in rng.poisson(2.0, n)],
        "id": [int(v) for v in rng.integers(0, n // 2, n)],
    }


def csv(path, table):
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def exactly():
    """In place of noise, none: the exact sums of every round come through the whole of `privatize`."""
    return mock.patch.object(
        newton.ScoreNoise,
        "of_round",
        lambda noise_parameters, place: _NoNoise(noise_parameters.rounds[place].every_scale()),
    )


class _NoNoise:
    def __init__(self, scales):
        self.scales = scales

    def sample(self, size, entropy):
        return [[0] * len(self.scales)] * size


@pytest.mark.parametrize(
    ("model", "budget"),
    [*zip(MODELS, BUDGETS, strict=True), *((model, "pure") for model in ("ball", "poisson")), ("logistic", "gdp")],
)
def test_a_release_is_priced_written_and_read_back(model, budget, tmp_path):
    made = plan(model, budget)
    assert tacit.Plan.from_toml(made.to_toml()) == made
    assert made.event().satisfies(made.budget)
    release = tacit.privatize(csv(tmp_path / "rows.csv", rows(60)), made, ledger=None)
    assert len(release.values) == len(made.calibrated_mechanism().entries)
    path = release.save(tmp_path / "release.json")
    assert Release.load(path) == release
    assert release.calibrated_mechanism.event().satisfies(made.budget)
    assert len(release.noise_parameters.rounds) == made.calibrated_mechanism().passes


@pytest.mark.parametrize("budget", BUDGETS)
def test_one_percent_less_noise_is_refused(budget, tmp_path):
    """The price of a release is worked out again from its scales and its points."""
    release = tacit.privatize(csv(tmp_path / "rows.csv", rows(60)), plan(budget=budget), ledger=None)
    for place in range(len(release.noise_parameters.rounds)):
        plain = json.loads(release.to_json())
        one = plain["rounds"]["rounds"][place]
        one["scales"] = [math.floor(scale * 0.99) for scale in one["scales"]]
        with pytest.raises(InputError, match="large enough"):
            Release.from_plain(plain)


@pytest.fixture(scope="module")
def released():
    """A release, as text."""
    return tacit.privatize(rows(60), plan(), ledger=None).to_json()


def _edits():
    def edit(change):
        return change

    yield "first point", edit(lambda p: p["rounds"]["rounds"][0]["point"].__setitem__(0, 1))
    yield "far point", edit(lambda p: p["rounds"]["rounds"][1].__setitem__("point", [2**40] * 5))
    yield "steeper point", edit(lambda p: p["rounds"]["rounds"][1].__setitem__("point", [30 * POINT_UNIT] * 5))
    yield "short point", edit(lambda p: p["rounds"]["rounds"][1]["point"].pop())
    yield "float point", edit(lambda p: p["rounds"]["rounds"][1]["point"].__setitem__(0, 0.5))
    yield "bool scale", edit(lambda p: p["rounds"]["rounds"][1].__setitem__("scales", [True]))
    yield "matrix", edit(lambda p: p["rounds"]["rounds"][1].__setitem__("matrix", True))
    yield "fewer rounds", edit(lambda p: p["rounds"]["rounds"].pop())
    yield "no rounds", edit(lambda p: p["rounds"].__setitem__("rounds", []))
    yield "law", edit(lambda p: p["rounds"].__setitem__("law", "discrete-laplace"))
    yield "unknown distribution", edit(lambda p: p["rounds"].__setitem__("law", ["x"]))
    yield "unit", edit(lambda p: p.__setitem__("unit", 1))
    yield "point unit", edit(lambda p: p["rounds"].__setitem__("point_unit", 1))
    yield "more keys", edit(lambda p: p["rounds"].__setitem__("other", 1))
    yield "value", edit(lambda p: p["values"].__setitem__(0, 2**200))
    yield "values", edit(lambda p: p["values"].pop())
    yield "kind", edit(lambda p: p["plan"]["mechanism"].__setitem__("kind", "noise"))
    yield "no mechanism", edit(lambda p: p["plan"].pop("mechanism"))


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in _edits()])
def test_an_edited_release_is_refused(change, released):
    plain = json.loads(released)
    change(plain)
    with pytest.raises(InputError):
        Release.from_plain(plain)


def test_a_plan_that_names_no_kind_means_noise():
    made = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, BUDGETS["approximate"])
    assert "mechanism" not in made.to_plain()
    assert made.mechanism == tacit.AddNoise()


@pytest.mark.parametrize("budget", BUDGETS)
def test_shares_are_kept_whatever_the_points_are(budget):
    """Seed 9: at points of any size each round costs its share of the price at most, and nearly that."""
    calibrated = plan(budget=budget, shares=[1, 2, 3], matrix=[0.5, 0, 0.2]).calibrated_mechanism()
    rng = np.random.default_rng(9)
    for size in (0.1, 1.0, 30.0):
        for place in range(3):
            point = tuple(int(t) for t in np.rint(rng.normal(size=5) * size * POINT_UNIT))
            one = calibrated.round_at(place, point)
            moves = calibrated.sensitivity(place, point)
            base = min(Fraction(s) / w for s, w in zip(one.every_scale(), moves.relative_scales, strict=True))
            cost = moves.l1 / base if calibrated.sums.laplace else moves.l2_squared / base**2
            allowed = calibrated.price * calibrated.shares[place]
            assert allowed * Fraction(999, 1000) < cost <= allowed
    assert sum(calibrated.shares) == 1


def test_without_noise_the_rounds_find_the_rows_own_estimate(tmp_path):
    """Seed 0, 5,000 rows with a skewed five-point column: the last point is the maximum-likelihood estimate to 1e-3."""
    table = rows(5000)
    made = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, tacit.ApproxDP(1e6, 1e-6), Newton())
    release = tacit.privatize(csv(tmp_path / "rows.csv", table), made, ledger=None)
    x = (np.array(table["x"]) - 3) / 2
    design, y = np.stack([np.ones_like(x), x], axis=1), np.array([cell == "yes" for cell in table["y"]])
    theta = np.zeros(2)
    for _ in range(30):
        mean = 1 / (1 + np.exp(-design @ theta))
        theta += np.linalg.solve((design * (mean * (1 - mean))[:, None]).T @ design, design.T @ (y - mean))
    np.testing.assert_allclose(release.noise_parameters.facts(release.unit)[-1].point, theta, atol=1e-3)


def test_every_engine_and_file_finds_the_same_integers(tmp_path):
    """Without noise: a CSV file, Parquet in several row groups, a folder, a frame, in one thread and in four."""
    from tacit.engines.threads import Threads

    table = rows(3000)
    arrow = pa.table(table)
    pq.write_table(arrow, tmp_path / "rows.parquet", row_group_size=100)
    (tmp_path / "folder").mkdir()
    for i in range(3):
        pq.write_table(arrow.slice(1000 * i, 1000), tmp_path / "folder" / f"{i}.parquet")
    shuffled = {name: [cells[i] for i in np.random.default_rng(1).permutation(3000)] for name, cells in table.items()}
    found = set()
    with exactly():
        for data in (
            csv(tmp_path / "rows.csv", table),
            tmp_path / "rows.parquet",
            tmp_path / "folder",
            arrow,
            polars.from_arrow(arrow),
            shuffled,
        ):
            for threads in (1, 4):
                release = tacit.privatize(data, plan(), ledger=None, engine=Threads(threads))
                found.add((release.n, release.values, release.noise_parameters))
    assert len(found) == 1


def test_a_person_who_has_few_rows_adds_less(tmp_path):
    """Without noise: the sums of the rows that there are, n as if everyone had all, and noise for max_rows of them."""
    table = {**rows(300), "id": [i // 3 for i in range(300)]}
    made = plan("poisson", unit=tacit.Person("id", 4))
    with exactly():
        release = tacit.privatize(csv(tmp_path / "rows.csv", table), made, ledger=None)
    assert release.n == 4 * 100
    per_row = plan("poisson")
    with exactly():
        alone = tacit.privatize(csv(tmp_path / "again.csv", table), per_row, ledger=None)
    p = 3
    assert (
        release.noise_parameters.split(release.values)[0] == alone.noise_parameters.split(alone.values)[0]
    )  # at 0, of the same rows
    assert release.noise_parameters.rounds[0].scales[0] >= 3.9 * alone.noise_parameters.rounds[0].scales[0]
    assert len(release.noise_parameters.rounds[0].point) == p


def test_partials_streams_and_other_families_are_refused(tmp_path):
    with pytest.raises(InputError, match="partial"):
        tacit.partial(csv(tmp_path / "rows.csv", rows(60)), plan(), dataset="d")
    stream = pa.table(rows(60)).to_reader()
    with pytest.raises(InputError, match="times"):
        tacit.privatize(stream, plan(), ledger=None)
    with pytest.raises(InputError, match="kind='newton'"):
        tacit.Plan(tacit.Bernoulli("y"), SCHEMA, tacit.PureDP(1.0), Newton())


def test_a_medium_that_breaks_between_rounds_is_paid_in_full(tmp_path):
    """The second pass fails, or finds other rows: one sentence, no release, and the whole price is spent."""
    path = csv(tmp_path / "rows.csv", rows(60))
    for fault in ("breaks", "grows"):
        ledger = tacit.Ledger.create(tmp_path / f"{fault}.db")
        ledger.new_dataset("rows", plan().budget)
        passes = []
        real = CsvFile.pulls

        def pulls(self, *arguments, real=real, passes=passes, fault=fault):
            passes.append(1)
            if len(passes) == 2 and fault == "breaks":
                raise BrokenMediumError("gone")
            yield from real(self, *arguments)
            if len(passes) == 2:
                yield from real(self, *arguments)

        with mock.patch.object(CsvFile, "pulls", pulls), pytest.raises(BrokenMediumError):
            tacit.privatize(path, plan(), ledger=ledger, dataset="rows")
        assert len(passes) == 2
        with pytest.raises(tacit.errors.RefusedError):
            tacit.privatize(path, plan(), ledger=ledger, dataset="rows")


def test_a_ledger_pays_once_for_all_rounds(tmp_path):
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("rows", plan().budget)
    path = csv(tmp_path / "rows.csv", rows(60))
    before = len(ledger.entries("rows"))
    tacit.privatize(path, plan(), ledger=ledger, dataset="rows")
    spent = len(ledger.entries("rows")) - before
    other = tacit.Ledger.create(tmp_path / "other.db")
    noise = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, plan().budget)
    other.new_dataset("rows", noise.budget)
    tacit.privatize(path, noise, ledger=other, dataset="rows")
    assert spent == len(other.entries("rows")) - before


def test_the_price_is_charged_before_the_first_row(tmp_path):
    """A source that is never read: the ledger has paid when the first pass begins."""
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("rows", plan().budget)
    path = csv(tmp_path / "rows.csv", rows(60))
    before, left = len(ledger.entries("rows")), []

    def carry_out(calibrated, read, entropy):
        left.append(len(ledger.entries("rows")))
        raise BrokenMediumError("stop")

    with mock.patch.object(ScoreRounds, "carry_out", carry_out), pytest.raises(BrokenMediumError):
        tacit.privatize(path, plan(), ledger=ledger, dataset="rows")
    assert left == [before + 1]


@pytest.mark.parametrize("found", [(math.nan,) * 5, (math.inf,) * 5, (1e300,) * 5, (0.0,), None])
def test_a_next_point_of_any_kind_is_brought_onto_the_lattice(found, tmp_path):
    """Whatever the step function returns or raises, the release is made, and its points lie where points can lie."""

    def step(*arguments):
        if found is None:
            raise ArithmeticError
        return found

    with mock.patch.object(newton, "next_point", step):
        release = tacit.privatize(csv(tmp_path / "rows.csv", rows(60)), plan(), ledger=None)
    assert Release.from_json(release.to_json()) == release


def test_the_next_point_sees_released_numbers_alone(tmp_path):
    """What the step function is given can be worked out from the release."""
    seen = []
    real = newton.next_point

    def step(rounds, values, n, link):
        seen.append((tuple(rounds), [list(v) for v in values], n))
        return real(rounds, values, n, link)

    with mock.patch.object(newton, "next_point", step):
        release = tacit.privatize(csv(tmp_path / "rows.csv", rows(60)), plan(), ledger=None)
    for k, (rounds, values, n) in enumerate(seen):
        assert rounds == release.noise_parameters.facts(release.unit)[: k + 1]
        assert values == [
            [v / release.unit for v in some] for some in release.noise_parameters.split(release.values)[: k + 1]
        ]
        assert n == release.n


def test_neighbouring_tables_on_disk_differ_within_the_claim_in_every_round(tmp_path):
    """Seed 11: the attack. Points are fixed by one table; the sums of its neighbours there are compared with the claim.

    The planted fault: with half of the claimed square some pair would be beyond it.
    """
    made = plan()
    first = rows(40)
    release = tacit.privatize(csv(tmp_path / "first.csv", first), made, ledger=None)
    calibrated = made.calibrated_mechanism()
    worst = 0.0
    rng = np.random.default_rng(11)
    cells = {
        "y": ["yes", "no", "", "?"],
        "x": [1, 5, "", 1e300, "-inf", "nan"],
        "age": [18, 90, "", 54, 1e9],
        "sex": ["f", "m", "", "x"],
        "visits": [0, 8],
        "id": [0],
    }
    for trial in range(12):
        second = {name: list(column) for name, column in first.items()}
        for name, choices in cells.items():
            second[name][7] = choices[rng.integers(len(choices))]
            if trial % 2:
                first[name][7] = choices[rng.integers(len(choices))]
        for place, one in enumerate(release.noise_parameters.rounds):
            totals = []
            for name, table in (("a", first), ("b", second)):
                statistic = calibrated.statistic(place, one.point)
                totals.append(_sums(csv(tmp_path / f"{name}.csv", table), made, statistic))
            moves = calibrated.sensitivity(place, one.point)
            apart = [Fraction(a - b) / w for a, b, w in zip(*totals, moves.relative_scales, strict=True)]
            assert sum(v * v for v in apart) <= moves.l2_squared
            assert sum(map(abs, apart)) <= moves.l1
            worst = max(worst, float(sum(v * v for v in apart) / moves.l2_squared))
    assert worst > 0.5


def _sums(path, made, statistic):
    from tacit.boundary import collect, needed
    from tacit.sources.open import open_source

    _, collected = collect(open_source(path, *needed(made)), made, empty=Sums(statistic))
    return collected.totals


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"rounds": 0}, "rounds"),
        ({"rounds": True}, "rounds"),
        ({"shares": []}, "shares"),
        ({"shares": [1, -1]}, "shares"),
        ({"shares": [1, math.nan]}, "shares"),
        ({"shares": "abc"}, "shares"),
        ({"matrix": [1.0]}, "matrix"),
        ({"matrix": [0, 0]}, "matrix"),
        ({"rounds": 3, "shares": [1, 1]}, "rounds"),
        ({"unit": "person"}, "unit"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, name):
    with pytest.raises(InputError, match=f"Expected {name}="):
        Newton(**options)


def test_the_law_is_as_strict_as_its_reader():
    for plain in (None, [], {}, {"law": "x", "point_unit": POINT_UNIT, "rounds": []}):
        with pytest.raises(InputError):
            ScoreNoise.from_plain(plain)


def test_what_is_inferred_and_simulated(tmp_path):
    """The method, the axes and the numbers that a chain is given; products of numbers have a posterior as well."""
    from tacit.infer import method_for, numbers_of, problem_of
    from tacit.posterior.tree import posterior_axes

    for model in ("logistic", "products", "log"):
        made = plan(model)
        release = tacit.privatize(csv(tmp_path / f"{model}.csv", rows(200)), made, ledger=None)
        problem = problem_of(made, {"slope": 1.0}, release.n)
        assert method_for(problem, None) == "score"
        assert np.isfinite(numbers_of(problem, [release])).all()
        dims, coords = posterior_axes([release])
        assert dims == {"theta": ("coefficient",)}
        assert coords["coefficient"] == made.model.design(SCHEMA).names
    made = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, tacit.GDP(1.0), Newton())
    first, second = (tacit.simulate(made, n=200, seed=seed) for seed in (1, 1))
    assert first.release == second.release
    assert len(first.exact) == len(first.release.values)
    with pytest.raises(InputError, match="prior"):
        problem_of(made, {"mean_sd": 1.0}, 10)


@pytest.mark.parametrize("formula", ["y ~ x - 1", "y ~ 0 + sex + x"])
def test_a_formula_without_an_intercept_is_refused_before_a_row_is_read(formula):
    with pytest.raises(InputError, match="a formula with an intercept"):
        tacit.Plan(tacit.LogisticRegression(formula), SCHEMA, BUDGETS["pure"], Newton())


@pytest.mark.parametrize("size", [1e-8, 1e12])
@pytest.mark.parametrize("model", ["ball", "log"])
def test_what_was_paid_for_can_be_read_at_every_size_of_budget_and_point(model, size):
    """Seed 3: a price that came out above the budget would refuse a release that was paid for. No warning either."""
    rng = np.random.default_rng(3)
    for budget in (tacit.PureDP(size), tacit.ApproxDP(size, 1e-6)):
        made = tacit.Plan(MODELS[model], SCHEMA, budget, Newton(shares=[1, 1e-3], matrix=[0.999, 1e-6]))
        calibrated = made.calibrated_mechanism()
        p = len(calibrated.sums.design)
        for far in (0.0, 1e-3, 255.0):
            slopes = [0] * (p - 1) if far == 0.0 else np.rint(rng.uniform(-far, far, p - 1) * POINT_UNIT)
            points = [(0,) * p, (200 * POINT_UNIT, *(int(t) for t in slopes))]
            noise_parameters = ScoreNoise(
                calibrated.noise_parameters.noise,
                tuple(calibrated.round_at(k, point) for k, point in enumerate(points)),
            )
            assert made.central().checked(made.model, SCHEMA, budget, noise_parameters).event().satisfies(budget)


@pytest.mark.parametrize("name", ["logistic", "ball", "products", "log"])
def test_a_row_has_its_integers_in_whatever_company(name):
    """Seed 5: alone, behind others, in another order, in strides; cells on the edges of the lattice and of the bounds.

    The planted fault: a linear predictor from which the mean over the batch is taken off.
    """
    real = ScoreTable.of_rows

    def centred(table, eta, response):
        return real(table, eta - int(np.mean(eta)), response)

    assert _differs_in_company(name) == 0
    with mock.patch.object(ScoreTable, "of_rows", centred):
        assert _differs_in_company(name) > 0


def _differs_in_company(name):
    rng = np.random.default_rng(5)
    statistic = MODELS[name].score_sums(SCHEMA)
    point = np.rint(rng.normal(size=len(statistic.design)) * 3 * POINT_UNIT)
    statistic, cells = statistic.at(tuple(int(t) for t in point), matrix=True), {}
    for column in statistic.columns:
        declared = SCHEMA.declared(column)
        if hasattr(declared, "levels"):
            cells[column] = rng.integers(0, 2, 200)
        else:
            low, high = declared.low, declared.high
            edges = (low + high) / 2 + (high - low) / 2 * (rng.integers(-4096, 4096, 200) + 0.5) / 4096
            cells[column] = np.clip(np.where(rng.random(200) < 0.3, rng.choice([low, high], 200), edges), low, high)
    whole, found = _packed(statistic, cells), 0
    for i in range(0, 200, 7):
        for before in (0, 1, 5):
            company = rng.integers(0, 200, before)
            some = {key: np.concatenate([v[company], v[i : i + 1], v[:3]]) for key, v in cells.items()}
            found += int((_packed(statistic, some)[before] != whole[i]).any())
    order = rng.permutation(200)
    found += int((_packed(statistic, {key: v[order] for key, v in cells.items()}) != whole[order]).sum())
    return found + int((_packed(statistic, {key: np.repeat(v, 3)[::3] for key, v in cells.items()}) != whole).sum())


def _packed(statistic, cells):
    q, rho, omega = statistic.rows(cells)
    return np.concatenate([q, rho[:, None], omega[:, None]], axis=1)


@pytest.mark.parametrize("end", ["os._exit(9)", "raise KeyboardInterrupt"])
def test_a_process_that_dies_between_rounds_has_paid_in_full(end, tmp_path):
    """The second pass ends the process, or stops it: no release is written, and the ledger refuses the next one."""
    path = csv(tmp_path / "rows.csv", rows(60))
    plan().save(tmp_path / "plan.toml")
    ledger = tacit.Ledger.create(tmp_path / "books.db")
    ledger.new_dataset("rows", plan().budget)
    before = len(ledger.entries("rows"))
    code = f"""
import os, sys
from tacit.sources.csv_file import CsvFile
real, passes = CsvFile.pulls, []
def pulls(self, *arguments):
    passes.append(1)
    for place, one in enumerate(real(self, *arguments)):
        if len(passes) == 2:
            {end}
        yield one
CsvFile.pulls = pulls
from tacit_command import main
main()
"""
    command = [sys.executable, "-c", code, "privatize", "plan.toml", str(path), "--ledger", "books.db"]
    done = subprocess.run(
        [*command, "--dataset", "rows", "-o", "release.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert not (tmp_path / "release.json").exists()
    assert "Traceback" not in done.stderr
    assert len(ledger.entries("rows")) == before + 1
    with pytest.raises(tacit.errors.RefusedError):
        tacit.privatize(path, plan(), ledger=ledger, dataset="rows")


def test_check_prints_the_rounds_their_shares_and_their_noise():
    from tacit.report.plan_text import explain, explain_plain

    text = "\n".join(explain(plan(shares=[1, 3], matrix=[0.5, 0])))
    assert "Mechanism: newton; the rows are read 2 times" in text
    assert "Releases in round 2: 5 scores" in text
    assert "75% of the budget, noise with standard deviation" in text
    assert "Useless below" not in "\n".join(explain(plan(budget="gdp")))
    many = tacit.Schema(y=["no", "yes"], **{f"x{i}": (0, 1) for i in range(20)})
    wide = tacit.LogisticRegression("y ~ " + " + ".join(f"x{i}" for i in range(20)))
    (useless,) = [line for line in explain(tacit.Plan(wide, many, tacit.PureDP(0.5), Newton())) if "Useless" in line]
    assert "with 21 coefficients" in useless
    assert "A budget with a delta above 0" in useless
    first = explain_plain(plan())["rounds"][0]
    assert set(first) == {"share", "matrix", "noise_at_zero"}


@pytest.mark.slow
def test_the_posterior_of_the_rows_own_likelihood(tmp_path):
    """Seed 0, n = 20,000, epsilon 4: a skewed five-point column. Six sds off the truth have odds of 2e-9."""
    made = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, tacit.ApproxDP(4.0, 1e-6), Newton())
    release = tacit.privatize(csv(tmp_path / "rows.csv", rows(20_000)), made, ledger=None)
    posterior = tacit.infer(release, seed=0, chains=2, draws=300, warmup=300)
    (slope,) = [row for row in posterior.summary() if row.name == "theta[x]"]
    assert abs(slope.mean + 1.44) < 6 * slope.sd
    assert slope.sd < 0.06
    assert tacit.Posterior.load(posterior.save(tmp_path / "posterior.nc")).summary()
