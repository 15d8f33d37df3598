"""The formula language: what it means, what it refuses, and that it can be written back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit._support.printable import flaw
from tacit.errors import InputError
from tacit.models.formula import Formula, parse_formula
from tacit.models.formula_terms import Call

LOG = Call("log", "a")


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
        ("y ~ log(a)*b", [(LOG,), ("b",), (LOG, "b")], True),
        ("y ~ I(a**2) + I(a*a) + I(a^2)", [(Call("power", "a", (2.0,)),)], True),
        ("y ~ I(a*b):c", [("a", "b", "c")], True),
        ("y ~ poly(a, 3) + poly(a, degree=3)", [(Call("poly", "a", (3.0,)),)], True),
        ("y ~ bs(`a b`, knots=[-1, 2.5])", [(Call("bs", "a b", (3.0, -1.0, 2.5)),)], True),
        ("y ~ bs(a, knots=[], degree=2) - 1", [(Call("bs", "a", (2.0,)),)], False),
        ("y ~ C(a) + log", [("a",), ("log",)], True),
        ("y ~ größe + _x", [("größe",), ("_x",)], True),
        ("y ~ `²` + x²", [("²",), ("x²",)], True),
    ],
)
def test_what_a_formula_means(text, terms, intercept):
    found = parse_formula(text)
    assert (found.response, found.terms, found.intercept) == ("y", tuple(terms), intercept)
    assert parse_formula(str(found)) == found


def test_references_and_offsets():
    found = parse_formula('y ~ C(f, ref="b")*a + C(g, ref=2) + offset(log(d)) + C(f, ref="b"):d')
    assert found.references == (("f", "b"), ("g", 2.0))
    assert found.offsets == (Call("log", "d"),)
    assert found.terms == (("f",), ("a",), ("f", "a"), ("g",), ("f", "d"))
    assert found.columns == ("f", "a", "g", "d", "y")
    assert parse_formula(str(found)) == found


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
        ("y ~ a b", r"a \+ between terms"),
        ("y ~ a:", "joined by"),
        ("y ~ :a", r"a \+ between terms"),
        ("y ~ 1:a", "joined by"),
        ("y ~ 1a", "joined by"),
        ("y ~ a::b", r"a \+ between terms"),
        ("y ~ a:b*c", "mix"),
        ("y ~ a:a", "twice"),
        ("y ~ a*b*a", "twice"),
        ("y ~ y", "response as a term"),
        ("y ~ a:y", "response as a term"),
        ("y ~ 0", "at least one term"),
        ("y ~ -1", "at least one term"),
        ("y ~ a^2", "a power is I"),
        ("y ~ a**2", "a power is I"),
        ("y ~ (a + b):c", "write the terms out"),
        ("log(y) ~ a", "response as it is"),
        ("y ~ a + offset(a):b", "a term of its own"),
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


WORDS = [
    "a",
    "b",
    "C(",
    "bs(",
    "log(",
    "I(",
    "poly(",
    "offset(",
    ")",
    "knots=[1]",
    "ref=",
    '"u"',
    ",",
    "**",
    "2",
    " + ",
]


@given(
    st.one_of(
        st.text("yab ~+-:*01`.(²\n\t", max_size=12),
        st.lists(st.sampled_from(WORDS), max_size=8).map(lambda words: "y ~ " + "".join(words)),
    )
)
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused_in_one_sentence(text):
    formula = refusal = None
    try:
        formula = parse_formula(text)
    except InputError as error:
        refusal = str(error)
    assert (refusal is None) or refusal.startswith("Expected formula=")
    assert (formula is None) or parse_formula(str(formula)) == formula
