"""One form for every value, so that the type a column is stored as decides nothing.

The same table may be kept as text, as integers, as floats or as decimals, and programs that read text choose the type
by looking at all cells of a column: one person's ``AB12`` among numbers makes everybody's ``1234`` a text. Whether two
cells are the same level, or name the same person, is therefore decided by the forms here, which are made from a cell's
text or from the literal of a typed cell (see `cells`), and from nothing else. Both functions are total.

**Levels** (`level_form`). ASCII white space around is dropped. What then follows the grammar `NUMBER` in full is a
number. Whole numbers are compared exactly, whatever their size; other numbers by the nearest float64. ``true`` and
``false``, in any case, are 1 and 0. ``nan``, ``inf`` and ``infinity``, with or without a sign and in any case, are
missing. Everything else is text and is compared byte by byte. So ``01234``, 1234, 1234.0 and decimal 1234.00 are one
level.

**Identifiers** (`identifier_form`) must not merge two people, so less is taken for a number: ASCII white space around
is dropped, and digits with or without a sign, leading zeros and ``.0`` behind them are a whole number. All else is
text, byte by byte, ``1e5`` and ``0e123`` too: as numbers, all hexadecimal codes of the latter kind would be zero.
"""

from __future__ import annotations

import math
import re

SPACES = " \t\n\r\v\f"
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""How a number is spelled: a sign, digits with or without a point, a power of ten. Digits are ASCII."""
BOOLEANS = {b"true": b"1", b"false": b"0"}

_NUMBER = re.compile(NUMBER.encode())
_SEPARATED = re.compile(rb"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_WHOLE = re.compile(rb"[+-]?[0-9]+(?:\.0*)?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)")
_MOST_ZEROS = 4300  # so that 1e999999 takes no megabyte


def is_number(text: bytes) -> bool:
    """Whether ``text``, without white space around it, spells a number."""
    return _NUMBER.fullmatch(text) is not None


def without_separators(text: bytes) -> bytes | None:
    """A number with a comma before each three digits, as ``1,038,500.25``, without them; None for all other text."""
    return text.replace(b",", b"") if _SEPARATED.fullmatch(text) else None


def level_form(text: bytes) -> bytes | None:
    """The form by which the level that ``text`` spells is compared; None where it is missing."""
    stripped = text.strip()  # for bytes this drops exactly SPACES
    if is_number(stripped):
        return _level_number(stripped)
    word = stripped.lower()
    if word in BOOLEANS:
        return BOOLEANS[word]
    return None if _NOT_FINITE.fullmatch(word) else stripped


def identifier_form(text: bytes, *, typed: bool = False) -> bytes:
    """The form by which people are told apart; empty where ``text`` is. ``typed``: the literal of a typed number."""
    stripped = text.strip()
    if stripped.isdigit() and stripped[0] != 48 and len(stripped) <= _MOST_ZEROS:  # most identifiers, quickly
        return stripped
    return _plain(*_decimal(stripped)) if (is_number(stripped) if typed else _WHOLE.fullmatch(stripped)) else stripped


def decimal_of(form: bytes) -> tuple[bytes, bytes, int] | None:
    """Sign, digits and power of ten of the number that has this `level_form`; None where it is a text."""
    return _decimal(form) if is_number(form) else None


def _level_number(literal: bytes) -> bytes:
    decimal = _decimal(literal)
    if decimal[2] < 0:
        nearest = float(literal)
        if math.isfinite(nearest):
            decimal = _decimal(repr(nearest).encode())
    sign, digits, power = decimal
    return sign + digits + (b"e%d" % power if power else b"")


def _decimal(literal: bytes) -> tuple[bytes, bytes, int]:
    """Sign, digits and power of ten of what follows the grammar `NUMBER`."""
    mantissa, _, power = literal.lower().partition(b"e")
    whole, _, fraction = mantissa.lstrip(b"+-").partition(b".")
    size = power.lstrip(b"+-0") or b"0"
    exponent = int(size) if len(size) <= 18 else 10**18  # no other type reaches so far, and a long int() is refused
    sign = b"-" if mantissa.startswith(b"-") else b""
    return _trimmed(sign, whole + fraction, (-exponent if power.startswith(b"-") else exponent) - len(fraction))


def _trimmed(sign: bytes, digits: bytes, power: int) -> tuple[bytes, bytes, int]:
    """The one way to write a number without zeros at either end."""
    significant = digits.lstrip(b"0")
    trimmed = significant.rstrip(b"0")
    if not trimmed:
        return b"", b"0", 0
    return sign, trimmed, power + len(significant) - len(trimmed)


def _plain(sign: bytes, digits: bytes, power: int) -> bytes:
    """The number as digits with a point where it needs one."""
    if abs(power) > _MOST_ZEROS:
        return sign + digits + b"e%d" % power
    if power >= 0:
        return sign + digits + b"0" * power
    padded = digits.rjust(1 - power, b"0")
    return sign + padded[:power] + b"." + padded[power:]
