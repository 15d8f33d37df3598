"""Old names of arguments and attributes: they work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from tacit.errors import expected

Renamed = TypeVar("Renamed", bound=Callable[..., Any])


def renamed_arguments(**names: str) -> Callable[[Renamed], Renamed]:
    """Let a function, or the constructor of a class, take ``old=new`` names of keywords by their old name as well."""

    def decorate(target: Renamed) -> Renamed:
        call: Any = target.__init__ if isinstance(target, type) else target

        @wraps(call)
        def wrapped(*args: Any, **said: Any) -> Any:
            for old, new in names.items():
                if old in said:
                    if new in said:
                        raise expected(new, said[new], f"to be said once, and not as {old}= as well")
                    warnings.warn(f"{old}= is now {new}=.", DeprecationWarning, stacklevel=2)
                    said[new] = said.pop(old)
            return call(*args, **said)

        if not isinstance(target, type):
            return wrapped  # pyright: ignore[reportReturnType]
        target.__init__ = wrapped
        for old, new in names.items():
            setattr(target, old, renamed_attribute(old, new))
        return target  # pyright: ignore[reportReturnType]

    return decorate


def renamed_attribute(old: str, new: str) -> Any:
    """An attribute or method by its old name."""

    def read(self: Any) -> Any:
        warnings.warn(f"{type(self).__name__}.{old} is now {new}.", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(read)
