"""The formula language: what it means, what it refuses, and that it can be written back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit._support.printable import flaw
from tacit.errors import InputError
from tacit.models.formula import Formula, parse_formula


@pytest.mark.parametrize(
    ("text", "terms", "intercept"),
    [
        ("y ~ a", [("a",)], True),
        ("y~a+b", [("a",), ("b",)], True),
        ("y ~ 1", [], True),
        ("y ~ a - 1", [("a",)], False),
        ("y ~ 0 + a", [("a",)], False),
        ("y ~ -1 + a", [("a",)], False),
        ("y ~ a - 1 + 1", [("a",)], True),
        ("y ~ a - 0", [("a",)], True),
        ("y ~ a:b", [("a", "b")], True),
        ("y ~ a*b", [("a",), ("b",), ("a", "b")], True),
        ("y ~ a*b + b:a + a", [("a",), ("b",), ("a", "b")], True),
        ("y ~ a*b*c", [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")], True),
        ("y ~ `body mass` + b.m_i2", [("body mass",), ("b.m_i2",)], True),
        ("y ~ `a+b` + `1`", [("a+b",), ("1",)], True),
        ("y ~ größe + _x", [("größe",), ("_x",)], True),
        ("y ~ `²` + x²", [("²",), ("x²",)], True),
    ],
)
def test_what_a_formula_means(text, terms, intercept):
    assert parse_formula(text) == Formula("y", tuple(terms), intercept)


def test_columns_come_in_order_with_the_response_last():
    assert parse_formula("y ~ b + a:b + c").columns == ("b", "a", "c", "y")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "text"),
        (3, "text"),
        ("", "one response"),
        ("y", "one response"),
        ("y ~", "one response"),
        ("~ a", "one response"),
        ("y ~ a ~ b", "one response"),
        ("y + z ~ a", "one response"),
        ("1 ~ a", "one response"),
        ("y ~ a +", "end with a term"),
        ("y ~ + a", "between every two signs"),
        ("y ~ a + + b", "between every two signs"),
        ("y ~ a - - 1", "between every two signs"),
        ("y ~ a - b", "take nothing away"),
        ("y ~ - a", "take nothing away"),
        ("y ~ 2", "joined by"),
        ("y ~ a b", "joined by"),
        ("y ~ a:", "joined by"),
        ("y ~ :a", "joined by"),
        ("y ~ 1:a", "joined by"),
        ("y ~ 1a", "joined by"),
        ("y ~ a::b", "joined by"),
        ("y ~ a:b*c", "mix"),
        ("y ~ a:a", "twice"),
        ("y ~ a*b*a", "twice"),
        ("y ~ y", "response as a term"),
        ("y ~ a:y", "response as a term"),
        ("y ~ 0", "at least one term"),
        ("y ~ -1", "at least one term"),
        ("y ~ log(a)", "not '\\('"),
        ("y ~ a^2", "not '\\^'"),
        ("y ~ `a", "not '`'"),
        ("y ~ ``", "not '`'"),
        ("y ~ a; import os", "not ';'"),
    ],
)
def test_what_is_refused_and_in_which_words(text, words):
    with pytest.raises(InputError, match=f"^Expected formula=.*{words}"):
        parse_formula(text)


NAMES = st.one_of(
    st.from_regex(r"[A-Za-zäß_][A-Za-z0-9_.]{0,5}", fullmatch=True),
    st.text(st.characters(exclude_characters="`", exclude_categories=["C", "Z"]), min_size=1, max_size=6).filter(
        lambda name: flaw(name) is None
    ),
)


@given(names=st.lists(NAMES, min_size=2, max_size=5, unique=True), intercept=st.booleans(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_written_reads_back_the_same(names, intercept, data):
    response, *columns = names
    sets = data.draw(st.sets(st.frozensets(st.sampled_from(columns), min_size=1), min_size=1, max_size=4))
    formula = Formula(response, tuple(tuple(sorted(term)) for term in sorted(sets, key=sorted)), intercept)
    assert parse_formula(str(formula)) == formula


@given(st.text("yab ~+-:*01`.(²\n\t", max_size=12))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused_in_one_sentence(text):
    formula = refusal = None
    try:
        formula = parse_formula(text)
    except InputError as error:
        refusal = str(error)
    assert (refusal is None) or refusal.startswith("Expected formula=")
    assert (formula is None) or parse_formula(str(formula)) == formula
