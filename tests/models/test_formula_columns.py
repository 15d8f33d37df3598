"""Terms of a formula on a schema: which columns they make, what these mean, and what new data are turned into."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tacit
from tacit.calibration.expected_columns import ExpectedColumns
from tacit.calibration.plausible_tables import PlausibleTables
from tacit.errors import InputError
from tacit.models.regression import design_for

SCHEMA = tacit.Schema(
    y=["no", "yes"], count=(0, 9), age=(18, 90), dose=(0, 10), days=(1, 400), sex=["f", "m", "x"], charges=(0, 1000)
)
NAMES = [
    ('C(sex, ref="m")', ["Intercept", "sex[f]", "sex[x]"]),
    ('C(sex, ref="m") - 1', ["sex[f]", "sex[m]", "sex[x]"]),
    ("C(sex)*log(days)", ["Intercept", "sex[m]", "sex[x]", "log(days)", "sex[m]:log(days)", "sex[x]:log(days)"]),
    ("poly(age, 2)", ["Intercept", "poly(age, 2)[1]", "poly(age, 2)[2]"]),
    ("bs(dose, knots=[5], degree=1)", ["Intercept"] + [f"bs(dose, knots=[5], degree=1)[{k}]" for k in (1, 2)]),
    ("I(age*dose) + I(age**2)", ["Intercept", "age:dose", "I(age**2)"]),
    ("age + offset(log(days))", ["Intercept", "age", "offset(log(days))"]),
    ("log1p(dose) - 1", ["log1p(dose)"]),
]


@pytest.mark.parametrize(("terms", "names"), NAMES)
def test_the_columns_of_a_term(terms, names):
    assert design_for(f"y ~ {terms}", SCHEMA).names == names


def test_every_term_is_what_it_says_and_goes_back_to_the_units_of_the_data():
    """Seed 1: the linear predictor in mapped units is that of coefficients in the units of the data."""
    formula = 'y ~ sqrt(dose)*C(sex, ref="m") + I(age**2):dose + log(days) + poly(age, 2) + bs(age, knots=[50])'
    design = design_for(formula, SCHEMA)
    rng = np.random.default_rng(1)
    new = {
        "dose": rng.uniform(0, 10, 50),
        "age": rng.uniform(18, 90, 50),
        "days": rng.uniform(1, 400, 50),
        "sex": rng.choice(["f", "m", "x"], 50),
    }
    theta = rng.normal(size=len(design.names))
    own = dict(zip(design.names, design.original_units(theta), strict=True))
    u = (new["age"] - 54) / 36
    values = {
        "Intercept": 1.0,
        "sqrt(dose)": np.sqrt(new["dose"]),
        "sex[f]": new["sex"] == "f",
        "sex[x]": new["sex"] == "x",
        "sqrt(dose):sex[f]": np.sqrt(new["dose"]) * (new["sex"] == "f"),
        "sqrt(dose):sex[x]": np.sqrt(new["dose"]) * (new["sex"] == "x"),
        "I(age**2):dose": new["age"] ** 2 * new["dose"],
        "log(days)": np.log(new["days"]),
        "poly(age, 2)[1]": u,
        "poly(age, 2)[2]": (3 * u**2 - 1) / 2,
    }
    from scipy.interpolate import BSpline

    splines = BSpline.design_matrix(new["age"], [18.0] * 4 + [50.0] + [90.0] * 4, 3).toarray()
    values |= {f"bs(age, knots=[50])[{k}]": splines[:, k] for k in range(1, 5)}
    assert set(values) == set(own)
    expected = sum(own[name] * value for name, value in values.items())
    assert np.allclose(design.matrix(design.parse(new)) @ theta, expected, rtol=1e-10)


def test_new_data_beyond_the_bounds_of_a_function_count_as_the_bound_and_say_so():
    design = design_for("y ~ log(days) + age", SCHEMA)
    with pytest.warns(UserWarning, match="'days' of new goes beyond 1 to 400"):
        beyond = design.matrix(design.parse({"days": [0.0, 900.0], "age": [40.0, 40.0]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        at = design.matrix(design.parse({"days": [1.0, 400.0], "age": [40.0, 40.0]}))
    with pytest.warns(UserWarning, match="'age' of new goes beyond 18 to 90: .* the line goes on"):
        design.parse({"days": [1.0], "age": [100.0]})
    assert (beyond == at).all()


POISSON = tacit.PoissonRegression("count ~ age + offset(log(days))", link="log")
BUDGET = tacit.ApproxDP(1.0, 1e-6)


def test_an_offset_needs_scores_and_no_ball():
    plan = tacit.Plan(POISSON, SCHEMA, BUDGET)
    assert plan.mechanism == tacit.Newton()
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    for model, mechanism, words in [
        (POISSON, tacit.AddNoise(), 'kind = "newton"'),
        (tacit.LinearRegression("charges ~ age + offset(dose)"), None, "declare the difference as the response"),
        (tacit.LogisticRegression("y ~ age + offset(dose)", radius=1.0), tacit.Newton(), "beside a radius"),
    ]:
        with pytest.raises(InputError, match=words):
            tacit.Plan(model, SCHEMA, BUDGET, *([mechanism] if mechanism else []))


def test_functions_need_scores_in_families_whose_numbers_are_taken_for_normal():
    model = tacit.LogisticRegression("y ~ log(days)")
    assert tacit.Plan(model, SCHEMA, BUDGET).mechanism == tacit.Newton()
    with pytest.raises(InputError, match=r'scores in rounds take them, with kind = "newton"'):
        tacit.Plan(model, SCHEMA, BUDGET, tacit.AddNoise())
    assert tacit.Plan(tacit.LinearRegression("charges ~ bs(age, knots=[50])"), SCHEMA, BUDGET).event() is not None


def test_the_coefficient_of_an_offset_is_one_in_what_is_drawn_and_shown_nowhere():
    """Seed 2: of 20 prior draws none is further from 1 than 5 standard deviations of a thousandth."""
    plan = tacit.Plan(POISSON, SCHEMA, BUDGET)
    place = 2
    assert dict(POISSON.score_link(SCHEMA).fixed) == {place: np.log(400) / 2}
    for seed in range(20):
        theta = tacit.simulate(plan, n=5, seed=seed).parameters["theta"]
        found = POISSON.design(SCHEMA).original_units(theta)[place]
        assert found == pytest.approx(1.0, abs=0.005)
    assert set(POISSON.coefficients({"theta": np.zeros((3, 3))}, SCHEMA)) == {"Intercept", "age"}


def test_made_up_tables_know_the_offset():
    """Seed 0: both tables of a study have the coefficient of an offset at 1, and counts that grow with it."""
    plan = tacit.Plan(POISSON, SCHEMA, BUDGET)
    for table in PlausibleTables(plan, ExpectedColumns(), 2, 0).every():
        assert POISSON.design(SCHEMA).original_units(table.theta)[2] == pytest.approx(1.0)
        assert np.corrcoef(np.log(table.cells["days"]), table.cells["count"])[0, 1] > 0
