"""Noisy scores in rounds: a release that is read back, at a price that is fixed beforehand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import tacit
from score_toy import BUDGETS, MODELS, SCHEMA, csv, plan, rows
from tacit.errors import InputError
from tacit.mechanisms import newton
from tacit.mechanisms.newton import Newton
from tacit.mechanisms.request import Request
from tacit.models.score_noise import ScoreNoise
from tacit.release import Release
from tacit.statistics.score_sums import POINT_UNIT


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
    made = tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, BUDGETS["approximate"], tacit.AddNoise())
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


def test_partials_streams_and_other_families_are_refused(tmp_path):
    with pytest.raises(InputError, match="partial"):
        tacit.partial(csv(tmp_path / "rows.csv", rows(60)), plan(), dataset="d")
    stream = pa.table(rows(60)).to_reader()
    with pytest.raises(InputError, match="times"):
        tacit.privatize(stream, plan(), ledger=None)
    with pytest.raises(InputError, match="kind='newton'"):
        tacit.Plan(tacit.Bernoulli("y"), SCHEMA, tacit.PureDP(1.0), Newton())


@pytest.mark.parametrize("found", [(math.nan,) * 5, (math.inf,) * 5, (1e300,) * 5, (0.0,), None])
def test_a_next_point_of_any_kind_is_brought_onto_the_lattice(found, tmp_path):
    """Whatever the step function returns or raises, the release is made, and its points lie where points can lie."""

    asked = []

    def step(rounds, values, n, link):
        asked.append(n)
        if found is None:
            raise ArithmeticError
        return found

    with mock.patch.object(newton, "next_point", step):
        release = tacit.privatize(csv(tmp_path / "rows.csv", rows(60)), plan(), ledger=None)
    assert asked
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
    assert seen
    for k, (rounds, values, n) in enumerate(seen):
        assert rounds == release.noise_parameters.facts(release.unit)[: k + 1]
        assert values == [
            [v / release.unit for v in some] for some in release.noise_parameters.split(release.values)[: k + 1]
        ]
        assert n == release.n


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
            assert (
                made.central().checked(Request(made.model, SCHEMA, budget), noise_parameters).event().satisfies(budget)
            )


def test_check_prints_the_rounds_their_shares_and_their_noise():
    from tacit.report.plan_text import explain, explain_plain

    text = "\n".join(explain(plan(shares=[1, 3], matrix=[0.5, 0])))
    assert "Mechanism: newton, scores in rounds (the default); the rows are read 2 times" in text
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


def test_the_last_round_has_the_observed_information_where_noise_is_tiny():
    """Of counts by softplus alone; what it costs is the same."""

    def made(model, epsilon):
        budget = tacit.ApproxDP(epsilon, 1e-6)
        return tacit.Plan(MODELS[model], SCHEMA, budget, Newton()).calibrated_mechanism()

    wide = made("poisson", 1e4)
    zero = (0,) * len(wide.sums.coordinates)
    observed = [wide.statistic(place, zero).observed for place in range(wide.passes)]
    assert observed == [False] * (wide.passes - 1) + [True]
    last = wide.round_at(wide.passes - 1, zero)
    expected = replace(wide, sums=replace(wide.sums, observed=False)).round_at(wide.passes - 1, zero)
    assert last.scales[1] > expected.scales[1], "it is larger, and so is its noise"
    assert wide.event().satisfies(tacit.ApproxDP(1e4, 1e-6))
    for model, epsilon in (("poisson", 4.0), ("log", 1e4), ("logistic", 1e4)):
        assert not made(model, epsilon).sums.observed
