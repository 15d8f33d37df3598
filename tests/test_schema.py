"""What may be declared, and what is refused in one sentence."""

from __future__ import annotations

import math
from datetime import date

import pytest

from tacit.errors import InputError
from tacit.schema import Category, Number, Schema


def test_bounds_levels_and_tables():
    schema = Schema(age=(18, 65), smoker=["no", "yes"], bmi={"bounds": [15, 55], "missing": 25}, sex={"levels": [0, 1]})
    assert schema["age"] == Number(18, 65, 41.5)
    assert schema["smoker"] == Category(("no", "yes"), "no")
    assert schema["bmi"] == Number(15, 55, 25)
    assert schema["sex"] == Category((0, 1), 0)
    assert Schema(schema.to_plain()) == schema
    assert hash(Schema(schema.to_plain())) == hash(schema)


def test_names_that_are_no_identifiers():
    assert list(Schema({"body mass": (15, 55)})) == ["body mass"]


@pytest.mark.parametrize(
    "column",
    [
        (65, 18),
        (1, 1),
        (math.nan, 1),
        (0, math.inf),
        (-1e308, 1e308),
        (True, False),
        ("a", 1),
        (1, 2, 3),
        [],
        ["only"],
        ["twice", "twice"],
        ["a ", "b"],
        {"levels": [10**400, 1]},
        {"levels": [0, "a"]},
        {"levels": [0, math.nan]},
        {"levels": "no"},
        {"bounds": [0, 1], "levels": ["a", "b"]},
        {"bounds": [0, 1], "missing": 2},
        {"levels": ["a", "b"], "missing": "c"},
        {"bounds": [0, 1], "mising": 0.5},
        {"levels": [[1], [2]]},
        5,
        None,
        "yes",
    ],
    ids=repr,
)
def test_refused_in_one_sentence_that_names_the_column(column):
    with pytest.raises(InputError, match=r"column 'x'.*Expected .*\.$"):
        Schema(x=column)


@pytest.mark.parametrize("name", ["", " a", "a "])
def test_refused_names(name):
    with pytest.raises(InputError, match="column name"):
        Schema({name: (0, 1)})


def test_an_empty_schema_is_refused():
    with pytest.raises(InputError, match="at least one column"):
        Schema()


def test_a_misspelt_column_gets_a_hint():
    with pytest.raises(InputError, match="did you mean 'smoker'"):
        Schema(smoker=["no", "yes"])["smoke"]


def test_the_wrong_kind_is_refused():
    schema = Schema(age=(18, 65), smoker=["no", "yes"])
    with pytest.raises(InputError, match="bounds, not levels"):
        schema.number("smoker")
    with pytest.raises(InputError, match="levels, not bounds"):
        schema.category("age")


@pytest.mark.parametrize("given", [[date(2019, 1, 1), date(2025, 12, 31)], {"bounds": ["2019-01-01", "2025-12-31"]}])
def test_bounds_that_are_dates_are_told_the_number_of_days(given):
    with pytest.raises(InputError, match=r"'visit': Expected bounds='2019-01-01' .* here 17897: "):
        Schema(visit=given)
