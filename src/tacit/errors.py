"""What tacit raises.

TacitError
├── InputError                a plan, an argument or a file is not what was expected     command line: exit code 2
│   └── BrokenMediumError     what holds the rows broke, or changed, while they were read                        2
└── RefusedError              the request is well formed but must not be carried out                             1

Every message is one sentence of the form ``Expected <name>=<value> <condition>.`` The value is always something that
was declared (a bound, a budget, a path), never something that was read from a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

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
    """How a declared value stands in a sentence: on one line, and cut where it is long.

    Somebody may have given rows in the place of something else, so a table is shown by its kind alone: a frame, an
    array, any object of another library, the columns of a dictionary, the records of a list.
    """
    try:
        text = repr(_without_cells(value))
    except Exception:  # an integer of thousands of digits, a list nested too deeply
        text = f"<{type(value).__name__}>"
    return _cut(spelled_out(text), 80)


def one_thing(value: object) -> object:
    """What should be one number, name or object, as `expected` shows it: several, perhaps cells, by their kind."""
    return _Kind(value) if _holds_several(value) else value


class _Kind:
    """What is shown of a value that may hold rows."""

    def __init__(self, value: object) -> None:
        self._name = f"<{type(value).__name__}>"

    def __repr__(self) -> str:
        return self._name


_SINGLE = ("builtins", "datetime", "decimal", "enum", "fractions", "functools", "pathlib", "types", "tacit")
_MOST = 100  # entries that are looked at: a sentence has no room for more


def _without_cells(value: Any) -> Any:
    if isinstance(value, Mapping) and not type(value).__module__.startswith("tacit."):
        some = islice(value.items(), _MOST)
        return {name: _Kind(one) if _holds_several(one) else _without_cells(one) for name, one in some}
    if isinstance(value, list | tuple) and type(value).__module__ == "builtins":
        inner = (_Kind(one) if isinstance(one, Mapping) else _without_cells(one) for one in islice(value, _MOST))
        return type(value)(inner)
    known = isinstance(value, str | bytes | int | float) or type(value).__module__.partition(".")[0] in _SINGLE
    return value if known or callable(value) or getattr(value, "shape", None) == () else _Kind(value)


def _holds_several(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple | set | frozenset)


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """A hint in brackets when ``name`` looks like a misspelling of one of ``names``, else nothing."""
    if not isinstance(name, str) or len(name) > 100:  # comparing long texts takes time quadratic in their length
        return ""
    close = get_close_matches(name, list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
