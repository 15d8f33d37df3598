"""From the text of an expression to its tree: a small grammar, read by itself and never by Python.

    expression = and { "or" and }              and = not { "and" not }              not = "not" not | comparison
    comparison = sum { ("<" | "<=" | ">" | ">=" | "==" | "!=") sum } | sum ["not"] "in" list
    sum        = product { ("+" | "-") product }
    product    = signed { ("*" | "/") signed }
    signed     = "-" signed | power            power = atom ["^" number]
    atom       = number | text | "true" | "false" | column | name "(" arguments ")" | "(" expression ")" | list | table
    list       = "[" atom { "," atom } "]"     table = "{" text ":" text { "," text ":" text } "}"
    column     = a name of letters, digits, _ and .  or  any name between backticks
    text       = between ' or between "

Nothing here knows what a column is; `check` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tacit._support.cell_forms import NUMBER
from tacit._support.printable import flaw
from tacit.errors import InputError, expected, shown

MOST_LETTERS = 10_000
MOST_NESTED = 30
_WORDS = ("and", "or", "not", "in", "true", "false")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>" + NUMBER.removeprefix("[+-]?") + r")|(?P<text>'[^']*'|\"[^\"]*\")|(?P<quoted>`[^`]+`)"
    r"|(?P<name>[^\W\d][\w.]*)|(?P<sign><=|>=|==|!=|[<>+\-*/^()\[\]{},:])|(?P<other>\S))"
)
_COMPARED = ("<", "<=", ">", ">=", "==", "!=")
_INSTEAD = {"=": "==", "&": "and", "|": "or", "!": "not", "~": "not"}
_OF_SQL = {
    "and": "write and in small letters",
    "or": "write or in small letters",
    "not": "write not in small letters",
    "in": "write in in small letters",
    "is": "write is_missing(x) or not is_missing(x)",
    "between": "write 18 <= x <= 65",
}


class UnreadableError(Exception):
    """What is wrong with an expression, and at which letter of its text."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at, self.why = at, why

    def sentence(self, name: str, text: str) -> InputError:
        """The refusal of ``text``, declared as ``name``, with the place."""
        rest = text[self.at :].strip()
        place = f"at character {self.at + 1}, {shown(rest[:24])}" if rest else "at its end"
        return expected(name, text, f"{self.why}, {place}")


@dataclass(frozen=True)
class Syntax:
    """A node of the tree: what it is, its own ``value``, its ``parts``, and the letter ``at`` which it stands."""

    kind: str
    at: int
    value: str = ""
    parts: tuple[Syntax, ...] = ()
    depth: int = 1

    def names(self) -> Iterator[str]:
        """The columns that it names."""
        if self.kind == "name":
            yield self.value
        for part in self.parts:
            yield from part.names()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


def parse(text: str) -> Syntax:
    """The tree of ``text``; raises `UnreadableError`."""
    if len(text) > MOST_LETTERS:
        raise UnreadableError(MOST_LETTERS, f"to have at most {MOST_LETTERS} characters")
    if flawed := flaw(text.replace("\n", " ").replace("\t", " ")):
        raise UnreadableError(0, f"to hold no {flawed}")
    return _Parser(_tokens(text), len(text)).whole()


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        assert match is not None
        assert match.lastgroup is not None
        kind, at = match.lastgroup, match.start(match.lastgroup)
        word = match.group(kind)
        if kind == "other":
            instead = _INSTEAD.get(word)
            hint = f" (write {instead})" if instead else ""
            raise UnreadableError(at, f"to hold names, numbers, texts in quotes and signs, not {word!r}{hint}")
        if kind == "quoted":
            kind, word = "name", word[1:-1]
        elif kind == "text":
            word = word[1:-1]
        elif kind == "name" and word in _WORDS:
            kind = "sign"
        found.append(_Token(kind, word, at))
        place = match.end()
    return found


class _Parser:
    """Reads from left to right, one token ahead."""

    def __init__(self, tokens: list[_Token], length: int) -> None:
        self.tokens, self.length = tokens, length
        self.place = self.nested = 0

    def whole(self) -> Syntax:
        found = self.either()
        if self.place < len(self.tokens):
            token = self.tokens[self.place]
            hint = _OF_SQL.get(token.text.lower()) if token.kind == "name" else None
            hint = f" ({hint})" if hint else ""
            raise UnreadableError(self.at, f"to end, or to go on with a sign such as + or =={hint}")
        return found

    @property
    def at(self) -> int:
        return self.tokens[self.place].at if self.place < len(self.tokens) else self.length

    def sees(self, *signs: str) -> bool:
        """Whether the next token is one of these signs."""
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        return token is not None and token.kind == "sign" and token.text in signs

    def take(self, *signs: str) -> str | None:
        """The next token, if it is one of these signs."""
        if not self.sees(*signs):
            return None
        self.place += 1
        return self.tokens[self.place - 1].text

    def need(self, sign: str) -> None:
        if self.take(sign) is None:
            raise UnreadableError(self.at, f"to have {sign!r}")

    def node(self, kind: str, at: int, value: str = "", *parts: Syntax) -> Syntax:
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth > MOST_NESTED:
            raise UnreadableError(at, f"to be nested at most {MOST_NESTED} deep; derive a part of it by itself first")
        return Syntax(kind, at, value, parts, depth)

    def either(self) -> Syntax:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise UnreadableError(self.at, f"to be nested at most {MOST_NESTED} deep")
        at, parts = self.at, [self.both()]
        while self.take("or"):
            parts.append(self.both())
        self.nested -= 1
        return parts[0] if len(parts) == 1 else self.node("or", at, "", *parts)

    def both(self) -> Syntax:
        at, parts = self.at, [self.negated()]
        while self.take("and"):
            parts.append(self.negated())
        return parts[0] if len(parts) == 1 else self.node("and", at, "", *parts)

    def negated(self) -> Syntax:
        at, count = self.at, 0
        while self.take("not"):
            count += 1
        found = self.comparison()
        for _ in range(count):
            found = self.node("not", at, "", found)
        return found

    def comparison(self) -> Syntax:
        at, left = self.at, self.sum()
        if self.sees("in", "not"):
            negative = self.take("not") is not None
            self.need("in")
            if not self.sees("["):
                raise UnreadableError(self.at, 'to have a list in square brackets behind in, such as ["a", "b"]')
            found = self.node("in", at, "", left, self.atom())
            return self.node("not", at, "", found) if negative else found
        parts: list[Syntax] = []
        while sign := self.take(*_COMPARED):
            right = self.sum()
            parts.append(self.node("compare", at, sign, left, right))
            at, left = right.at, right
        if not parts:
            return left
        return parts[0] if len(parts) == 1 else self.node("and", parts[0].at, "", *parts)

    def sum(self) -> Syntax:
        at, left = self.at, self.product()
        while sign := self.take("+", "-"):
            left = self.node("arithmetic", at, sign, left, self.product())
        return left

    def product(self) -> Syntax:
        at, left = self.at, self.signed()
        while sign := self.take("*", "/"):
            if self.sees("*"):
                raise UnreadableError(self.at, "to write a power with ^, not **")
            left = self.node("arithmetic", at, sign, left, self.signed())
        return left

    def signed(self) -> Syntax:
        at, minus = self.at, 0
        while self.take("-"):
            minus += 1
        found = self.power()
        if minus and found.kind == "number":
            minus += found.value.startswith("-")  # one in brackets
            return Syntax("number", at, "-" * (minus % 2) + found.value.lstrip("-"))
        for _ in range(minus):
            found = self.node("arithmetic", at, "-", Syntax("number", at, "0"), found)
        return found

    def power(self) -> Syntax:
        at, base = self.at, self.atom()
        if not self.take("^"):
            return base
        place, token = self.at, self.tokens[self.place] if self.place < len(self.tokens) else None
        if token is None or not (token.kind == "number" and token.text.isdigit() and 2 <= int(token.text[:3]) <= 10):
            raise UnreadableError(place, "to have a whole number from 2 to 10 behind ^; sqrt(x) is the root")
        self.place += 1
        return self.node("power", at, token.text, base)

    def atom(self) -> Syntax:
        if self.place >= len(self.tokens):
            raise UnreadableError(self.length, "to go on with a column, a number or a text")
        token = self.tokens[self.place]
        self.place += 1
        if token.kind in ("number", "text"):
            return Syntax(token.kind, token.at, token.text)
        if token.kind == "name":
            if not self.take("("):
                return Syntax("name", token.at, token.text)
            return self.node("call", token.at, token.text, *self.items(")", self.either))
        if token.text in ("true", "false"):
            return Syntax("truth", token.at, token.text)
        if token.text == "(":
            found = self.either()
            self.need(")")
            return found
        if token.text == "[":
            return self.node("list", token.at, "", *self.items("]", self.signed))
        if token.text == "{":
            return self.node("table", token.at, "", *self.items("}", self.pair))
        before = self.tokens[self.place - 2].text if self.place > 1 else ""
        hint = " (write != for unequal)" if (before, token.text) == ("<", ">") else ""
        raise UnreadableError(token.at, f"to have a column, a number or a text here{hint}")

    def pair(self) -> Syntax:
        at, old = self.at, self.signed()
        self.need(":")
        return self.node("pair", at, "", old, self.signed())

    def items(self, close: str, item: object) -> list[Syntax]:
        """What stands between commas, up to the sign that closes it."""
        found: list[Syntax] = []
        while not self.take(close):
            if found and not self.take(","):
                raise UnreadableError(self.at, f"to have {close!r} or a comma")
            found.append(item())  # type: ignore[operator]
        return found
