"""The unit of privacy: rows gathered by person, capped and filled by a rule that looks at one person at a time."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from laws.cases import exact_sums
from tacit.boundary import needed
from tacit.models.linear import LinearRegression
from tacit.report.plan_text import explain, explain_plain
from tacit.schema import Identifier
from tacit.sources import people as people_module
from tacit.sources.columns import parse_objects
from tacit.sources.open import open_source
from tacit.sources.people import by_person
from tacit.statistics.counts import Counts

SCHEMA = tacit.Schema(x=["a", "b", "c"])


def plan_for(max_rows, levels=("a", "b", "c"), weight=None):
    return tacit.Plan(
        tacit.Categorical("x"),
        tacit.Schema(x=list(levels)),
        tacit.PureDP(1.0),
        tacit.AddNoise(unit=tacit.Person("who", max_rows, weight)),
    )


def sums(plan, people):
    """``people``: a mapping from identifier to cells."""
    rows = [(who, cell) for who, cells in people.items() for cell in cells]
    data = {"who": [who for who, _ in rows], "x": [cell for _, cell in rows]}
    return exact_sums(open_source(data, *needed(plan)), plan)


def test_everyone_counts_the_same_number_of_rows():
    plan = plan_for(2)
    unit = plan.statistic().unit
    n, counts = sums(plan, {"p": ["b"], "q": ["c", "c", "c", "c"], "r": ["b", "c"]})
    assert n == 6
    assert [c // unit for c in counts] == [1, 2, 3]  # p's second row is empty and counts as the first level


def test_rows_without_an_identifier_are_one_person_together():
    plan = plan_for(1)
    assert sums(plan, {None: ["b"] * 50, "q": ["c"]})[0] == 2


@pytest.mark.parametrize("identifiers", [[1, 2, 1], ["1", "2", "1"], [1.0, 2.0, 1.0], [True, False, True]])
def test_identifiers_of_any_type(identifiers):
    plan = plan_for(1)
    data = {"who": identifiers, "x": ["a", "b", "a"]}
    assert exact_sums(open_source(data, *needed(plan)), plan)[0] == 2


@given(
    people=st.dictionaries(st.text(min_size=1, max_size=3), st.lists(st.sampled_from("abcd"), min_size=1, max_size=6)),
    max_rows=st.integers(1, 4),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_order_does_not_matter_and_one_person_moves_at_most_max_rows(people, max_rows, data):
    """Replacing all rows of one person by any others: n stays, and the sum moves by at most the claimed sensitivity."""
    if len({who.strip() for who in people}) != len(people) or not people or "" in {who.strip() for who in people}:
        return
    plan = plan_for(max_rows)
    n, counts = sums(plan, people)
    assert n == len(people) * max_rows
    shuffled = {who: list(reversed(people[who])) for who in reversed(list(people))}
    assert sums(plan, shuffled) == (n, counts)
    who = data.draw(st.sampled_from(sorted(people)))
    other = data.draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=8))
    m, changed = sums(plan, {**people, who: other})
    assert m == n
    difference = [a - b for a, b in zip(counts, changed, strict=True)]
    assert sum(map(abs, difference)) <= plan.sensitivity().l1
    assert sum(d * d for d in difference) <= plan.sensitivity().l2_squared


@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_the_sensitivity_is_attained_and_never_beaten(max_rows):
    """Brute force over all pairs of persons with up to ``max_rows`` + 1 rows: the planted fault is the price of one."""
    plan = plan_for(max_rows)
    lists = [c for k in range(1, max_rows + 2) for c in itertools.combinations_with_replacement("abc", k)]
    vectors = np.array([sums(plan, {"p": list(cells)})[1] for cells in lists])
    worst = np.abs(vectors[:, None] - vectors[None]).sum(axis=2).max()
    assert Fraction(int(worst)) == plan.sensitivity().l1
    if max_rows > 1:
        assert worst > plan.statistic().sensitivity().l1


def test_the_noise_grows_with_max_rows():
    assert plan_for(5).noise().scales[0] == 5 * plan_for(1).noise().scales[0]
    assert plan_for(5).event().satisfies(tacit.PureDP(1.0))


def test_the_plan_file_says_it():
    plan = plan_for(3)
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert 'unit = "person"' in plan.to_toml()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"unit": "person", "id": "who"}, "max_rows"),
        ({"unit": "person", "max_rows": 2}, "id"),
        ({"unit": "person", "id": "who", "max_rows": 0}, "max_rows"),
        ({"unit": "person", "id": "x", "max_rows": 2}, "not to be declared"),
        ({"unit": "household", "id": "who", "max_rows": 2}, "unit"),
        ({"id": "who", "max_rows": 2}, "unit"),
        ({"unit": "person", "id": 3, "max_rows": 2}, "id"),
        ({"unit": "person", "idd": "who", "max_rows": 2}, "did you mean 'id'"),
    ],
)
def test_refused_in_one_sentence(table, said):
    plain = {**plan_for(1).to_plain(), "mechanism": {"kind": "noise", **table}}
    with pytest.raises(tacit.InputError, match=said):
        tacit.Plan.from_plain(plain)


def test_a_missing_id_column_is_refused_before_anything_is_read():
    with pytest.raises(tacit.InputError, match="who"):
        tacit.privatize({"x": ["a"]}, plan_for(1), ledger=None)


LINEAR = tacit.Schema(y=(-1, 1), x=(-1, 1))


def linear_plan(max_rows, weight=None):
    unit = tacit.AddNoise(unit=tacit.Person("who", max_rows, weight))
    return tacit.Plan(LinearRegression("y ~ x"), LINEAR, tacit.PureDP(1.0), unit)


def linear_data(people):
    """``people``: a mapping from identifier to pairs of numbers."""
    rows = [(who, *pair) for who, pairs in people.items() for pair in pairs]
    return {name: [row[i] for row in rows] for i, name in enumerate(("who", "y", "x"))}


def linear_sums(plan, people):
    return exact_sums(open_source(linear_data(people), *needed(plan)), plan)


numbers = st.sampled_from([-1.0, -0.75, -0.0, 0.0, 0.1, 1.0, float("nan"), float("inf")])
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5)


@given(people=st.dictionaries(st.sampled_from("pqrst"), pairs, min_size=1), other=pairs, max_rows=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_numbers_by_person(people, other, max_rows):
    """Fresh entropy. Order does not matter, and one person moves a Gram matrix by no more than the claim."""
    plan = linear_plan(max_rows)
    n, before = linear_sums(plan, people)
    assert n == len(people) * max_rows
    assert linear_sums(plan, {who: people[who][::-1] for who in reversed(list(people))}) == (n, before)
    m, after = linear_sums(plan, {**people, min(people): other})
    assert m == n
    difference = [a - b for a, b in zip(before, after, strict=True)]
    assert sum(map(abs, difference)) <= plan.sensitivity().l1
    assert sum(d * d for d in difference) <= plan.sensitivity().l2_squared


def test_a_regression_by_person_goes_through():
    data = linear_data({"p": [(0.5, 1.0)], "q": [(1.0, 0.0)] * 5})
    for weight, n in (("person", 2), ("row", None)):
        release = tacit.privatize(data, linear_plan(2, weight), ledger=None)
        assert release.n == n
        assert tacit.Release.from_json(release.to_json()) == release
    with pytest.raises(tacit.InputError, match=r'Expected weight=None of .mechanism. to be "row".* or "person"'):
        tacit.privatize(data, linear_plan(2), ledger=None)
    plan = linear_plan(2)
    assert plan.noise().sd[0] > 1.9 * linear_plan(1).noise().sd[0]


def test_people_are_told_apart_by_the_whole_text(monkeypatch):
    """The planted fault: a digest under which everybody collides. It may change which rows count, not who is who."""
    monkeypatch.setattr(people_module, "_digest", lambda _text: 7)
    everyone = {f"person {i}": ["b"] for i in range(1000)}
    n, counts = sums(plan_for(1), everyone)
    unit = plan_for(1).statistic().unit
    assert n == 1000
    assert [count // unit for count in counts] == [0, 1000, 0]


@pytest.mark.parametrize("max_rows", [1, 3])
def test_rare_rows_are_not_chosen_more_often_than_others(max_rows, monkeypatch):
    """2,000 people with 9 rows a and 1 row b each: of the rows that count a tenth is b, 0.1 +- 5 standard errors, a
    false-alarm rate below 1e-6. Planted: the choice by cells alone, where b is first for every second person.
    """
    rows = {f"person {i}": ["a"] * 9 + ["b"] for i in range(2_000)}
    plan = plan_for(max_rows, levels=("a", "b", "c"), weight="row")

    def share():
        _, totals = sums(plan, rows)
        return totals[1] / sum(totals[:3])

    error = (0.1 * 0.9 / (2_000 * max_rows)) ** 0.5
    assert abs(share() - 0.1) < 5 * error
    monkeypatch.setattr(people_module, "_copies", lambda place, columns: np.zeros(len(place), np.int64))
    assert abs(share() - 0.1) > 5 * error


def test_minus_zero_is_zero_in_any_order():
    """Rows that are equal to the statistic are numbered together, so that what counts depends on no order."""
    plan, cells = linear_plan(1, weight="row"), [(0.0, 0.5), (-0.0, 0.5), (0.5, -0.0)]
    found = [
        linear_sums(plan, {f"person {k}": list(order) for k in range(40)}) for order in itertools.permutations(cells)
    ]
    assert all(one == found[0] for one in found)


def test_a_choice_does_not_depend_on_anybody_else():
    """What counts of p is the same whoever comes before p, beside p or after p."""
    plan = plan_for(2)
    crowd = {f"person {i}": ["a"] * 2 for i in range(50)}
    for cells in (list("abc"), list("bbcc"), list("ccba"), ["b"]):
        alone = np.array(sums(plan, {"p": cells})[1])
        for everyone in ({**crowd, "p": cells}, {"p": cells, **crowd}):
            others = np.array(sums(plan, crowd)[1])
            assert (np.array(sums(plan, everyone)[1]) - others == alone).all()


def test_identifiers_that_no_encoding_can_write():
    people = {**{chr(0xD800 + i): ["a"] for i in range(2)}, "?": ["c"], "": ["a"], " ": ["b"]}
    assert sums(plan_for(1), people)[0] == 4  # the last two are missing, and one person together


class Unwritten:
    """Its text is where it lies in memory."""


@pytest.mark.parametrize("make", [lambda: memoryview(b"p"), Unwritten])
def test_a_person_is_not_told_by_an_address_in_memory(make):
    """Cells that database drivers give for bytes, and objects that say nothing of themselves: six rows are of one
    person, of whom two count. Before, they were of six people.
    """
    rows = [("q", "a"), *((make(), "b") for _ in range(6))]
    data = {"who": [who for who, _ in rows], "x": [cell for _, cell in rows]}
    n, counts = exact_sums(open_source(data, *needed(plan_for(2))), plan_for(2))
    assert n == 4
    assert counts[1] == 2 * plan_for(2).statistic().unit


def test_identifiers_are_exact():
    cells = parse_objects([" p ", None, 1, 1.0, "007", b"p", b"\xff", "\udcff", "0e12", Decimal("7.00")], Identifier())
    assert cells.tolist() == [b"p", b"", b"1", b"1", b"7", b"p", b"\xff", b"\xff", b"0e12", b"7"]


@pytest.mark.parametrize("max_rows", [1, 3, 1000])
def test_counted_empty_rows_are_made_empty_rows(max_rows):
    """The sum is the one of a table in which the empty rows stand, one by one."""
    people = {"p": [(0.5, 1.0)], "q": [(1.0, 0.0)] * 5, "r": [(-1.0, 0.25), (0.1, 0.2)]}
    plan = linear_plan(max_rows)
    columns, schema = needed(plan)
    statistic = plan.statistic()
    batches = open_source(linear_data(people), columns, schema).batches(schema, columns, 2)
    found = by_person(batches, schema, statistic.columns, person="who", max_rows=max_rows)
    assert found.kept.rows + found.empty == found.rows == 3 * max_rows
    made = {
        name: np.concatenate([values, np.repeat(found.filler.columns[name], found.empty)])
        for name, values in found.kept.columns.items()
    }
    assert linear_sums(plan, people) == (3 * max_rows, [int(v) for v in statistic.batch_sum(made)])


def test_a_million_empty_rows_take_no_loop(monkeypatch):
    """The number of calls is the same for one row a person and for many: it would tell how many rows people have."""
    calls = []
    monkeypatch.setattr(Counts, "batch_sum", lambda _self, columns: calls.append(len(columns["x"])) or [0, 0, 0])
    assert sums(plan_for(10**6), {str(i): ["b"] for i in range(30)})[0] == 30 * 10**6
    assert calls == [30, 1]


def test_progress_sees_what_is_public():
    for rows in (1, 2, 7):
        seen = []
        data = {"who": ["p"] * rows + ["q"], "x": ["b"] * (rows + 1)}
        tacit.privatize(data, plan_for(2, weight="person"), ledger=None, progress=seen.append)
        assert seen == [2]
        seen.clear()
        tacit.privatize(data, plan_for(2, weight="row"), ledger=None, progress=seen.append)
        assert seen == []


def test_a_fault_after_the_charge_says_nothing_about_rows(monkeypatch, tmp_path):
    def fault(_self, columns):
        raise RuntimeError(f"canary {columns['x']}")

    monkeypatch.setattr(Counts, "batch_sum", fault)
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("d", tacit.PureDP(3.0), "who")
    with pytest.raises(tacit.InputError) as caught:
        tacit.privatize({"who": ["p"], "x": ["canary"]}, plan_for(1), ledger=ledger, dataset="d")
    assert str(caught.value) == "Expected the data to be readable to its end; the budget counts as spent."
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert [entry.kind for entry in ledger.entries("d")][-1] == "spend"
    monkeypatch.setattr(Counts, "batch_sum", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tacit.privatize({"who": ["p"], "x": ["b"]}, plan_for(1), ledger=None)


def test_the_words_say_whose_privacy_it_is():
    said = " ".join(explain(plan_for(3)))
    for words in (
        "the unit of privacy is a person",
        "exactly 3 rows of each person count",
        "filled up with rows of stand-ins, which the results are then about",
        "the rest is left out",
        "the number of people",
    ):
        assert words in said
    assert explain_plain(plan_for(3))["unit_of_privacy"] == {"unit": "person", "id": "who", "max_rows": 3}
    row_plan = tacit.Plan(tacit.Categorical("x"), SCHEMA, tacit.PureDP(1.0))
    assert "the unit of privacy is a row" in " ".join(explain(row_plan))
    assert explain_plain(row_plan)["unit_of_privacy"] == {"unit": "row"}


def test_the_page_says_whose_privacy_it_is():
    for plan, said, unsaid in (
        (plan_for(2, weight="person"), "replacing one person", "replacing one row"),
        (tacit.Plan(tacit.Categorical("x"), SCHEMA, tacit.PureDP(1.0)), "replacing one row", "replacing one person"),
    ):
        release = tacit.simulate(plan, n=100, seed=1).release
        for method in (None, "naive"):
            page = tacit.report(tacit.infer(release, draws=50, chains=1, warmup=20, method=method))
            assert said in page
            assert unsaid not in page
            assert ("privacy added is included" in page) is (method is None)
            assert ("100 people" in page) is (plan.mechanism.person is not None)


def test_simulation_and_inference_go_through():
    plan = plan_for(2, weight="person")
    posterior = tacit.infer(tacit.simulate(plan, n=100, seed=1).release, draws=50, chains=1, warmup=20)
    assert posterior.release.n == 100
    with pytest.raises(tacit.InputError, match=r'Expected weight=None of .mechanism. to be "row"'):
        tacit.infer(tacit.simulate(plan_for(2), n=100, seed=1).release)
    with pytest.raises(tacit.InputError, match="multiple"):
        tacit.simulate(plan_for(2), n=101, seed=1)
