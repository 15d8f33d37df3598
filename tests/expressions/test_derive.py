"""What derived columns are declared as, and what is refused."""

import pytest

from tacit.errors import InputError
from tacit.expressions.derive import MOST_DERIVED, row_filter_of, with_derived
from tacit.schema import Category, Number, Schema

SCHEMA = Schema(
    visits=(0, 50),
    age=(18, 90),
    weight=(30, 200),
    height=(1.2, 2.2),
    region=["north", "south", "west"],
    ward={"levels": [1, 2, 3]},
    smoker={"levels": [False, True]},
    free={"bounds": [0, 1], "clamp": False},
)


@pytest.mark.parametrize(
    ("said", "column"),
    [
        ("visits > 0", Category((False, True))),
        ({"value": "visits > 0", "missing": True}, Category((False, True), True)),
        ("cut(age, [18, 35, 50, 65])", Category(("[18, 35)", "[35, 50)", "[50, 65)", "[65, 90]"))),
        ("cut(age, [35.5])", Category(("[18, 35.5)", "[35.5, 90]"))),
        ("cut(visits * 2, [50])", Category(("[0, 50)", "[50, 100]"))),
        ("recode(region, {'north': 'far', 'west': 'far'})", Category(("far", "south"))),
        ("recode(ward, {1: 'a', 2: 'b', 3: 'b'})", Category(("a", "b"))),
        ("recode(ward, {3: 2})", Category((1, 2))),
        ("recode(visits > 0, {true: 'some', false: 'none'})", None),
        ("weight / height^2", Number(30 / (2.2 * 2.2), 200 / (1.2 * 1.2))),
        ({"value": "weight / height^2", "bounds": [15, 55], "missing": 25}, Number(15, 55, 25)),
        ({"value": "1 / visits", "bounds": [0, 1]}, Number(0, 1)),
        ("count(smoker, visits > 0, region == 'north')", Number(0, 3)),
        ("max(visits, age) - min(visits, 10)", Number(8, 90)),
        ("abs(visits - 10)", Number(0, 40)),
        ("(visits - 10)^2", Number(0, 1600)),
        ("floor(age / 10)", Number(1, 9)),
        ("sqrt(visits)", Number(0, 50**0.5)),
        ("region in ['north', 'west']", Category((False, True))),
        ("ward == 2", Category((False, True))),
        ("ward not in [2, '03']", Category((False, True))),
        ("smoker", Category((False, True))),
        ("smoker == true and not visits in [0, 1]", Category((False, True))),
        ("region", Category(("north", "south", "west"))),
    ],
)
def test_declared_as(said, column):
    if column is None:
        with pytest.raises(InputError, match="to have a column of levels here, not a condition"):
            with_derived(SCHEMA, {"z": said})
        return
    assert with_derived(SCHEMA, {"z": said})["z"] == column


def test_columns_may_name_each_other_in_any_order():
    schema = with_derived(SCHEMA, {"big": "bmi > 30", "bmi": {"value": "weight / height^2", "bounds": [15, 55]}})
    assert list(schema.derived) == ["bmi", "big"]
    assert schema.read_for(["big"]) == ("weight", "height")
    assert schema.derived_plain() == {"bmi": {"value": "weight / height^2", "bounds": [15, 55]}, "big": "bmi > 30"}
    assert with_derived(schema.of_table, schema.derived_plain()) == schema
    assert schema.of_table == SCHEMA


def test_a_chain_of_columns_is_followed_once():
    """Each names the two before it: as a tree, the last would have 10^20 leaves."""
    table = {"d0": "visits", "d1": "visits + 1"}
    for i in range(2, MOST_DERIVED):
        table[f"d{i}"] = {"value": f"d{i - 1} + d{i - 2}", "bounds": [0, 100]}
    assert with_derived(SCHEMA, table).read_for([f"d{MOST_DERIVED - 1}"]) == ("visits",)
    with pytest.raises(InputError, match="at most 100 columns"):
        with_derived(SCHEMA, {**table, "more": "visits > 1"})


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"z": "hieght * 2"}, "to name columns of the schema (did you mean 'height'?)"),
        ({"z": "region == 'nroth'"}, "to name declared levels (did you mean 'north'?)"),
        ({"z": "region < 'south'"}, "to compare levels with ==, != or in, not with <"),
        ({"z": "region == visits"}, "to compare a column of levels with one of its levels"),
        ({"z": "visits == 'none'"}, "to compare numbers, or levels; here stands a text"),
        ({"z": "region + 1"}, "to have a number here, not a column of levels"),
        ({"z": "visits and age > 20"}, "to have a condition here, such as x > 0, not a number"),
        ({"z": "(visits > 0) + 1"}, "to have a number here, not a condition"),
        ({"z": "region in []"}, "to have something in the list"),
        ({"z": "age >= 18"}, "so this always holds"),
        ({"z": "age > 90"}, "so this never holds"),
        ({"z": "visits == -1"}, "so this never holds"),
        ({"z": "visits / 0"}, "not to divide by 0"),
        ({"z": "1 / visits"}, "to have bounds that follow from those of its columns, or bounds beside it"),
        ({"z": "log(visits)"}, "to have bounds that follow"),
        ({"z": "visits * 1e308"}, "to have bounds that follow"),
        ({"z": "free * 2"}, "to have bounds that follow"),
        ({"z": "visits * 0"}, "to have bounds that follow"),
        ({"z": "log(-visits)"}, "to have a number here that has a log"),
        ({"z": "cut(age, [10, 50])"}, "to have edges inside the bounds (18, 90)"),
        ({"z": "cut(age, [18, 90])"}, "to have an edge between the bounds (18, 90)"),
        ({"z": "cut(age, [50, 40])"}, "edges that rise"),
        ({"z": "cut(age, [visits])"}, "to have a list of numbers"),
        ({"z": "cut(1 / visits, [1])"}, "to cut a number whose bounds are known"),
        ({"z": "recode(region, {'nowhere': 'x'})"}, "to name declared levels"),
        ({"z": "recode(region, {'north': 'x', 'north': 'y'})"}, "to name every level once"),
        ({"z": "recode(region, {'north': 'nan', 'south': 'b'})"}, "to make levels that a column may have"),
        ({"z": "recode(region, {'north': 'a', 'south': 'a', 'west': 'a'})"}, "to leave two levels or more"),
        ({"z": "recode(region, {'north': 1})"}, "to make levels that a column may have"),
        ({"z": "is_missing(visits + 1)"}, "to give is_missing the name of a declared column"),
        ({"z": "is_missing('visits')"}, "to name a column"),
        ({"z": "mean(visits)"}, "to call abs, floor, sqrt, log, min, max, cut, recode, count or is_missing"),
        ({"z": "sqrt(visits, 2)"}, "to give sqrt 1 argument"),
        ({"z": "cut(visits)"}, "to give cut 2 arguments"),
        ({"z": "1 + 2"}, "to name a column"),
        ({"z": "1e999 * visits"}, "numbers that float64 can hold"),
        ({"z": "z + 1"}, "not to follow from itself"),
        ({"a": "b > 1", "b": {"value": "count(a)", "bounds": [0, 5]}}, "not to follow from itself"),
        ({"age": "visits"}, "to have a name that no column of the schema has"),
        ({"": "visits"}, "non-empty"),
        ({"z\n": "visits"}, "derived column"),
        ({"z": {"value": "visits", "level": 1}}, "to be value, bounds or missing"),
        ({"z": {"bounds": [0, 1]}}, "to be an expression in a text"),
        ({"z": {"value": "visits", "bounds": [60, 70]}}, "to hold some of its values"),
        ({"z": {"value": "visits", "bounds": [0, 20], "missing": 30}}, "missing"),
        ({"z": {"value": "visits > 0", "bounds": [0, 1]}}, "to be left out, as it has levels"),
        ({"z": 5}, "to be an expression in a text"),
        (5, "to be a table"),
    ],
)
def test_refused_in_one_sentence(table, said):
    with pytest.raises(InputError) as caught:
        with_derived(SCHEMA, table)
    assert said in str(caught.value)
    assert str(caught.value).startswith(("Expected ", "In the schema, "))


@pytest.mark.parametrize("text", ["age", "region", "cut(age, [50])", "'north'", "true", "5 > 2", "", None, 3])
def test_a_filter_is_a_condition_about_columns(text):
    with pytest.raises(InputError, match=r"^Expected rows="):
        row_filter_of(SCHEMA, text)


def test_a_column_of_truths_is_a_condition():
    assert row_filter_of(SCHEMA, "smoker").named == {"smoker"}
    assert row_filter_of(with_derived(SCHEMA, {"some": "visits > 0"}), "some and not is_missing(age)").named == {
        "some",
        "age",
    }
