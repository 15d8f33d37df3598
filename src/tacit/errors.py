"""What tacit raises.

TacitError
├── InputError      a plan, an argument or a file is not what was expected     command line: exit code 2
└── RefusedError    the request is well formed but must not be carried out     command line: exit code 1

Every message is one sentence of the form ``Expected <name>=<value> <condition>.`` The value is always something that
was declared (a bound, a budget, a path), never something that was read from a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TacitError(Exception):
    """The base of every error that tacit raises on purpose."""


class InputError(TacitError, ValueError):
    """A plan, an argument or a file is not what was expected."""


class RefusedError(TacitError):
    """The request is well formed, but carrying it out would break a promise."""


def expected(name: str, value: object, condition: str) -> InputError:
    """Build the one error sentence: ``Expected epsilon=-1 to be a positive number.``"""
    shown = repr(value)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return InputError(f"Expected {name}={shown} {condition}.")


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """A hint in brackets when ``name`` looks like a misspelling of one of ``names``, else nothing."""
    close = get_close_matches(str(name), list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
