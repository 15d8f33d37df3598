"""The rules of one cell, and that the vectorised ways give the same for every cell. Fuzzing uses fresh entropy."""

import enum
import math
import warnings
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.schema import Category, Number
from tacit.sources import columns
from tacit.sources.cells import coder, form_of, number_of, number_of_text
from tacit.sources.columns import numbers_of_text, numbers_of_text_slowly, parse_objects, parse_objects_slowly

SPELLED = {
    b"1": 1.0,
    b"-1": -1.0,
    b"+1": 1.0,
    b"1.5": 1.5,
    b"1.": 1.0,
    b".5": 0.5,
    b"-.5e1": -5.0,
    b"1e3": 1000.0,
    b"1E+3": 1000.0,
    b"1e-3": 0.001,
    b"  2\t": 2.0,
    b"\x0b3\x0c\r": 3.0,
    b"007": 7.0,
    b"-0": 0.0,
    b"1e-999": 0.0,
    b"0e999999999999": 0.0,
    b"5e-324": 5e-324,
    b"1.7976931348623157e308": 1.7976931348623157e308,
    b"9007199254740993": 9007199254740992.0,
    b"0.1": 0.1,
    b"0." + b"0" * 400 + b"1e401": 1.0,
    b"75,872": 75872.0,
    b" -1,038,500.25\t": -1038500.25,
    b"001,000.": 1000.0,
    b"True": 1.0,
    b" fALSE\t": 0.0,
}
NOT_NUMBERS = [
    *(b"", b" ", b"NA", b"nan", b"NaN", b"-nan", b"nan(1)", b"inf", b"-inf", b"Infinity", b"1e999", b"-1e999"),
    *(b"9" * 400, b"1_000", b"1,5", b"1 000", b"0x10", b"1e", b"e1", b".", b"-", b"+", b"+-1", b"++1", b"1.2.3"),
    *("١٢".encode(), "１".encode(), "\u00a01".encode(), b"\xff", b"1\x00", b"\x001", b"1\n2", b"T", b"1f", b"1d2"),
    *(b"75,87", b"1038,500", b"1,0000", b",100", b"1,000,", b"1,000e3", b"1.000,5", b"1,,000", b"1,000.5.5", b"1, 000"),
    *(b"1e1.5", b"0b1", b"1j", b"2020-01-31", b"$1", b"1%", b"\x1c1"),
]


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("canary")

    __repr__ = __float__ = __int__ = __bool__ = __hash__ = __str__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("canary")


class Noisy:
    def __str__(self) -> str:
        warnings.warn("canary", stacklevel=1)
        return "1"


class OddText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("canary")

    def strip(self, *_: object) -> str:
        raise RuntimeError("canary")

    encode = strip  # type: ignore[assignment]


class Size(enum.IntEnum):
    SMALL = 1


TYPED = [  # cell, number (None: missing), form of the level (None: missing)
    (None, None, None),
    (math.nan, None, None),
    (math.inf, None, None),
    (-math.inf, None, None),
    (np.float32("inf"), None, None),
    ("nan", None, None),
    ("-INF", None, None),
    (pd.NA, None, None),
    (pd.NaT, None, None),
    (np.datetime64("NaT", "ns"), None, None),
    (np.timedelta64("NaT", "ns"), None, None),
    (Decimal("NaN"), None, None),
    (Decimal("sNaN"), None, None),
    (Decimal("Infinity"), None, None),
    (10**400, None, b"1e400"),
    (10**5000, None, b"1e5000"),
    ("1" + "0" * 5000, None, b"1e5000"),
    (Decimal("1e5000"), None, b"1e5000"),
    ("1e999999", None, b"1e999999"),
    ("0e" + "9" * 5000, 0.0, b"0"),
    ("1e-" + "9" * 5000, 0.0, b"0"),
    ("1e" + "9" * 5000, None, b"1e1" + b"0" * 18),
    ("1e" + "0" * 5000 + "1", 10.0, b"1e1"),
    ("9" * 400 + ".5", None, b"9" * 400 + b"5e-1"),
    (Hostile(), None, None),
    (Noisy(), 1.0, b"1"),
    (OddText(" 2 "), 2.0, b"2"),
    (True, 1.0, b"1"),
    ("tRUE", 1.0, b"1"),
    (np.False_, 0.0, b"0"),
    (3, 3.0, b"3"),
    (np.uint8(3), 3.0, b"3"),
    (Size.SMALL, 1.0, b"1"),
    (2**53 + 1, float(2**53), b"9007199254740993"),
    ("9007199254740993.00", float(2**53), b"9007199254740993"),
    (1.0, 1.0, b"1"),
    ("01.0", 1.0, b"1"),
    (" +1e0 ", 1.0, b"1"),
    (1000, 1000.0, b"1e3"),
    ("1e3", 1000.0, b"1e3"),
    (-0.0, 0.0, b"0"),
    ("-0", 0.0, b"0"),
    (-5, -5.0, b"-5"),
    (0.1, 0.1, b"1e-1"),
    ("0.10000000000000000555", 0.1, b"1e-1"),
    (Decimal("0.10000000000000000555"), 0.1, b"1e-1"),
    (np.float16(0.1), float(np.float16(0.1)), b"1e-1"),
    (np.float32(0.1), float(np.float32(0.1)), b"1e-1"),
    (np.float64(0.1), 0.1, b"1e-1"),
    (np.longdouble("0.1"), 0.1, b"1e-1"),
    (1e300, 1e300, b"1e300"),
    (Decimal("1.50"), 1.5, b"15e-1"),
    (Decimal("1.00"), 1.0, b"1"),
    (Fraction(1, 2), 0.5, b"5e-1"),
    (Fraction(2**53 + 1), float(2**53), b"9007199254740993"),
    ("1.5", 1.5, b"15e-1"),
    (" yes\t", None, b"yes"),
    ("\u00a0x", None, b"\xc2\xa0x"),
    ("１", None, "１".encode()),
    ("\ud800", None, b"\xed\xa0\x80"),
    ("\udcff", None, b"\xff"),
    (b" 4 ", 4.0, b"4"),
    (b"\xff", None, b"\xff"),
    (bytearray(b"5"), 5.0, b"5"),
    (memoryview(b" 5").toreadonly(), 5.0, b"5"),
    (pa.scalar("6"), 6.0, b"6"),
    (np.str_("7"), 7.0, b"7"),
    (np.bytes_(b"7"), 7.0, b"7"),
    (date(1970, 1, 3), 2.0, b"1970-01-03"),
    (datetime(1970, 1, 2, 12), 1.5, b"1970-01-02 12:00:00"),
    (datetime(1970, 1, 2, 12, tzinfo=UTC), 1.5, b"1970-01-02 12:00:00+00:00"),
    (pd.Timestamp("1970-01-02 06:00"), 1.25, b"1970-01-02 06:00:00"),
    (np.datetime64("1970-01-02T12"), 1.5, b"1970-01-02T12"),
    (timedelta(hours=12), 0.5, b"12:00:00"),
    (np.timedelta64(12, "h"), 0.5, b"12 hours"),
    (time(6), 0.25, b"06:00:00"),
    (1 + 2j, None, b"(1+2j)"),
    ([1], None, b"[1]"),
    ({}, None, b"{}"),
    (np.array(1.5), 1.5, b"15e-1"),
    (pd.Interval(0, 1), None, b"(0, 1]"),
]


@pytest.mark.parametrize(("text", "number"), SPELLED.items())
def test_a_number_in_text(text, number):
    assert number_of_text(text) == number
    assert numbers_of_text(pa.array([text], pa.large_binary())).tolist() == [number]
    assert number_of(text) == number_of(text.decode()) == number


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_no_number_in_text(text):
    assert math.isnan(number_of_text(text))
    assert np.isnan(numbers_of_text(pa.array([text], pa.large_binary()))).all()
    assert math.isnan(number_of(text.decode("utf-8", "replace")))


@pytest.mark.parametrize(("cell", "number", "form"), TYPED, ids=lambda value: type(value).__name__)
def test_a_typed_cell(cell, number, form):
    assert form is ... or form_of(cell) == form
    if number is None:
        assert math.isnan(number_of(cell))
    else:
        assert number_of(cell) == number


STRINGS = Category(("no", "yes", "01", "False", ""), "yes")
NUMBERS = Category((0, 1, 2.5), 2.5)
BOOLEANS = Category((False, True), True)


@pytest.mark.parametrize(
    ("column", "cell", "code"),
    [
        (STRINGS, "no", 0),
        (STRINGS, " no ", 0),
        (STRINGS, "No", 1),
        (STRINGS, "absent", 1),
        (STRINGS, None, 1),
        (STRINGS, math.nan, 1),
        (STRINGS, 1, 2),
        (STRINGS, 1.0, 2),
        (STRINGS, "1.0", 2),
        (STRINGS, True, 2),
        (STRINGS, "true", 2),
        (STRINGS, False, 3),
        (STRINGS, 0, 3),
        (STRINGS, "", 4),
        (STRINGS, "  ", 4),
        (NUMBERS, "0", 0),
        (NUMBERS, " +1.0e0 ", 1),
        (NUMBERS, 1, 1),
        (NUMBERS, True, 1),
        (NUMBERS, "true", 1),
        (NUMBERS, -0.0, 0),
        (NUMBERS, Decimal("2.50"), 2),
        (NUMBERS, 3, 2),
        (NUMBERS, "nan", 2),
        (NUMBERS, None, 2),
        (BOOLEANS, False, 0),
        (BOOLEANS, "FALSE", 0),
        (BOOLEANS, " False ", 0),
        (BOOLEANS, 0, 0),
        (BOOLEANS, "0.0", 0),
        (BOOLEANS, "no", 1),
        (BOOLEANS, 2, 1),
        (BOOLEANS, None, 1),
        (Category((False, True)), "tRue", 1),
        (Category((False, True)), 1, 1),
        (Category((False, True)), "yes", 0),
        (Category(("b", "a\ufffd")), b"a\xff", 0),
        (Category(("b", "a\ufffd")), "a\ufffd", 1),
        (Category((2**53, 2**53 + 1)), 2**53 + 1, 1),
        (Category((2**53, 2**53 + 1)), "9007199254740993", 1),
    ],
)
def test_the_code_of_a_cell(column, cell, code):
    assert coder(column)(cell) == code
    assert parse_objects([cell], column).tolist() == [code]


def test_every_typed_cell_parses_alike_alone_and_among_others():
    cells = [cell for cell, _, _ in TYPED]
    for column in (Number(-10, 10, 7), STRINGS, NUMBERS, BOOLEANS):
        together = parse_objects(cells, column).tolist()
        assert together == [parse_objects([cell], column)[0] for cell in cells]
        assert together == parse_objects_slowly(cells, column).tolist()
        for neighbour in ("text", None, math.nan):  # which might have sent a cell the vectorised way
            assert together == [parse_objects([cell, neighbour], column)[0] for cell in cells]


near_numbers = st.text(alphabet="0123456789+-.eE \t_naif\x00١", max_size=12)
floats_as_text = st.floats().map(repr)
text_cells = st.one_of(near_numbers, floats_as_text, st.text(max_size=6)).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.one_of(st.none(), text_cells, st.binary(max_size=6)), max_size=12))
def test_numbers_of_text_fast_and_slow_agree(cells):
    for kind in (pa.binary(), pa.large_binary()):
        array = pa.array(cells, kind)
        np.testing.assert_array_equal(numbers_of_text(array), numbers_of_text_slowly(array))


@given(st.integers(), st.integers(-340, 320))
def test_every_literal_takes_the_nearest_float(digits, exponent):
    text = f"{digits}e{exponent}"
    nearest = float(text)
    [number] = numbers_of_text(pa.array([text.encode()], pa.large_binary()))
    assert number == nearest if math.isfinite(nearest) else math.isnan(number)


def test_a_cast_that_fails_falls_back_to_the_same_numbers(monkeypatch):
    cells = pa.array([*SPELLED, *NOT_NUMBERS, None], pa.large_binary())
    fast = numbers_of_text(cells)

    class Refusing:
        def __getattr__(self, name):
            return getattr(pa.compute, name)

        def cast(self, *_):
            raise pa.ArrowInvalid("canary")

    monkeypatch.setattr(columns, "_kernels", Refusing())
    np.testing.assert_array_equal(numbers_of_text(cells), fast)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(st.none(), st.text(max_size=5), near_numbers, st.just(math.nan)), max_size=10))
def test_objects_fast_and_slow_agree(cells):
    for column in (Number(-10, 10, 7), STRINGS, NUMBERS, BOOLEANS):
        np.testing.assert_array_equal(parse_objects(cells, column), parse_objects_slowly(cells, column))
        strings = np.array(cells, object)
        np.testing.assert_array_equal(columns.parse_numpy(strings, column), parse_objects_slowly(cells, column))
