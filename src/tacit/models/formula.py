"""A small formula language: ``charges ~ age + bmi:smoker + log(income) - 1``.

A formula names columns and public functions of them (`formula_terms`). Nothing in it can depend on the data (a centred
or standardised column, a spline with knots at quantiles would leak what they were computed from) and nothing in it is
code.

    formula   = response "~" term { ("+" | "-") term }
    term      = product | "0" | "1"              "- 1" or "+ 0" leaves the intercept out
    product   = factor { (":" | "*") factor }    "a*b" is short for "a + b + a:b"
    factor    = column | function "(" ... ")"
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
    "|": "no |: it has no group effects; give the group as a term, as in y ~ x + group",
    ".": "its columns named one by one instead of ., which would be whatever the rows have",
    "=": "= only inside functions",
    ",": "a comma only inside functions",
    "[": "[ only in bs(x, knots=[...])",
    "]": "] only in bs(x, knots=[...])",
    ")": "no ) without its (",
    "(": "( only after a function's name: write the terms out, a*b for a + b + a:b",
}


@dataclass(frozen=True)
class Formula:
    """A parsed formula: ``terms`` are the products of factors, in order, without the intercept.

    ``offsets`` are numbers whose coefficient is 1; ``references`` what C(x) says of columns with levels.
    """

    response: str
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    offsets: tuple[Factor, ...] = ()
    references: tuple[ReferenceLevel, ...] = ()
    text: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column it names, the response last."""
        named = dict.fromkeys(column_of(factor) for term in (*self.terms, self.offsets) for factor in term)
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
    intercept = True
    for sign, words in _signed_terms(text, tokens[2:]):
        if [(w.kind, w.text) for w in words] in ([("number", "1")], [("number", "0")]):
            intercept = (words[0].text == "1") == (sign == "+")
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
    if not terms and not offsets and not intercept:
        raise expected("formula", text, "to have at least one term or an intercept")
    return Formula(response, tuple(terms), intercept, tuple(offsets), tuple(references.values()), text)


def _check_response(text: str, tokens: list[Token]) -> None:
    tildes = [i for i, token in enumerate(tokens) if token == Token("sign", "~", token.place)]
    if len(tildes) == 1 and tildes[0] > 2 and tokens[0].kind == "name" and tokens[1].text == "(":
        refuse(text, 0, "to have the response as it is: to model a function of it, declare a column that has it")
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
    refuse(text, token.place, f"to have columns joined by : or * in its terms, not {token.text!r} here")
