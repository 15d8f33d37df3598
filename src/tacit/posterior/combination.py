"""Sums of named numbers as people write them: ``smoker[yes] - smoker[no]``, ``2 * age + bmi``, ``mean[m] - mean[f]``.

    combination = ["-"] part { ("+" | "-") part }
    part        = [number "*"] name [("*" | "/") number]

A name is one of those that are known, the longest that fits, so that it may hold any signs itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from tacit.errors import did_you_mean, expected

_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WEIGHT = re.compile(rf"({_NUMBER.pattern})\s*\*\s*")
_AFTER = re.compile(rf"\s*([*/])\s*({_NUMBER.pattern})")
_SIGN = re.compile(r"\s*([+-])\s*")
_SHOWN = 12


def read_combination(text: object, names: Collection[str], *, what: str = "contrast") -> list[tuple[float, str]]:
    """The weight and the name of each part, or one sentence on what is wrong."""
    if not isinstance(text, str) or not text.strip():
        raise expected(what, text, "to be text such as 'smoker[yes] - smoker[no]'")
    longest_first = sorted(names, key=len, reverse=True)
    found: list[tuple[float, str]] = []
    position, rest = 0, text.rstrip()
    while position < len(rest) or not found:
        sign = _SIGN.match(rest, position)
        if sign is None and found:
            raise expected(what, text, f"to have + or - before {rest[position:].strip()[:40]!r}")
        weight = -1.0 if sign is not None and sign[1] == "-" else 1.0
        position = sign.end() if sign is not None else len(rest) - len(rest.lstrip())
        name = _name_at(rest, position, longest_first)
        factor = None if name is not None else _WEIGHT.match(rest, position)
        if factor is not None:
            weight, position = weight * float(factor[1]), factor.end()
            name = _name_at(rest, position, longest_first)
        if name is None:
            _unknown(what, text, rest[position:], names)
        position += len(name)
        while (after := _AFTER.match(rest, position)) is not None:
            number = float(after[2])
            if after[1] == "/" and not number:
                raise expected(what, text, "to divide by numbers other than 0")
            weight, position = weight * number if after[1] == "*" else weight / number, after.end()
        if not math.isfinite(weight):
            raise expected(what, text, "to have finite numbers")
        found.append((weight, name))
    return found


def combined(parts: list[tuple[float, str]], draws: Mapping[str, Any]) -> Any:
    """The draws of the sum."""
    total: Any = 0.0
    for weight, name in parts:
        total = total + weight * draws[name]
    return total


def _name_at(text: str, position: int, names: Collection[str]) -> str | None:
    """The first of the ``names`` that stands there and ends there: behind it comes nothing, a space or a sign."""
    for name in names:
        end = position + len(name)
        if text.startswith(name, position) and (end == len(text) or text[end].isspace() or text[end] in "+-*/"):
            return name
    return None


def _unknown(what: str, text: str, rest: str, names: Collection[str]) -> NoReturn:
    word = re.split(r"\s+[-+*/]\s+|\s*$", rest.strip(), maxsplit=1)[0] or rest
    known = ", ".join(list(names)[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    raise expected(what, text, f"to name one of {known}, not {word[:80]!r}{did_you_mean(word, names)}")
