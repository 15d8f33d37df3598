"""A small formula language: ``charges ~ age + bmi:smoker + log(income) - 1``.

A formula names columns and public functions of them (`formula_terms`). Nothing in it can depend on the data (a centred
or standardised column, a spline with knots at quantiles would leak what they were computed from) and nothing in it is
code.

    formula   = response "~" term { ("+" | "-") term }
    term      = product | "0" | "1"              "- 1" or "+ 0" leaves the intercept out
    product   = factor { (":" | "*") factor }    "a*b" is short for "a + b + a:b"
    factor    = column | function "(" ... ")"
    varying   = "(" ("1" | column | "1 + " column) "|" column ")"     a term of the family varying
    column    = a name of letters, digits, _ and .  or  any name between backticks
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations
from typing import NoReturn

from tacit._support.printable import flaw
from tacit.errors import expected
from tacit.models.formula_terms import (
    NAME,
    Call,
    Factor,
    Offset,
    ReferenceLevel,
    Token,
    column_of,
    quoted,
    read_call,
    refuse,
    written_level,
)

_SPACES = "; a name with spaces or signs stands between backticks: `body mass`"
_TOKEN = re.compile(
    rf"\s*(?:`(?P<quoted>[^`]+)`|(?P<name>{NAME})|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<sign>\*\*|[~+\-:*()\[\],=^/|.])|(?P<other>\S))"
)
_MOST_STARRED = 6
_MOST_TERMS = 300
_INSTEAD = {
    "^": "no ^ between terms: a power is I(x**2), and terms are written out",
    "**": "no ** between terms: a power is I(x**2), and terms are written out",
    "/": "no / between terms: write a + a:b for a/b",
    "|": "| only between brackets, as in (1 | group)",
    ".": "its columns named one by one instead of ., which would be whatever the rows have",
    "=": "= only inside functions",
    ",": "a comma only inside functions",
    "[": "[ only in bs(x, knots=[...])",
    "]": "] only in bs(x, knots=[...])",
    ")": "no ) without its (",
    "(": "( only after a function's name: write the terms out, a*b for a + b + a:b",
}


@dataclass(frozen=True)
class Varying:
    """What (1 | g) or (x | g) says: each level of ``column`` has its own intercept, and its own slope of ``slopes``."""

    column: str
    slopes: tuple[str, ...]

    def __str__(self) -> str:
        return f"({quoted(self.slopes[0]) if self.slopes else 1} | {quoted(self.column)})"


@dataclass(frozen=True)
class Formula:
    """A parsed formula: ``terms`` are the products of factors, in order, without the intercept.

    ``offsets`` are numbers whose coefficient is 1; ``references`` what C(x) says of columns with levels; ``varying``
    what differs by the levels of a column.
    """

    response: str
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    offsets: tuple[Factor, ...] = ()
    references: tuple[ReferenceLevel, ...] = ()
    varying: Varying | None = None
    text: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column it names, the response last."""
        named = dict.fromkeys(column_of(factor) for term in (*self.terms, self.offsets) for factor in term)
        if self.varying is not None:
            named |= {self.varying.column: None}
        return (*named, self.response)

    def reference(self, column: str) -> ReferenceLevel | None:
        """What C() says of ``column``."""
        return next((one for one in self.references if one.column == column), None)

    def no(self, about: Factor, condition: str) -> NoReturn:
        """Refuse the formula for what ``about`` is in the schema, and show the place."""
        if isinstance(about, Call):
            refuse(self.text, about.place, condition)
        start = self.text.find("~") + 1 if about != self.response else 0
        found = re.compile(rf"(?<![\w.`]){re.escape(quoted(about))}(?![\w.`])").search(self.text, start)
        refuse(self.text, found.start() if found else start, condition)

    def __str__(self) -> str:
        parts = [":".join(map(self._written, term)) for term in self.terms]
        parts += [f"offset({factor if isinstance(factor, Call) else quoted(factor)})" for factor in self.offsets]
        if self.varying is not None:
            parts = [*(parts or ["1"]), str(self.varying)]
        if not parts:
            return f"{quoted(self.response)} ~ {int(self.intercept)}"
        return f"{quoted(self.response)} ~ {' + '.join(parts)}{'' if self.intercept else ' - 1'}"

    def _written(self, factor: Factor) -> str:
        if isinstance(factor, Call):
            return str(factor)
        said = self.reference(factor)
        if said is None:
            return quoted(factor)
        return f"C({quoted(factor)}{'' if said.level is None else f', ref={written_level(said.level)}'})"


def parse_formula(text: object) -> Formula:
    """Read a formula, or say in one sentence what is wrong with it."""
    if not isinstance(text, str):
        raise expected("formula", text, 'to be text such as "y ~ a + b"')
    if flawed := flaw(text):
        raise expected("formula", text, f"to hold no {flawed}")
    tokens = _tokens(text)
    for token in tokens:
        if flawed := flaw(token.text):
            raise expected("formula", text, f"to hold no {flawed}")
    _check_response(text, tokens)
    response = tokens[0].text
    terms: dict[tuple[Factor, ...], None] = {}
    offsets: dict[Factor, None] = {}
    references: dict[str, ReferenceLevel] = {}
    intercept, varying = True, None
    for sign, words in _signed_terms(text, tokens[2:]):
        if [(w.kind, w.text) for w in words] in ([("number", "1")], [("number", "0")]):
            intercept = (words[0].text == "1") == (sign == "+")
            continue
        if words[0].text == "(" and words[0].kind == "sign" and any(w.text == "|" for w in words):
            if varying is not None or sign == "-":
                refuse(text, words[0].place, "to have one term with | at most, and not to take it away")
            varying = _varying(text, words)
            continue
        product, starred, offset = _product(text, words, references)
        if sign == "-":
            refuse(text, words[0].place, "to take nothing away but 1, the intercept")
        if offset is not None:
            offsets[offset] = None
            continue
        if starred and len(product) > _MOST_STARRED:
            raise expected("formula", text, f"to join at most {_MOST_STARRED} columns by *: each doubles it")
        expanded = (
            [c for k in range(1, len(product) + 1) for c in combinations(product, k)] if starred else [tuple(product)]
        )
        for groups in expanded:
            term = tuple(factor for group in groups for factor in group)
            columns = [column_of(factor) for factor in term]
            if len(set(columns)) != len(columns):
                refuse(text, words[0].place, "to have no column twice in one term; a power is I(x**2)")
            if not any(set(term) == set(known) for known in terms):
                terms[term] = None
        if len(terms) > _MOST_TERMS:
            raise expected("formula", text, f"to have at most {_MOST_TERMS} terms")
    if any(response == column_of(factor) for term in (*terms, tuple(offsets)) for factor in term):
        raise expected("formula", text, "not to use the response as a term")
    if not terms and not offsets and not intercept and varying is None:
        raise expected("formula", text, "to have at least one term or an intercept")
    made = Formula(response, tuple(terms), intercept, tuple(offsets), tuple(references.values()), varying, text)
    if varying is not None:
        _check_varying(made, varying)
    return made


def _varying(text: str, words: list[Token]) -> Varying:
    """What stands between the brackets of (x | g)."""
    inner = [word for word in words[1:] if word.text != ")" or word.kind == "name"]
    bar = next((i for i, word in enumerate(inner) if word.text == "|" and word.kind == "sign"), 0)
    left, right = [w for w in inner[:bar] if w.kind != "sign"], inner[bar + 1 :]
    signs = {w.text for w in inner[:bar] if w.kind == "sign"}
    if words[-1].text != ")" or len(words) != len(inner) + 2 or len(right) != 1 or right[0].kind != "name":
        refuse(text, words[0].place, "to have one column with levels behind |, as in (1 | g) or (x | g)")
    slopes = tuple(w.text for w in left if w.kind == "name")
    ones = [w.text for w in left if w.kind != "name"]
    if signs - {"+"} or ones not in ([], ["1"]) or not left or len(slopes) > 1:
        refuse(
            text, words[0].place, "to have 1 or one column in front of |: (1 | g), or (x | g), which has the 1 as well"
        )
    return Varying(right[0].text, slopes)


def _check_varying(formula: Formula, varying: Varying) -> None:
    terms = [column_of(factor) for term in formula.terms for factor in term]
    if not formula.intercept:
        formula.no(varying.column, "to have an intercept beside (1 | g): leave out - 1 or + 0")
    if varying.column in (formula.response, *terms, *varying.slopes):
        formula.no(
            varying.column, f"to have {varying.column!r} behind | alone: its levels have their effects from there"
        )
    for name in varying.slopes:
        if (name,) not in formula.terms:
            formula.no(name, f"to have {name!r} as a term of its own, too: the mean of the slopes that vary")


def _check_response(text: str, tokens: list[Token]) -> None:
    tildes = [i for i, token in enumerate(tokens) if token == Token("sign", "~", token.place)]
    if len(tildes) == 1 and tildes[0] > 2 and tokens[0].kind == "name" and tokens[1].text == "(":
        refuse(
            text,
            0,
            "to have the response as it is: to model a function of it, derive a column, as in [derive] "
            'log_y = "log(y)", and write log_y ~ ...',
        )
    if tildes != [1] or len(tokens) < 3 or tokens[0].kind != "name":
        raise expected("formula", text, 'to name one response and its terms, as in "y ~ a + b"')


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        assert match is not None
        kind = match.lastgroup
        assert kind is not None
        word, place = match.group(kind), match.start(kind)
        if kind == "other":
            refuse(text, place, f"to hold column names, functions, +, -, :, * and ~ only, not {word!r}{_SPACES}")
        kind = {"quoted": "name", "double": "text", "single": "text"}.get(kind, kind)
        tokens.append(Token(kind, word, place - (match.group("quoted") is not None)))
        position = match.end()
    return tokens


def _signed_terms(text: str, tokens: list[Token]) -> list[tuple[str, list[Token]]]:
    found: list[tuple[str, list[Token]]] = [("+", [])]
    depth = 0
    for token in tokens:
        depth += ((token.text in "([") - (token.text in ")]")) if token.kind == "sign" else 0
        if token.kind == "sign" and token.text in "+-" and depth <= 0:
            if not found[-1][1] and len(found) == 1 and token.text == "-":
                found[-1] = ("-", [])
            elif not found[-1][1]:
                refuse(text, token.place, "to have a term between every two signs")
            else:
                found.append((token.text, []))
        else:
            found[-1][1].append(token)
    if not found[-1][1]:
        raise expected("formula", text, "to end with a term")
    return found


def _product(
    text: str, words: list[Token], references: dict[str, ReferenceLevel]
) -> tuple[list[list[Factor]], bool, Factor | None]:
    """The factors of a term, whether * joins them, and the offset that it is, if it is one."""
    found: list[list[Factor]] = []
    signs: set[str] = set()
    position = 0
    while position < len(words):
        here = words[position]
        if here.kind != "name":
            _no_factor(text, here)
        if position + 1 < len(words) and words[position + 1].text == "(" and words[position + 1].kind == "sign":
            read, used = read_call(text, words[position:])
            if isinstance(read, Offset):
                if used < len(words):
                    refuse(text, here.place, "to have offset() as a term of its own")
                return [], False, read.factor
            if isinstance(read, ReferenceLevel):
                if references.setdefault(read.column, read) != read:
                    refuse(text, here.place, f"to say one reference level of {read.column!r}")
                found.append([read.column])
            else:
                found.append(read)
            position += used
        else:
            found.append([here.text])
            position += 1
        if position == len(words):
            break
        sign = words[position]
        if sign.kind != "sign" or sign.text not in ":*":
            _no_factor(text, sign)
        signs.add(sign.text)
        position += 1
        if position == len(words):
            refuse(text, sign.place, f"to have columns joined by : or * in its terms, and one after {sign.text}")
    if len(signs) > 1:
        refuse(text, words[0].place, "not to mix : and * in one term; write the terms out")
    return found, "*" in signs, None


def _no_factor(text: str, token: Token) -> NoReturn:
    if token.kind == "sign" and token.text in _INSTEAD:
        refuse(text, token.place, f"to have {_INSTEAD[token.text]}")
    if token.kind == "number":
        refuse(
            text, token.place, "to have columns joined by : or * in its terms, and no numbers but 0 and 1 on their own"
        )
    refuse(text, token.place, f"to have a + between terms, or : or * between columns of one, not {token.text!r} here")
