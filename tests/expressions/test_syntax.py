"""What the grammar takes, and where it says that a text goes wrong."""

import random

import pytest

from tacit.errors import InputError
from tacit.expressions.derive import row_filter_of, with_derived
from tacit.expressions.syntax import MOST_NESTED, UnreadableError, parse
from tacit.schema import Schema

SCHEMA = Schema({"x": (0, 9), "y": (1, 5), "g": ["a", "b", "c d"], "body mass": (15, 55), "é": (0, 1), "and": (0, 1)})


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("x +", 3), ("x + + y", 4), ("(x", 2), ("x)", 1), ("x = 1", 2), ("x ** 2", 3), ("x ^ 0.5", 4), ("x ^ 11", 4),
        ("x ^ -1", 4), ("x & y", 2), ("x; y", 1), ("x y", 2), ("2 x", 2), ("'a", 0), ("`x", 0), ("g in 'a'", 5),
        ("g in (1, 2)", 5), ("g not 'a'", 6), ("cut(x [1])", 6), ("recode(g, {'a' 'b'})", 15), ("min(x,)", 6), ("", 0),
        ("x if y else z", 2), ("lambda: 1", 6), ("x[0]", 1), ("x.real + __import__('os')", None), ("\\x", 0), ("@x", 0),
        ("and", 0), ("not", 3), ("in x", 0), ("x @ y", 2), ("x := 1", 3), ("f'{x}'", 1), ("1e", 1), ("0x1f", 1),
    ],
)  # fmt: skip
def test_a_text_that_goes_wrong_says_where(text, at):
    if at is None:
        parse(text)
        return
    with pytest.raises(UnreadableError) as caught:
        parse(text)
    assert caught.value.at == at, caught.value.why


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("x > 1 AND y > 2", "write and in small letters"), ("x is null", "write is_missing(x)"),
        ("x IS NOT NULL", "not is_missing(x)"), ("x between 1 and 2", "write 18 <= x <= 65"), ("x <> 1", "write !="),
        ("x && y", "write and"), ("x = 1", "write =="), ("g in ('a', 'b')", "square brackets"),
    ],
)  # fmt: skip
def test_words_of_other_languages_have_a_hint(text, hint):
    with pytest.raises(UnreadableError) as caught:
        parse(text)
    assert hint in caught.value.why


def test_the_sentence_shows_the_place():
    with pytest.raises(InputError) as caught:
        with_derived(SCHEMA, {"z": "x / (y - hieght)"})
    assert str(caught.value) == (
        "Expected derive.z='x / (y - hieght)' to name columns of the schema; a text needs quotes, at character 10, "
        "'hieght)'."
    )


@pytest.mark.parametrize(
    "text", ["`body mass` / 2", "é + 1 > 1.5", "`and` + x", "- - x + 1", "1 < x <= 4", "g == 'c d'"]
)
def test_names_and_signs_of_all_kinds(text):
    with_derived(SCHEMA, {"z": {"value": text}})


def test_precedence():
    for one, other in (
        ("x + y * 2", "x + (y * 2)"),
        ("x - y - 1", "(x - y) - 1"),
        ("x / y / 2", "(x / y) / 2"),
        ("-x^2", "-(x^2)"),
        ("not x > 1 and y > 2", "(not x > 1) and y > 2"),
        ("x > 1 or y > 2 and x > 3", "x > 1 or (y > 2 and x > 3)"),
    ):
        pair = [with_derived(SCHEMA, {"z": text}).derived["z"].expression for text in (one, other)]
        assert pair[0] == pair[1], one


def test_what_is_nested_too_deep_is_refused_not_overflown():
    for text in (
        "(" * 5000 + "x",
        "not " * 2000 + "x > 1",
        "-" * 5000 + "y",
        "+".join("x" * 4000),
        "count(" * 900 + "x",
    ):
        with pytest.raises(InputError, match=f"nested at most {MOST_NESTED} deep|10000 characters"):
            with_derived(SCHEMA, {"z": text})
    row_filter_of(SCHEMA, " and ".join(f"x > {i / 100}" for i in range(500)))  # a list of conditions is not deep


def test_no_text_is_anything_but_read_or_refused():
    """Random texts of the grammar's own pieces: one sentence, never another error. Seed 1, 4,000 texts."""
    rng = random.Random(1)
    words = "x y g `body mass` ( ) [ ] { } , : 'a' 1 2.5 - + * / ^ < == != and or not in true = é x.y __class__ 1e999"
    calls = ["cut(", "recode(", "min(", "count(", "log(", "is_missing(", "9" * 400, "\n", "\x00", "\ud800", '"b"']
    pieces = [*words.split(" "), *calls]
    read, said = 0, set()
    for _ in range(4000):
        text = " ".join(rng.choice(pieces) for _ in range(rng.randint(1, 8)))
        try:
            with_derived(SCHEMA, {"z": {"value": text}})
            read += 1
        except InputError as error:
            said.add(str(error))
    assert read > 20
    assert len(said) > 1000
    assert all("\n" not in one and len(one) < 700 for one in said)
