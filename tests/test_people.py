"""The unit of privacy: rows gathered by person, capped and filled by a rule that looks at one person at a time."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.boundary import exact_sums, needed
from tacit.sources.open import open_source

SCHEMA = tacit.Schema(x=["a", "b", "c"])


def plan_for(max_rows, levels=("a", "b", "c")):
    return tacit.Plan(
        tacit.Categorical("x"),
        tacit.Schema(x=list(levels)),
        tacit.PureDP(1.0),
        tacit.AddNoise(unit=tacit.Person("who", max_rows)),
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


def test_simulation_and_inference_go_through():
    plan = plan_for(2)
    posterior = tacit.infer(tacit.simulate(plan, n=100, seed=1).release, draws=50, chains=1, warmup=20)
    assert posterior.release.n == 100
    with pytest.raises(tacit.InputError, match="multiple"):
        tacit.simulate(plan, n=101, seed=1)
