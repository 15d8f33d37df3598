"""Cells, levels, bounds, names and identifiers that somebody has tripped over."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

TINY = 5e-324

NAMES = ("x", "y", "g", "a-b", "max(x)", "unnest(l)", "count(*)", "select", "a b", 'q"r', "x;y", "é", "1", "a.b", "l",
         "X*2", "x=1", "per cent %", "a,b", "'", "null", "rowid", "zip")  # fmt: skip

LEVELS: tuple[tuple[object, ...], ...] = (
    ("no", "yes"), ("01234", "AB12"), ("00005", "01234", "x"), ("True", "False"), ("true", "false"), ("1.0", "2.0"),
    ("0", "1"), ("1", "2", "3"), ("1e5", "x"), ("9007199254740993", "b"), ("100000000000000001", "7"),
    ("-0", "+1"), ("NA", "a"), ("nan", "inf"), ("2020-01-31", "b"), ("2020-01-31 10:00:00", "b"), ("", "a"),
    ("é", "e\u0301"), ("10:00", "b"), ("0x10", "1_000"), ("1,5", "1.5"), ("None", "null"), ("a", "A"),
    (0, 1), (1, 2, 3), (0.1, 0.2), (1.5, 2**53), (True, False), (False, True), (1e17, -1e-300), (2020, 1234),
    ("0.1", "0.10000000000000001x"), ("123456789012345678901234567890", "b"),
)  # fmt: skip

BOUNDS = (
    (0.0, 1.0), (-1.0, 1.0), (0.0, 100.0), (17.0, 65.5), (-3.0, 1000.0), (0.0, TINY), (0.0, 2 * TINY), (-TINY, TINY),
    (0.0, 3 * TINY), (1.0, math.nextafter(1.0, 2.0)), (1e16, 1e16 + 2), (1e308, 1.1e308), (-8e307, 8e307),
    (0.0, 2.3e-308), (-1e-300, 1e-300), (1e-320, 3e-320), (0.0, 1e300), (1234.0, 1235.0), (18000.0, 20000.0),
    (math.nextafter(0.3, 0), 0.3),
)  # fmt: skip
COUNT_BOUNDS = ((0.0, 1.0), (0.0, 20.0), (0.0, 1000.0), (0.0, 2.0), (0.0, 65535.0))

# What read_csv, Arrow's and DuckDB's readers guess types from, and what breaks text.
TEXTS: tuple[str | bytes | None, ...] = (
    None, "", " ", "NA", "nan", "NaN", "inf", "-inf", "Infinity", "null", "None", "N/A", "#N/A", "-", "?",
    "0", "1", "2", "-1", "+1", "-0", "0.0", "1.0", "1.", ".5", "0.1", "1e5", "1E-320", "5e-324", "1e308", "1e309",
    "1e999", "-1e999", "01234", "1234", "00005", "5", "AB12", "0x10", "1_000", "1,5", "1,000", "1 000", "١٢", "１",
    "True", "False", "TRUE", "false", "true", "yes", "no", "t", "f",
    "9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854775808",
    "18446744073709551615", "18446744073709551616", "100000000000000001", "1e17", "100000000000000000",
    "123456789012345678901234567890", "170141183460469231731687303715884105727",
    "0.1000000000000000055511151231257827",
    "2020-01-31", "2020-01-31 10:00:00", "2020-01-31T10:00:00Z", "31/01/2020", "10:00", "10:00:00", "0000-00-00",
    "a", "A", "b", "x", "é", "e\u0301", "\u00a0", "\ufeff", "\u2028", "\ufffd", "\U0001f600", "a\x00b", "\x00", "\x1a",
    '"', '""', '"a', 'a"', 'a"b', '"a""b"', ",", ",,", "\t", ";", "a,b", "'", "=1+1", "\\", "\\N", "\r", "a\rb",
    "\n", "a\nb", "a\r\nb", "x" * 5000, "9" * 400, b"\xff", b"\xfe", b"\xff\xff", b"a\xc3", b"\xef\xbf\xbd",
    b"\xed\xa0\x80",
    "__HIVE_DEFAULT_PARTITION__", "a/b", "..", "g=1", "%2F", "{", "[1]",
)  # fmt: skip

INTS = (
    None, 0, 1, 2, 3, -1, 5, 7, 20, 99, 1234, 2020, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 10**17, 10**17 + 1,
    2**63 - 1, -(2**63),
)  # fmt: skip
SMALL = (None, 0, 1, 2, 7, -1, 127, -128)
UINTS = (None, 0, 1, 2, 3, 1234, 2**53 + 1, 2**63, 2**64 - 1, 2**64 - 2, 10**17, 10**17 + 1)
HUGE = (None, 0, 1, 2, -1, 1234, 2**64, 10**17, 10**17 + 1, 2**53 + 1, 10**37, 10**37 + 1, -(10**37))
FLOATS = (
    None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 2.0, -1.0, 0.1, 0.2, 0.1 + 2**-55, 0.5, 1.5, 1e308, -1e308,
    1.7976931348623157e308, TINY, -TINY, 2 * TINY, 2.2250738585072014e-308, 1e-320, 2.0**53, 2.0**53 + 2, 1e17,
    1234.0, 17.0, 1e16, 1.0 + 2**-52, 1e300, -1e-300, 0.3,
)  # fmt: skip
DECIMALS = (None, *map(Decimal, (
    "0", "1", "1.00", "-1", "0.1", "0.2", "0.100001", "1234", "9007199254740993", "100000000000000001",
    "100000000000000000", "0.000001", "99999999999999999999999999999999",
)))  # fmt: skip
BOOLS = (None, True, False)
DATES = (None, date(1970, 1, 1), date(2020, 1, 31), date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31))
DAYS = (None, 0, 18292, -1, 3_000_000, -800_000, 2**31 - 1, -(2**31))  # of a date, past the years 1 to 9999 too
STAMPS = (
    None,
    *(datetime(year, 1, 31, 10, 1, 1, 1, tzinfo=UTC) for year in (1970, 2020, 9999, 1900, 1)),
)

# How a column is stored where the medium has types, and what it may hold then.
KINDS: dict[str, tuple[object, ...]] = {
    "text": TEXTS, "large text": TEXTS, "text view": TEXTS, "dictionary": TEXTS, "runs": TEXTS,
    "int": INTS, "uint": UINTS, "huge": HUGE, "float": FLOATS, "float32": FLOATS, "decimal": DECIMALS, "bool": BOOLS,
    "int8": SMALL, "half": SMALL, "decimal64": SMALL, "decimal256": HUGE, "duration": INTS, "int runs": INTS,
    "int dictionary": INTS, "date": DATES, "days": DAYS, "stamp": STAMPS, "null": (None,), "bytes": TEXTS,
}  # fmt: skip
# Text that a reader stores as the type it was told, by a rule that looks at each cell alone: any cell may stand there.
READ_AS = ("read as text", "read as int", "read as float", "read as bool", "read as date", "read as stamp")
KINDS |= dict.fromkeys(READ_AS, TEXTS)
TEXT_KINDS = frozenset({"text", "guessed", "bytes", "large text", "text view", "dictionary", "runs", *READ_AS})

# Who a row belongs to: cells of which no two are the same person, near each other in float64 or in broken text.
PEOPLE: dict[str, tuple[object, ...]] = {
    "text": (
        "p", "P", "é", "e\u0301", "a b", "a  b", "\ufffd", b"\xff", b"\xfe", b"\xff\xff", b"a\xc3", b"a\xc2",
        b"\xed\xa0\x80", "\x00", "a\x00", "a\x00b", "100000000000000000", "100000000000000001", "9007199254740992",
        "9007199254740993", "1234", "0.1", "0.10000000000000001", "AB12", "True", "NA", "2020-01-31", "x" * 300, "-",
        '"', "1e400", "2e400", "123456789012345678901234567890", "123456789012345678901234567891", None,
    ),
    "int": (
        None, 0, 1, -1, 7, 1234, 2**53, 2**53 + 1, 2**53 + 2, 10**17, 10**17 + 1, 10**17 + 2, 2**63 - 1, 2**63 - 2,
        -(2**63),
    ),
    "uint": (None, 0, 1, 7, 2**53, 2**53 + 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - 2, 10**17, 10**17 + 1),
    "huge": (None, 0, 1, 2**53, 2**53 + 1, 2**64, 2**64 + 1, 10**37, 10**37 + 1, -(10**37), 10**17, 10**17 + 1),
    "decimal": tuple(map(Decimal, (
        "0", "0.1", "0.100001", "1", "100000000000000000", "100000000000000001", "100000000000000000.000001",
        "9007199254740993", "9007199254740992",
    ))),
    "bool": (True, False, None),
    "date": (date(1970, 1, 1), date(2020, 1, 31), date(2020, 2, 1), None),
    "days": DAYS,
}  # fmt: skip
# The same where a reader guesses types: whole numbers, some of them with zeros in front, and names.
PEOPLE["guessed"] = ("1", "2", "00003", "-5", "12345678901", "9007199254740991", "AB12", "x", "é", "a b")
PEOPLE["read as int"] = (
    *("1", "2", "00003", "-5", "12345678901", "9007199254740991", "9007199254740993", "9007199254740994"),
    *("100000000000000001", "100000000000000002"),
)
for _kind in ("read as text", "large text", "text view", "dictionary", "runs"):
    PEOPLE[_kind] = PEOPLE["text"]
PEOPLE["int dictionary"] = PEOPLE["int runs"] = PEOPLE["int"]
PEOPLE["int8"] = PEOPLE["decimal64"] = SMALL
PEOPLE["decimal256"] = PEOPLE["huge"]
