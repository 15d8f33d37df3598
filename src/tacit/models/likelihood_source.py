"""The text of a function that somebody wrote, as a digest: what a plan file says of it, instead of holding code.

A file never brings code with it. A function is known to this process once it was given to `tacit.Likelihood` here; a
plan that is read finds it again by its digest.
"""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tacit.errors import expected

_KNOWN: dict[str, Callable[..., Any]] = {}


def digest_of(function: object) -> str:
    """SHA-256 of the source text, of that of the functions of its own module that it calls, and nothing else.

    What a function reads beside its arguments could change without its text: values from around it, and global ones
    that are not modules, functions or classes, are refused.
    """
    found = hashlib.sha256("\n".join(_texts(function, {})).encode()).hexdigest()
    assert callable(function)
    _KNOWN[found] = function
    return found


def known_function(digest: str) -> Callable[..., Any] | None:
    """The function of that digest, if it was given to this process."""
    return _KNOWN.get(digest)


def _texts(function: object, seen: dict[int, None]) -> list[str]:
    if not isinstance(function, FunctionType):
        raise expected("log_density", _name(function), "to be a function that was written with def")
    if function.__closure__:
        names = ", ".join(function.__code__.co_freevars)
        raise expected("log_density", _name(function), f"to use no value from around it ({names}): write it inside")
    seen[id(function)] = None
    try:
        texts = [textwrap.dedent(inspect.getsource(function))]
    except (OSError, TypeError):
        raise expected("log_density", _name(function), "to have its source in a file or a notebook cell") from None
    for name in sorted(_names(function.__code__)):
        value = function.__globals__.get(name)
        if value is None or isinstance(value, ModuleType | type) or id(value) in seen:
            continue
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            texts += _texts(value, seen)
        elif not callable(value):
            raise expected("log_density", _name(function), f"not to read the global value {name}: write it inside")
    return texts


def _names(code: CodeType) -> set[str]:
    """Every global name that the code, and what is defined within it, may read."""
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
