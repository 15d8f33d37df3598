"""What tacit raises.

TacitError
├── InputError                a plan, an argument or a file is not what was expected     command line: exit code 2
│   └── BrokenMediumError     what holds the rows broke, or changed, while they were read                        2
└── RefusedError              the request is well formed but must not be carried out                             1

Every message is one sentence of the form ``Expected <name>=<value> <condition>.`` The value is always something that
was declared (a bound, a budget, a path), never something that was read from a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tacit._support.printable import spelled_out

NO_ROWS = "Expected the data to have at least one row."
BROKEN = "Expected the data to be readable to its end; the budget counts as spent."


class TacitError(Exception):
    """The base of every error that tacit raises on purpose."""


class InputError(TacitError, ValueError):
    """A plan, an argument or a file is not what was expected."""


class BrokenMediumError(InputError):
    """What holds the rows broke or changed while they were read: a read error, a corrupt page, another length.

    It is the only error that comes out once rows are read (`tacit.engines.reading`), so its message is made of what was
    public before: the source's label, and no number that was counted.
    """


class RefusedError(TacitError):
    """The request is well formed, but carrying it out would break a promise."""


def expected(name: str, value: object, condition: str) -> InputError:
    """Build the one error sentence: ``Expected epsilon=-1 to be a positive number.``

    It is one line of a bounded length that any terminal can show, whatever ``value`` is.
    """
    return InputError(spelled_out(f"Expected {name}={shown(value)} {_cut(condition, 600)}."))


def shown(value: object) -> str:
    """How a declared value stands in a sentence: on one line, and cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # an integer of thousands of digits, a list nested too deeply
        text = f"<{type(value).__name__}>"
    return _cut(spelled_out(text), 80)


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """A hint in brackets when ``name`` looks like a misspelling of one of ``names``, else nothing."""
    if not isinstance(name, str) or len(name) > 100:  # comparing long texts takes time quadratic in their length
        return ""
    close = get_close_matches(name, list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
