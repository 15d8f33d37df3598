"""A small formula language: ``charges ~ age + bmi:smoker - 1``.

A formula names columns and nothing else. There are no functions, so nothing in it can depend on the data (a centred
or standardised column, a spline with knots at quantiles would leak what they were computed from) and nothing in it is
code.

    formula   = response "~" term { ("+" | "-") term }
    term      = product | "0" | "1"              "- 1" or "+ 0" leaves the intercept out
    product   = column { (":" | "*") column }    "a*b" is short for "a + b + a:b"
    column    = a name of letters, digits, _ and .  or  any name between backticks
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations

from tacit._support.printable import flaw
from tacit.errors import expected

_NAME = r"[^\W\d][\w.]*"
_TOKEN = re.compile(rf"\s*(?:(`[^`]+`)|({_NAME})|([0-9]+)|([~+\-:*])|(\S))")
_MOST_STARRED = 6
_MOST_TERMS = 300


@dataclass(frozen=True)
class Formula:
    """A parsed formula: ``terms`` are the products of columns, in order, without the intercept."""

    response: str
    terms: tuple[tuple[str, ...], ...]
    intercept: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column it names, the response last."""
        named = dict.fromkeys(name for term in self.terms for name in term)
        return (*named, self.response)

    def __str__(self) -> str:
        parts = [":".join(map(_quoted, term)) for term in self.terms]
        if not parts:
            return f"{_quoted(self.response)} ~ {int(self.intercept)}"
        return f"{_quoted(self.response)} ~ {' + '.join(parts)}{'' if self.intercept else ' - 1'}"


def parse_formula(text: object) -> Formula:
    """Read a formula, or say in one sentence what is wrong with it."""
    if not isinstance(text, str):
        raise expected("formula", text, 'to be text such as "y ~ a + b"')
    tokens = _tokens(text)
    for part in (text, *map(_name, tokens)):
        if flawed := flaw(part):
            raise expected("formula", text, f"to hold no {flawed}")
    if tokens.count("~") != 1 or len(tokens) < 3 or tokens[1] != "~" or not _is_name(tokens[0]):
        raise expected("formula", text, 'to name one response and its terms, as in "y ~ a + b"')
    response = _name(tokens[0])
    terms: dict[tuple[str, ...], None] = {}
    intercept = True
    for sign, words in _signed_terms(text, tokens[2:]):
        if words in (["1"], ["0"]):
            intercept = (words == ["1"]) == (sign == "+")
            continue
        product, starred = _product(text, words)
        if sign == "-":
            raise expected("formula", text, "to take nothing away but 1, the intercept")
        if starred and len(product) > _MOST_STARRED:
            raise expected("formula", text, f"to join at most {_MOST_STARRED} columns by *: each doubles it")
        expanded = (
            [c for k in range(1, len(product) + 1) for c in combinations(product, k)] if starred else [tuple(product)]
        )
        for term in expanded:
            if len(set(term)) != len(term):
                raise expected("formula", text, "to have no column twice in one term")
            if not any(set(term) == set(known) for known in terms):
                terms[term] = None
        if len(terms) > _MOST_TERMS:
            raise expected("formula", text, f"to have at most {_MOST_TERMS} terms")
    if any(response in term for term in terms):
        raise expected("formula", text, "not to use the response as a term")
    if not terms and not intercept:
        raise expected("formula", text, "to have at least one term or an intercept")
    return Formula(response, tuple(terms), intercept)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        assert match is not None
        if match.group(5) is not None:
            raise expected("formula", text, f"to hold column names, +, -, :, * and ~ only, not {match.group(5)!r}")
        tokens.append(match.group(0).strip())
        position = match.end()
    return tokens


def _signed_terms(text: str, tokens: list[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = [("+", [])]
    for token in tokens:
        if token in "+-":
            if not found[-1][1] and len(found) == 1 and token == "-":
                found[-1] = ("-", [])
            elif not found[-1][1]:
                raise expected("formula", text, "to have a term between every two signs")
            else:
                found.append((token, []))
        else:
            found[-1][1].append(token)
    if not found[-1][1]:
        raise expected("formula", text, "to end with a term")
    return found


def _product(text: str, words: list[str]) -> tuple[list[str], bool]:
    names, signs = words[::2], words[1::2]
    if len(words) % 2 == 0 or not all(map(_is_name, names)) or not all(s in (":", "*") for s in signs):
        raise expected("formula", text, f"to have columns joined by : or * in its terms, not {' '.join(words)!r}")
    if len(set(signs)) > 1:
        raise expected("formula", text, "not to mix : and * in one term; write the terms out")
    return [_name(n) for n in names], "*" in signs


def _is_name(token: str) -> bool:
    return token.startswith("`") or re.fullmatch(_NAME, token) is not None


def _name(token: str) -> str:
    return token.strip("`")


def _quoted(name: str) -> str:
    return name if re.fullmatch(_NAME, name) else f"`{name}`"
