"""The point of a cohort: on its lattice, or refused."""

from __future__ import annotations

import math

import pytest

import tacit
from tacit.models.cohort import USUAL_SHARE, Cohort, rounded_point
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_sums import LARGEST

SCHEMA = tacit.Schema(ill=["no", "yes"], age=(20, 60), visits=(0, 9))
MODEL = tacit.LogisticRegression("ill ~ age")
TABLES = tacit.Plan(MODEL, SCHEMA, tacit.PureDP(1.0), tacit.Local("scores", (0.5, -1.25), 0.25)).to_plain()

BAD = {
    "off the lattice": ({"point": [0.5, 1 / (2 * POINT_UNIT)]}, "to have coefficients that are multiples of 1/1048576"),
    "off the lattice by a hair": ({"point": [math.nextafter(0.5, 1), 0.0]}, "multiples of"),
    "too large": ({"point": [0.0, LARGEST + 1]}, "at most 256 in size"),
    "too small": ({"point": [0.0, -1e300]}, "at most 256 in size"),
    "infinite": ({"point": [math.inf, 0.0]}, "at most 256 in size"),
    "not a number": ({"point": [math.nan, 0.0]}, "at most 256 in size"),
    "text": ({"point": ["1", 0.0]}, "at most 256 in size"),
    "truth": ({"point": [True, 0.0]}, "at most 256 in size"),
    "no list": ({"point": 1.0}, "to be a list of numbers"),
    "empty": ({"point": []}, "to be filled in"),
    "one too many": ({"point": [0.0, 0.0, 0.0]}, "to have 2 coefficients"),
    "one too few": ({"point": [0.0]}, "to have 2 coefficients"),
    "share of all": ({"matrix": 1.0}, "to be a number of at least 0 and below 1"),
    "negative share": ({"matrix": -0.1}, "to be a number of at least 0 and below 1"),
    "share as text": ({"matrix": "0.5"}, "to be a number of at least 0 and below 1"),
    "other protocol": ({"protocol": "statistics"}, "to be left out: the protocol 'statistics' has none"),
    "unknown key": ({"pint": [0.0, 0.0]}, "to be one of kind, protocol, point, matrix"),
}


def changed(**keys):
    return {**TABLES, "mechanism": {**TABLES["mechanism"], **keys}}


@pytest.mark.parametrize("case", BAD)
def test_a_forged_point_is_refused(case):
    keys, words = BAD[case]
    tacit.Plan.from_plain(TABLES)  # unchanged it is a plan
    with pytest.raises(tacit.InputError, match=words):
        tacit.Plan.from_plain(changed(**keys))


@pytest.mark.parametrize("model", [tacit.Bernoulli("ill"), tacit.Normal("age"), tacit.LinearRegression("visits ~ age")])
def test_families_without_scores_refuse_a_point(model):
    with pytest.raises(tacit.InputError, match="to be left out"):
        tacit.Plan(model, SCHEMA, tacit.GDP(1.0), tacit.Local(None, (0.0, 0.0)))
    with pytest.raises(tacit.InputError, match="protocol="):
        tacit.Plan(model, SCHEMA, tacit.GDP(1.0), tacit.Local("scores"))


def test_a_formula_without_an_intercept_is_refused():
    with pytest.raises(tacit.InputError, match="to meet a formula with an intercept"):
        tacit.Plan(tacit.LogisticRegression("ill ~ age - 1"), SCHEMA, tacit.GDP(1.0), tacit.Local("scores"))


def test_the_ends_of_the_range_are_taken():
    ends = (-float(LARGEST), LARGEST - 1 / POINT_UNIT)
    plan = tacit.Plan(MODEL, SCHEMA, tacit.PureDP(1.0), tacit.Local("scores", ends))
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert len(tacit.randomize({"ill": "yes", "age": 33}, plan)) == 5


def test_what_is_left_out_is_0_and_the_usual_share():
    assert Cohort().lattice_point(3) == (0, 0, 0)
    assert Cohort().share == USUAL_SHARE
    assert Cohort(matrix=0.0).share == 0
    assert Cohort((1, -2)).lattice_point(2) == (POINT_UNIT, -2 * POINT_UNIT)


def test_a_rounded_point_is_always_a_point():
    found = rounded_point([math.nan, math.inf, -1e9, 1e9, 0.12345, -0.0004])
    assert found == (0.0, 0.0, -256.0, 256.0, 126 / 1024, 0.0)
    Cohort(found)
