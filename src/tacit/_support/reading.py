"""Checked reading of what a stranger may have written: sizes first, strict JSON, exact fields, exact types.

A checksum tells damage and not forgery, so every reader of a file that crosses between people takes its parts through
these few functions. None of them shows what the file holds, but for the short values of public fields.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from tacit.errors import InputError, expected

LARGEST_JSON = 2**25  # bytes; what json makes of them takes up to thirty times as many
LARGEST_TOML = 2**20  # bytes; ten thousand columns, or fifty thousand levels
DEEPEST = 32  # lists and objects inside each other; no file of ours has ten

# Comments and strings of TOML as `tomllib` finds them; one without an end goes on to the end of the text.
_QUOTED = re.compile(
    r"#[^\n]*"
    r'|"{3}(?:(?:[^"\\]|\\.|"(?!""))*+"{3,5}|.*)'
    r"|'{3}(?:(?:[^']|'(?!''))*+'{3,5}|.*)"
    r'|"(?:(?:[^"\\\n]|\\[^\n])*+"|.*)'
    r"|'(?:[^'\n]*+'|.*)",
    re.DOTALL,
)
_LONG_KEY = re.compile(r"(?<![A-Za-z0-9_-])(?:[A-Za-z0-9_-]++[ \t]*+\.[ \t]*+){4}")


def strict_json(text: bytes | str, name: str, *, floats: bool = True, constants: bool = False) -> Any:
    """JSON as our own writers write it, or one sentence about ``name``.

    Refused are, beside what is no JSON in UTF-8: repeated names, numbers that are not finite or have thousands of
    digits, nesting deeper than 32, more than 32 MiB; fractions, too, where ``floats`` is false. Where ``constants`` is
    true, NaN and Infinity are numbers. What a text may hold is for the field to say.
    """
    if len(text) > LARGEST_JSON:
        raise InputError(f"Expected the {name} to be JSON of at most {LARGEST_JSON} bytes.")
    try:
        whole = text.decode("utf-8") if isinstance(text, bytes) else text
        plain = json.loads(
            whole,
            parse_float=_finite if floats else _refused,
            parse_constant=float if constants else _refused,
            object_pairs_hook=_once,
        )
        _check_depth(plain)
    except _FieldError as error:
        raise InputError(f"Expected the {name} {error.args[0]}.") from None
    except (ValueError, RecursionError):  # not UTF-8, no JSON, a whole number of thousands of digits, endless nesting
        raise InputError(f"Expected the {name} to be JSON; it may be cut short.") from None
    return plain


def strict_toml(text: str, name: str) -> dict[str, Any]:
    """TOML of at most 1 MiB whose keys have at most four parts.

    `tomllib` takes time and memory that grow with the square of the number of dots in a key, so they are counted first.
    """
    if len(text) > LARGEST_TOML:
        raise InputError(f"Expected the {name} to be TOML of at most {LARGEST_TOML} characters.")
    if _LONG_KEY.search(_QUOTED.sub("q", text)):
        raise InputError(f"Expected the keys of the {name} to have at most 4 parts between dots.")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)[:300].replace("Cannot overwrite a value", "One key is there twice")
        curly = said.startswith("Invalid value") and any(quote in text for quote in "“”„‘’")
        hint = '; quotes must be straight ones, as in "name"' if curly else ""
        raise InputError(f"Expected the {name} to be TOML: {said}{hint}.") from None
    except (RecursionError, ValueError):  # ValueError: a whole number of thousands of digits
        raise InputError(f"Expected the {name} to be TOML without endless numbers or nesting.") from None


class _FieldError(Exception):
    """What is wrong with JSON that another reader would take."""


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _FieldError("to hold finite numbers")
    return number


def _refused(text: str) -> Any:
    constant = text in ("NaN", "Infinity", "-Infinity")
    raise _FieldError(f"to hold finite numbers; found {text}" if constant else "to hold whole numbers")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _FieldError("to have every field once")
    return found


def _check_depth(plain: Any) -> None:
    level = [plain]
    for _ in range(DEEPEST):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise _FieldError(f"to be nested at most {DEEPEST} deep")


def read_table(name: str, table: object, needed: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """``table`` as a dictionary, if it has all ``needed`` entries and no others than these and ``optional``."""
    if not isinstance(table, Mapping):
        raise expected(name, table, "to be a table")
    plain: dict[str, Any] = {str(key): value for key, value in table.items()}
    if not set(needed) <= set(plain) <= {*needed, *optional}:
        also = f" and perhaps {', '.join(optional)}" if optional else ""
        raise expected(name, sorted(plain), f"to have exactly the entries {', '.join(needed)}{also}")
    return plain


def read_list(name: str, value: object, most: int) -> list[Any]:
    """``value``, if it is a list of at most ``most`` things."""
    if not isinstance(value, list) or len(value) > most:
        raise InputError(f"Expected {name} to be a list of at most {most} entries.")
    return value


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """``value``, if it is a whole number from ``least`` to ``most``; true is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        upto = "" if most is None else f" and at most {most}"
        raise expected(name, value, f"to be a whole number of at least {least}{upto}")
    return value


def flag(name: str, value: object) -> bool:
    """``value``, if it is true or false; neither 1 nor "yes" is."""
    if not isinstance(value, bool):
        raise expected(name, value, "to be true or false")
    return value


def check_format(name: str, version: object, current: int) -> None:
    """Refuse a ``version`` that is not the ``current`` format of a ``name``, and say what to do about it."""
    if isinstance(version, bool) or not isinstance(version, int):
        raise expected("format", version, f"of the {name} to be the whole number {current}")
    if version > current:
        raise expected("format", version, f"of the {name} to be {current}; it was written by a newer tacit")
    if version < current:
        raise expected(
            "format",
            version,
            f"of the {name} to be {current}; `tacit migrate FILE -o NEWFILE` writes an older one anew",
        )


def same(one: object, other: object) -> bool:
    """Whether two plain values are equal and true is no 1; other languages write 1.0 as 1, so these are the same."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other
