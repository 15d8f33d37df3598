"""Functions in a formula: what is between their brackets, and what is said of those that would look at rows.

    log(x)  log2(x)  log10(x)  log1p(x)  sqrt(x)      of one number
    I(x**2)  I(x*z)                                   a power; a product, which is x:z
    poly(x, 2)                                        Legendre polynomials of degrees 1 to 2 on the declared bounds
    bs(x, knots=[30, 50], degree=3)                   B-splines with public knots, between the declared bounds
    C(x)  C(x, ref="b")                               a column with levels, and which of them is the reference
    offset(x)  offset(log(x))                         a number whose coefficient is 1

All are functions of a cell and of what the schema declares. Whatever would be computed from rows is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, NoReturn

from tacit.errors import did_you_mean, expected

NAME = r"[^\W\d][\w.]*"
PLAIN = ("log", "log2", "log10", "log1p", "sqrt")
KNOWN = (*PLAIN, "I", "poly", "bs", "C", "offset")
MOST_DEGREE, MOST_KNOTS = 8, 30
_SHOWN = 56  # characters of a formula around a fault

_FROM_ROWS = {
    **dict.fromkeys(
        ("scale", "standardize", "rescale", "zscore", "normalize"),
        "which needs the mean and the sd of rows: write {x}, which is mapped from its declared bounds already",
    ),
    **dict.fromkeys(
        ("center", "centre", "demean"),
        "which needs the mean of rows: write {x}, whose centre is the middle of its declared bounds already",
    ),
    **dict.fromkeys(
        ("cut", "qcut", "ntile", "quantile", "rank", "mean", "median", "sd", "std", "min", "max", "lag", "diff"),
        "which is computed from several rows: make it a column of its own, from public numbers",
    ),
    **dict.fromkeys(
        ("ns", "cr", "cc", "te", "ti", "t2", "s", "lo", "gp", "smooth", "spline", "splines", "pspline", "rcs"),
        "whose knots follow from rows: write bs({x}, knots=[...]) with knots that are public",
    ),
    **dict.fromkeys(("factor", "Factor", "as.factor", "category", "relevel"), 'but C({x}) or C({x}, ref="level")'),
    **dict.fromkeys(("Q", "q"), "but the column's name between backticks"),
    **dict.fromkeys(
        ("exp", "abs", "sin", "cos", "tan", "pow"), "which has no place here: declare a column that has it"
    ),
}


class Token(NamedTuple):
    """A word of a formula, its ``kind`` (name, number, text or sign) and its ``place`` in the text."""

    kind: str
    text: str
    place: int


@dataclass(frozen=True, order=True)
class Call:
    """A public function of one column: ``numbers`` are a power, a degree, or a degree and knots.

    Its ``place`` in the text of the formula is kept for what may be said of it once the schema is known.
    """

    function: str
    column: str
    numbers: tuple[float, ...] = ()
    place: int = field(default=0, compare=False)

    def __str__(self) -> str:
        column = quoted(self.column)
        match self.function:
            case "power":
                return f"I({column}**{_written(self.numbers[0])})"
            case "poly":
                return f"poly({column}, {_written(self.numbers[0])})"
            case "bs":
                degree, *knots = self.numbers
                more = "" if degree == 3 else f", degree={_written(degree)}"
                return f"bs({column}, knots=[{', '.join(map(_written, knots))}]{more})"
            case _:
                return f"{self.function}({column})"


Factor = str | Call


def column_of(factor: Factor) -> str:
    """The column that a factor reads."""
    return factor.column if isinstance(factor, Call) else factor


class ReferenceLevel(NamedTuple):
    """What C(x) says of a column: it has levels, and ``level`` is the reference, if one is said."""

    column: str
    level: str | float | bool | None


class Offset(NamedTuple):
    """A number whose coefficient is 1."""

    factor: Factor


def refuse(text: str, place: int, condition: str) -> NoReturn:
    """Say what is wrong with a formula, with ^ before the place where it is."""
    start, end = max(0, place - _SHOWN // 2), max(_SHOWN, place + _SHOWN // 2)
    shown = f"{text[start:place]}^{text[place:end]}"
    raise expected("formula", f"{'...' if start else ''}{shown}{'...' if end < len(text) else ''}", condition)


def read_call(text: str, words: Sequence[Token]) -> tuple[list[Factor] | ReferenceLevel | Offset, int]:
    """What stands at the start of ``words``, a name and its brackets, and how many words that takes."""
    name, place = words[0].text, words[0].place
    end = _closing(text, words)
    inner = list(words[2:end])
    found = _Arguments(text, name, place, inner)
    if name not in KNOWN:
        _unknown(found)
    match name:
        case "I":
            return _arithmetic(found), end + 1
        case "C":
            return _levels(found), end + 1
        case "offset":
            return _offset(found), end + 1
        case _:
            return [_curve(found)], end + 1


@dataclass(frozen=True)
class _Arguments:
    """What is between the brackets of a function."""

    text: str
    name: str
    place: int
    words: list[Token]

    def no(self, condition: str, token: Token | None = None) -> NoReturn:
        refuse(self.text, self.place if token is None else token.place, condition)

    @property
    def column(self) -> str | None:
        """The first column that is named, for a suggestion."""
        return next((word.text for word in self.words if word.kind == "name"), None)

    def split(self) -> tuple[list[list[Token]], dict[str, list[Token]]]:
        """Arguments by place, and those by name."""
        parts: list[list[Token]] = [[]]
        depth = 0
        for word in self.words:
            depth += (word.text in "([") - (word.text in ")]") if word.kind == "sign" else 0
            if word == Token("sign", ",", word.place) and not depth:
                parts.append([])
            else:
                parts[-1].append(word)
        plain: list[list[Token]] = []
        named: dict[str, list[Token]] = {}
        for part in parts if self.words else []:
            if len(part) > 1 and part[0].kind == "name" and part[1].text == "=":
                named[part[0].text] = part[2:]
            else:
                plain.append(part)
        return plain, named


def _closing(text: str, words: Sequence[Token]) -> int:
    depth = 0
    for i, word in enumerate(words[1:], start=1):
        if word.kind == "sign" and word.text in "()":
            depth += 1 if word.text == "(" else -1
            if not depth:
                return i
    refuse(text, words[1].place, "to close this bracket with )")


def _unknown(found: _Arguments) -> NoReturn:
    name, column = found.name, quoted(found.column or "x")
    if name in _FROM_ROWS:
        found.no(f"to have no {name}(), {_FROM_ROWS[name].format(x=column)}")
    module, _, last = name.rpartition(".")
    if module and last in KNOWN:
        found.no(f"to have no {name}(), but {last}({column})")
    known = ", ".join(f"{one}()" for one in KNOWN)
    found.no(
        f"to have one of {known}, not {name}(){did_you_mean(name, KNOWN)}; for others, declare a column that has it"
    )


def _one_column(found: _Arguments, part: Sequence[Token], form: str) -> str:
    if len(part) != 1 or part[0].kind != "name":
        found.no(f"to have one column in {found.name}(), as in {form}", part[0] if part else None)
    return part[0].text


def _number(found: _Arguments, part: Sequence[Token], what: str) -> float:
    sign = -1.0 if part and part[0].text == "-" else 1.0
    rest = part[1:] if part and part[0].text in "+-" and part[0].kind == "sign" else part
    if len(rest) != 1 or rest[0].kind != "number" or not abs(float(rest[0].text)) < 1e300:
        found.no(f"to have {what} in {found.name}()", part[0] if part else None)
    return sign * float(rest[0].text)


def _whole(found: _Arguments, part: Sequence[Token], least: int, most: int, what: str) -> float:
    number = _number(found, part, f"a whole number from {least} to {most}, {what},")
    if number != int(number) or not least <= number <= most:
        found.no(f"to have a whole number from {least} to {most}, {what}, in {found.name}()", part[0])
    return number


def _curve(found: _Arguments) -> Call:
    plain, named = found.split()
    if not plain:
        found.no(f"to have one column in {found.name}(), as in {_form(found.name, 'x')}")
    column = _one_column(found, plain[0], _form(found.name, "x"))
    name, x = found.name, quoted(column)
    if name in PLAIN:
        if len(plain) > 1 or named:
            found.no(f"to have one column in {name}() and nothing else: {name}({x})")
        return Call(name, column, place=found.place)
    if name == "poly":
        for other in named:
            if other != "degree":
                found.no(f"to say no {other} in poly(): write poly({x}, 2)", named[other][0] if named[other] else None)
        degree = plain[1] if len(plain) > 1 else named.get("degree")
        if degree is None or len(plain) > 2:
            found.no(f"to say the degree in poly(), as in poly({x}, 2)")
        return Call("poly", column, (_whole(found, degree, 1, MOST_DEGREE, "the degree"),), found.place)
    for other in named:
        if other in ("df", "intercept", "lower_bound", "upper_bound", "Boundary.knots", "include_intercept"):
            why = "df would place knots where rows lie" if other == "df" else "its ends are the declared bounds"
            found.no(f"to have public knots in bs(), and no {other} ({why}): write bs({x}, knots=[...])")
        if other not in ("knots", "degree"):
            found.no(f"to say knots and degree in bs(), not {other}: write bs({x}, knots=[...])")
    if "knots" not in named or len(plain) > 1:
        found.no(f"to have public knots in bs(), inside the declared bounds: write bs({x}, knots=[...])")
    degree = _whole(found, named["degree"], 1, 5, "the degree") if "degree" in named else 3.0
    return Call("bs", column, (degree, *_knots(found, named["knots"], x)), found.place)


def _knots(found: _Arguments, part: Sequence[Token], x: str) -> list[float]:
    bare = [word.text for word in part]
    if len(bare) < 2 or bare[0] not in "[(" or bare[-1] not in ")]":
        found.no(f"to have a list of numbers as knots, as in bs({x}, knots=[30, 50])", part[0] if part else None)
    inside = _Arguments(found.text, "bs", found.place, list(part[1:-1])).split()[0]
    knots = [_number(found, one, "a list of numbers as knots") for one in inside]
    if any(b <= a for a, b in pairwise(knots)) or len(knots) > MOST_KNOTS:
        found.no(f"to have knots in bs() that grow, at most {MOST_KNOTS} of them", part[0])
    return knots


def _arithmetic(found: _Arguments) -> list[Factor]:
    words = found.words
    texts = [word.text for word in words]
    if len(words) == 3 and words[0].kind == "name" and texts[1] in ("**", "^") and words[2].kind == "number":
        power = _whole(found, words[2:], 2, MOST_DEGREE, "the power")
        return [Call("power", texts[0], (power,), found.place)]
    columns, signs = texts[::2], texts[1::2]
    if len(words) % 2 == 0 or any(word.kind != "name" for word in words[::2]) or set(signs) != {"*"}:
        found.no("to have a power or a product in I(), as in I(x**2) or I(x*z); for more, declare a column that has it")
    if len(set(columns)) == 1 and len(columns) <= MOST_DEGREE:
        return [Call("power", columns[0], (float(len(columns)),), found.place)]
    return list(columns)


def _levels(found: _Arguments) -> ReferenceLevel:
    plain, named = found.split()
    column = _one_column(found, plain[0] if plain else [], "C(x)")
    x = quoted(column)
    if set(named) - {"ref"} or len(plain) > 1:
        found.no(f'to say the reference level as C({x}, ref="level"); levels are what the schema declares')
    if "ref" not in named:
        return ReferenceLevel(column, None)
    part = named["ref"]
    if len(part) == 1 and part[0].kind == "text":
        return ReferenceLevel(column, part[0].text)
    if len(part) == 1 and part[0].text in ("True", "true", "False", "false"):
        return ReferenceLevel(column, part[0].text in ("True", "true"))
    if len(part) == 1 and part[0].kind == "name":
        found.no(f'to have the level between quotes: C({x}, ref="{part[0].text}")', part[0])
    return ReferenceLevel(column, _number(found, part, 'a level as ref, as in ref="b"'))


def _offset(found: _Arguments) -> Offset:
    words = found.words
    factor: Factor | None = words[0].text if len(words) == 1 and words[0].kind == "name" else None
    if len(words) > 1 and words[0].kind == "name" and words[1].text == "(":
        inner, used = read_call(found.text, words)
        if isinstance(inner, list) and len(inner) == 1 and used == len(words):
            factor = inner[0]
    if factor is None or (isinstance(factor, Call) and factor.function not in (*PLAIN, "power")):
        found.no("to have one number in offset(), as in offset(x) or offset(log(x))")
    return Offset(factor)


def _form(name: str, column: str) -> str:
    return {"poly": f"poly({column}, 2)", "bs": f"bs({column}, knots=[...])"}.get(name, f"{name}({column})")


def quoted(name: str) -> str:
    """A column's name as a formula has it."""
    return name if re.fullmatch(NAME, name) else f"`{name}`"


def written_level(level: object) -> str:
    """A reference level as a formula has it."""
    if isinstance(level, str):
        return f"'{level}'" if '"' in level else f'"{level}"'
    return str(level) if isinstance(level, bool) else _written(float(level))  # type: ignore[arg-type]


def _written(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 2**53 else repr(number)
